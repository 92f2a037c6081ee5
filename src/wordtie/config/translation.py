"""Every setting of a translation model and its one default; what it shares with a language model it inherits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from wordtie.config.checks import check_sections, check_types
from wordtie.config.loss import LossSettings
from wordtie.config.model import ModelSettings
from wordtie.config.noise import NoiseSettings
from wordtie.config.training import TrainingSettings
from wordtie.errors import require

NOT_USED = (
    "steps", "sparse_updates", "reset_state", "start_from", "new_words", "rehearsal", "max_forgetting",
    "measured_tokens",
)  # fmt: skip
"""Settings of training that only a language model has."""
DROPPED = ("word_dropout", "encoder_dropout", "output_dropout")


@dataclass(frozen=True)
class BitextSettings:
    """The sentence pairs, and how they become ids."""

    corpus: str = "multi30k"
    """The sentence pairs: the name of a parallel corpus, a folder, or a TSV file. The folder has `train.en`,
    `train.de`, `valid.en` and so on, with the languages as suffixes. A TSV file, plain or .gz, is split by `split`."""
    source: str = "en"
    """Source language: the suffix of its files."""
    target: str = "de"
    """Target language: the suffix of its files."""
    source_column: int = 1
    """Column of a TSV file that holds the source sentence, from 1."""
    target_column: int = 2
    """Column of a TSV file that holds the target sentence, from 1."""
    split: tuple[float, float, float] = (0.9, 0.05, 0.05)
    """Shares of training, validation and test pairs of a TSV file. All pairs of one source sentence go to the same
    part. Training pairs whose target sentence is in another part are left out."""
    units: Literal["joint_bpe", "separate_bpe", "words"] = "joint_bpe"
    """Units of a sentence: `joint_bpe`, `separate_bpe` or `words`. Byte-pair encoding is learnt from the training
    sentences of both languages together, or of each. `words` are what white space separates."""
    vocabulary_size: int = 8000
    """Subwords of each language, or of both together. For `words`: the most frequent words of each language."""
    min_count: int = 2
    """Words seen fewer times in the training sentences become `<unk>`, for `words`."""
    tokenisation: Literal["auto", "space", "words"] = "auto"
    """Whether the text is tokenised already: `space`, or `words` for raw text, whose punctuation marks are split off
    before subwords are learnt. `auto`: by what the target sentences look like."""
    lowercase: bool = False
    """Fold case of both languages. BLEU then ignores case."""
    max_length: int = 100
    """Training pairs with more units than this on one side, subwords or words, are left out. So are training pairs with
    an empty side and, of a TSV file, those whose target sentence is in another part. The other parts keep all pairs."""

    def __post_init__(self) -> None:
        check_types(self, "data")
        require(self.source != self.target, f"data.source and data.target are both {self.source!r}: name two languages")
        for name in ("source_column", "target_column", "min_count", "max_length"):
            require(getattr(self, name) >= 1, f"data.{name} must be at least 1, got {getattr(self, name)}")
        require(
            self.source_column != self.target_column,
            f"data.source_column and data.target_column are both {self.source_column}: give the number of each",
        )
        require(self.vocabulary_size >= 3, f"data.vocabulary_size must be at least 3, got {self.vocabulary_size}")
        require(
            all(share > 0 for share in self.split) and abs(sum(self.split) - 1) < 1e-6,
            f"data.split must be three positive shares that sum to 1, got {self.split}",
        )


@dataclass(frozen=True)
class Seq2SeqSettings:
    """Bidirectional GRU encoder, conditional GRU decoder with attention, deep output (press-wolf-2017, section 4.3)."""

    tying: Literal["none", "decoder", "three_way"] = "three_way"
    """Word matrices that are shared: `none`, `decoder` or `three_way`. `decoder` is WT of press-wolf-2017: the decoder
    reads and scores words with one matrix. `three_way` is TWWT: the encoder reads with it, too, which needs
    `joint_bpe`."""
    linear_map: bool = False
    """Put a linear map between the deep output and the shared matrix, so that `readout` is free (tied+L of
    gulordava-2018)."""
    hidden: int = 256
    """H: units of the decoder, and of the encoder in each direction."""
    embedding: int = 256
    """E: size of a word vector."""
    attention: int | None = None
    """A: units of the attention's hidden layer. None: the same as `hidden`."""
    readout: int | None = None
    """R: size of the deep output. None: the same as `embedding`, which a tied model without a linear map needs."""
    output_bias: bool = True
    """Add a bias per word to the output."""
    word_dropout: float = 0.2
    """Share of the coordinates of word vectors that is dropped, on both sides."""
    encoder_dropout: float = 0.3
    """Share of the encoder's outputs that is dropped, with one mask for all positions of a sentence."""
    output_dropout: float = 0.3
    """Share of the deep output that is dropped."""
    init: float = 0.1
    """Word matrices start uniform in (-init, init). The other matrices are drawn by their sizes."""

    def __post_init__(self) -> None:
        check_types(self, "model")
        for name in ("hidden", "embedding"):
            require(getattr(self, name) >= 1, f"model.{name} must be at least 1, got {getattr(self, name)}")
        for name in ("attention", "readout"):
            value = getattr(self, name)
            require(value is None or value >= 1, f"model.{name} must be at least 1, got {value}")
        for name in DROPPED:
            value = getattr(self, name)
            require(0 <= value < 1, f"model.{name} is a dropout rate and must be in [0, 1), got {value}")
        require(self.init > 0, f"model.init must be positive, got {self.init}")
        require(
            not self.linear_map or self.tying != "none",
            "model.linear_map is for a shared matrix: set model.tying to decoder or three_way",
        )
        require(
            self.tying == "none" or self.linear_map or self.readout_size == self.embedding,
            f"a shared matrix needs model.readout = model.embedding, got {self.readout_size} and {self.embedding}: "
            "set model.linear_map",
        )

    @property
    def attention_size(self) -> int:
        """A, with the default resolved."""
        return self.hidden if self.attention is None else self.attention

    @property
    def readout_size(self) -> int:
        """R, with the default resolved."""
        return self.embedding if self.readout is None else self.readout

    @property
    def output(self) -> ModelSettings:
        """The settings of the head, which takes the deep output for a hidden state."""
        head: Literal["untied", "tied", "tied_linear"] = "untied" if self.tying == "none" else "tied"
        if self.linear_map:
            head = "tied_linear"
        size, bias = self.readout_size, self.output_bias
        return ModelSettings(head=head, hidden=size, embedding=self.embedding, output_bias=bias)


@dataclass(frozen=True)
class TranslationLossSettings(LossSettings):
    """Cross-entropy, alone or with the augmented loss that inan-khosravi-2016 proposes for translation (section 5)."""

    kind: Literal["cross_entropy", "augmented", "augmented_2016", "interpolated"] = "cross_entropy"
    """The loss: cross-entropy, alone or with a pull towards similar words, as for a language model."""

    def __post_init__(self) -> None:
        require(self.full_at_end == 0, "loss.full_at_end is for language models: leave it out")
        super().__post_init__()
        require(self.softmax == "full", "loss.softmax sampled is for language models: leave it out")


@dataclass(frozen=True)
class TranslationNoiseSettings:
    """Data noising of either side (Xie et al. 2017; kong-2019, section 5.4)."""

    kind: Literal["none", "blank", "linear_interpolation", "absolute_discounting", "kneser_ney"] = "none"
    """Rule by which words are replaced at random during training, as for a language model. `kneser_ney` replaces the
    target, too, where it replaces the word before it."""
    gamma: float = 0.1
    """Share of words that is replaced, before the kind's own factor."""
    side: Literal["both", "source", "target"] = "both"
    """Sentences that are noised: `both`, `source` or `target`."""

    def __post_init__(self) -> None:
        check_types(self, "noise")
        require(0 <= self.gamma <= 1, f"noise.gamma is a probability and must be in [0, 1], got {self.gamma}")

    @property
    def proposal(self) -> NoiseSettings:
        """The same noise, as settings of a language model."""
        return NoiseSettings(kind=self.kind, scheme="data_noising", gamma=self.gamma)


@dataclass(frozen=True)
class TranslationTrainingSettings(TrainingSettings):
    """Settings of the training. Losses are summed over the words of a sentence and averaged over the sentences."""

    optimiser: Literal["sgd", "adam", "rmsprop", "adadelta"] = "adam"
    """Optimiser: `adam`, `adadelta`, `sgd` or `rmsprop`. `adadelta` wants an `lr` of 1."""
    lr: float = 0.001
    """Learning rate. The steps of `adam` do not depend on the scale of the loss; those of `adadelta` become smaller
    where gradients are below about 0.001."""
    schedule: Literal["epoch", "plateau", "cosine"] = "plateau"
    """Learning rate schedule: `decay` per `epoch` or on a `plateau`, or a `cosine`, as for a language model."""
    decay: float = 0.5
    """Factor on the learning rate, applied as `schedule` says."""
    epochs: int = 30
    """Maximum number of passes over the training pairs."""
    patience: int = 5
    """Stop after this many validations (epochs) without a better BLEU (0: never)."""
    clip: float = 5.0
    """Largest global norm of the gradient of the loss (0: no clipping). The loss is summed over the words of a sentence
    and averaged over the `streams` sentences."""
    streams: int = 64
    """Sentence pairs in a batch (the batch size). Pairs of similar length are put together."""
    beam: int = 5
    """Width of the beam that the finished model is measured with. Epochs are chosen by greedy translations."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.beam >= 1, f"training.beam must be at least 1, got {self.beam}")
        defaults = TrainingSettings()
        for name in NOT_USED:
            unchanged = getattr(self, name) == getattr(defaults, name)
            require(unchanged, f"training.{name} is for language models: leave it out")


SECTIONS: dict[str, type] = {
    "data": BitextSettings,
    "model": Seq2SeqSettings,
    "loss": TranslationLossSettings,
    "noise": TranslationNoiseSettings,
    "training": TranslationTrainingSettings,
}


@dataclass(frozen=True)
class TranslationSettings:
    """Everything that decides what a translation run computes."""

    data: BitextSettings = field(default_factory=BitextSettings)
    model: Seq2SeqSettings = field(default_factory=Seq2SeqSettings)
    loss: TranslationLossSettings = field(default_factory=TranslationLossSettings)
    noise: TranslationNoiseSettings = field(default_factory=TranslationNoiseSettings)
    training: TranslationTrainingSettings = field(default_factory=TranslationTrainingSettings)

    def __post_init__(self) -> None:
        check_sections(self, SECTIONS)
        require(
            self.model.tying != "three_way" or self.data.units == "joint_bpe",
            f"model.tying three_way: source and target need the same words, but data.units is {self.data.units}: set "
            "data.units to joint_bpe, or model.tying to decoder",
        )
