"""Requests and answers as JSON: bodies of the requests with their limits, and of the answers.

Values are not converted: a number in quotation marks is not a number, and an unknown field is an error, so that a typo
does not pass for a default. Texts that are too long are refused before a model sees them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MOST_CHARACTERS = 20_000
"""Maximum characters of a text: about ten pages."""
MOST_HYPOTHESES, MOST_OF_EACH = 500, 1_000
MOST_BYTES = 1 << 20
"""Maximum bytes of the body of a request."""


def _whole(value: object) -> object:
    """Convert 5.0 to 5, since it is a whole number in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text: TypeAlias = Annotated[str, Field(max_length=MOST_CHARACTERS)]
ModelName: TypeAlias = Annotated[str | None, Field(max_length=200, description="The model; by default the first.")]
Whole = BeforeValidator(_whole)
Top: TypeAlias = Annotated[int, Field(ge=1, le=100, description="Number of words."), Whole]
Side: TypeAlias = Literal["input", "output", "tied"]


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    model: ModelName = None


def _example(**values: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [values]})


class SurprisalAsked(_Asked):
    """A text to compute the surprisal of."""

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
    shown: str = Field(description="The token as written in the text; those of a region, joined, are the region.")
    oov: bool
    surprisal_bits: float
    entropy_bits: float


class SurprisalAnswer(BaseModel):
    """The words of the text, in order."""

    model: str
    words: list[WordScored]


class PredictAsked(_Asked):
    """A context to predict the next word of."""

    model_config = _example(text="the president of the uni", complete=True, top=5)

    text: Text
    top: Top = 10
    complete: Annotated[
        bool, Field(description="Complete the last word of the text, unless it ends in white space.")
    ] = False
    words_only: Annotated[bool, Field(description="Leave out <unk> and <eos>.")] = False


class WordPredicted(BaseModel):
    """A word and its probability."""

    word: str
    probability: float


class PredictAnswer(BaseModel):
    """The most likely words, most likely first."""

    model: str
    prefix: str = Field(description="Letters of the word to complete.")
    words: list[WordPredicted]


class Hypothesis(BaseModel):
    """A sentence, and the score that it already has."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: Annotated[str, Field(max_length=MOST_OF_EACH)]
    score: Annotated[
        float,
        Field(ge=-1e9, le=1e9, allow_inf_nan=False, description="A recogniser's or translator's: higher is better."),
    ] = 0


class RescoreAsked(_Asked):
    """An n-best list to rescore."""

    model_config = _example(
        hypotheses=[{"text": "recognise speech", "score": -3.2}, {"text": "wreck a nice beach", "score": -3.1}],
        weight=0.5,
    )

    hypotheses: Annotated[list[Hypothesis], Field(min_length=1, max_length=MOST_HYPOTHESES)]
    weight: Annotated[
        float, Field(ge=0, le=1000, allow_inf_nan=False, description="Weight of the model's natural log p.")
    ] = 1.0
    per_word: Annotated[
        float, Field(ge=-1000, le=1000, allow_inf_nan=False, description="Added for each word between blanks.")
    ] = 0.0


class Rescored(BaseModel):
    """A hypothesis with its scores."""

    index: int = Field(description="Index in the list sent, from 0.")
    text: str
    bits: float = Field(description="Surprisal of the sentence and its end, in bits.")
    words: int
    total: float = Field(description="score + weight x ln p + per_word x words")


class RescoreAnswer(BaseModel):
    """The hypotheses, best total first."""

    model: str
    hypotheses: list[Rescored]


class GenerateAsked(_Asked):
    """A prompt to continue."""

    model_config = _example(prompt="The people of the United", words=20, temperature=0.8, seed=1)

    prompt: Text = ""
    words: Annotated[int, Field(ge=0, le=1000), Whole] = 50
    temperature: Annotated[float, Field(gt=0, le=100)] = 1.0
    seed: Annotated[int | None, Field(ge=0, lt=1 << 53, description="Makes the text reproducible."), Whole] = None


class NeighboursAsked(_Asked):
    """A word to find the neighbours of."""

    model_config = _example(word="president", top=5)

    word: Annotated[str, Field(min_length=1, max_length=200)]
    side: Annotated[Side | None, Field(description="Which of the model's sets of vectors; by default all.")] = None
    top: Top = 10


class Neighbour(BaseModel):
    """A word and its cosine."""

    word: str
    cosine: float


class NeighboursAnswer(BaseModel):
    """The nearest words by side, nearest first."""

    model: str
    word: str
    sides: dict[Side, list[Neighbour]]


class CompareAsked(BaseModel):
    """A text, and the models to compare."""

    model_config = _example(text="The old man the boats.")

    text: Text
    models: Annotated[
        list[Annotated[str, Field(max_length=200)]] | None,
        Field(min_length=2, max_length=8, description="The models; by default the first two."),
    ] = None
    reset: Literal["line", "blank", "never"] = "line"


class RegionCompared(BaseModel):
    """A stretch between white space, with a value for each model."""

    line: int
    region: int
    word: str
    surprisal_bits: list[float | None]
    oov: list[bool]
    difference: float = Field(description="Largest value minus the smallest, in bits; 0 if a model has none.")


class CompareAnswer(BaseModel):
    """The regions of the text, in order."""

    models: list[str]
    bits: list[float] = Field(description="Surprisal of the whole text in bits, for each model.")
    regions: list[RegionCompared]
    most_different: list[int] = Field(description="Indices into `regions`, largest difference first.")


class ModelShown(BaseModel):
    """A model that is served."""

    name: str
    about: str
    words: int
    sentences: bool
    vectors: list[Side] = Field(description="Sides of its word vectors; empty without vectors.")
    version: str


class ModelsAnswer(BaseModel):
    """The models that are served; the first answers if a request names none."""

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
    """Progress of a run in training."""

    epochs: float
    seconds: float
    share: float | None
    seconds_left: float | None


class RunCurves(BaseModel):
    """State and curves of a run folder."""

    folder: str
    state: Literal["running", "stopped", "finished", "damaged"]
    why: str
    points: list[CurvePoint]
    live: RunLive | None


class CurvesAnswer(BaseModel):
    """The runs that are served or watched, running ones first."""

    runs: list[RunCurves]


class State(BaseModel):
    """State of the server."""

    status: str


class Refusal(BaseModel):
    """Why a request was refused, in one line."""

    detail: str
