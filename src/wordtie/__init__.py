"""wordtie: compact word-level language models whose input and output share one word matrix."""

__version__ = "0.1.0"
