"""What is asked and answered, as JSON: bodies of the requests with their limits, and of the answers.

Values are taken as they are: a number in quotation marks is no number, and a field that is not known is an error, so
that a slip does not pass for a default. Texts that are too long are refused before a model sees them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MOST_CHARACTERS = 20_000
"""Of a text: about ten pages."""
MOST_HYPOTHESES, MOST_OF_EACH = 500, 1_000
MOST_BYTES = 1 << 20
"""Of the body of a request."""


def _whole(value: object) -> object:
    """5.0 is a whole number in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text: TypeAlias = Annotated[str, Field(max_length=MOST_CHARACTERS)]
ModelName: TypeAlias = Annotated[str | None, Field(max_length=200, description="Which model; the first if left out.")]
Whole = BeforeValidator(_whole)
Top: TypeAlias = Annotated[int, Field(ge=1, le=100, description="How many words."), Whole]
Side: TypeAlias = Literal["input", "output", "tied"]


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    model: ModelName = None


def _example(**values: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [values]})


class SurprisalAsked(_Asked):
    """A text."""

    model_config = _example(text="The old man the boats.", reset="line")

    text: Text
    reset: Annotated[
        Literal["line", "blank", "never"],
        Field(description="Context starts afresh at each line, after blank lines, or never."),
    ] = "line"


class WordScored(BaseModel):
    """A word of a text, as `wordtie surprisal` prints it."""

    line: int
    position: int
    region: int
    word: str
    shown: str = Field(description="The part of the text that it is; joined, those of a region are the region.")
    oov: bool
    surprisal_bits: float
    entropy_bits: float


class SurprisalAnswer(BaseModel):
    """The words of the text, in order."""

    model: str
    words: list[WordScored]


class PredictAsked(_Asked):
    """A context."""

    model_config = _example(text="the president of the uni", complete=True, top=5)

    text: Text
    top: Top = 10
    complete: Annotated[
        bool, Field(description="The text ends within a word, if not in white space: list what that may become.")
    ] = False
    words_only: Annotated[bool, Field(description="Leave out <unk> and <eos>.")] = False


class WordPredicted(BaseModel):
    """A word and how probable it is."""

    word: str
    probability: float


class PredictAnswer(BaseModel):
    """The likeliest first."""

    model: str
    prefix: str = Field(description="The letters of the word that is being completed.")
    words: list[WordPredicted]


class Hypothesis(BaseModel):
    """A sentence, and the score that it brings."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: Annotated[str, Field(max_length=MOST_OF_EACH)]
    score: Annotated[float, Field(ge=-1e9, le=1e9, description="Of a recogniser or translator: higher is better.")] = 0


class RescoreAsked(_Asked):
    """An n-best list."""

    model_config = _example(
        hypotheses=[{"text": "recognise speech", "score": -3.2}, {"text": "wreck a nice beach", "score": -3.1}],
        weight=0.5,
    )

    hypotheses: Annotated[list[Hypothesis], Field(min_length=1, max_length=MOST_HYPOTHESES)]
    weight: Annotated[float, Field(ge=0, le=1000, description="Of the model's log p, natural.")] = 1.0
    per_word: Annotated[float, Field(ge=-1000, le=1000, description="Added for each word between white space.")] = 0.0


class Rescored(BaseModel):
    """A hypothesis with its scores."""

    index: int = Field(description="Its place in the list that was sent, from 0.")
    text: str
    bits: float = Field(description="Surprisal of the sentence, with its end.")
    words: int
    total: float = Field(description="score + weight x ln p + per_word x words")


class RescoreAnswer(BaseModel):
    """The best total first."""

    model: str
    hypotheses: list[Rescored]


class GenerateAsked(_Asked):
    """A prompt."""

    model_config = _example(prompt="The people of the United", words=20, temperature=0.8, seed=1)

    prompt: Text = ""
    words: Annotated[int, Field(ge=0, le=1000), Whole] = 50
    temperature: Annotated[float, Field(gt=0, le=100)] = 1.0
    seed: Annotated[int | None, Field(ge=0, lt=1 << 53, description="For the same text again."), Whole] = None


class NeighboursAsked(_Asked):
    """A word."""

    model_config = _example(word="president", top=5)

    word: Annotated[str, Field(min_length=1, max_length=200)]
    side: Annotated[
        Side | None, Field(description="Whose vectors: of one set that the model has; all sets if left out.")
    ] = None
    top: Top = 10


class Neighbour(BaseModel):
    """A word and its cosine."""

    word: str
    cosine: float


class NeighboursAnswer(BaseModel):
    """The nearest first, by side."""

    model: str
    word: str
    sides: dict[Side, list[Neighbour]]


class CompareAsked(BaseModel):
    """A text, and the models to compare."""

    model_config = _example(text="The old man the boats.")

    text: Text
    models: Annotated[
        list[Annotated[str, Field(max_length=200)]] | None,
        Field(min_length=2, max_length=8, description="Which; the first two if left out."),
    ] = None
    reset: Literal["line", "blank", "never"] = "line"


class RegionCompared(BaseModel):
    """A stretch between white space, with a value for each model."""

    line: int
    region: int
    word: str
    surprisal_bits: list[float | None]
    oov: list[bool]
    difference: float = Field(description="The largest value less the smallest; 0 if a model has none.")


class CompareAnswer(BaseModel):
    """The regions of the text, in order."""

    models: list[str]
    bits: list[float] = Field(description="Of the whole text, for each model.")
    regions: list[RegionCompared]
    most_different: list[int] = Field(description="Places in `regions`, the largest difference first.")


class ModelShown(BaseModel):
    """A model that is served."""

    name: str
    about: str
    words: int
    sentences: bool
    vectors: list[Side] = Field(description="The sides of its word vectors; none if it has no such vectors.")
    version: str


class ModelsAnswer(BaseModel):
    """The first answers if none is named."""

    models: list[ModelShown]


class CurvePoint(BaseModel):
    """A line of a run's metrics."""

    epoch: int
    window: int | None
    tokens: int | None
    seconds: float
    loss: float | None
    epoch_loss: float | None
    valid_perplexity: float | None
    valid_bleu: float | None
    rate: float | None
    words_per_second: float | None


class RunLive(BaseModel):
    """How far a running run is."""

    epochs: float
    seconds: float
    share: float | None
    seconds_left: float | None


class RunCurves(BaseModel):
    """A run folder."""

    folder: str
    state: Literal["running", "stopped", "finished", "damaged"]
    why: str
    points: list[CurvePoint]
    live: RunLive | None


class CurvesAnswer(BaseModel):
    """The runs that are served or watched, running ones first."""

    runs: list[RunCurves]


class State(BaseModel):
    """Of the server."""

    status: str


class Refusal(BaseModel):
    """Why a request was refused, in one line."""

    detail: str
