"""N-grams: counts, Kneser-Ney smoothing, and the compact model made of them.

from wordtie.ngrams import fit_kneser_ney
trie = fit_kneser_ney(ids, vocabulary_size, order=5, eos_id=eos_id)
trie.log_probabilities(other_ids)
"""

from wordtie.ngrams.kneser_ney import fit_kneser_ney
from wordtie.ngrams.model import NgramModel
from wordtie.ngrams.trie import NgramTrie
from wordtie.ngrams.trie_file import open_trie, write_trie

__all__ = ["NgramModel", "NgramTrie", "fit_kneser_ney", "open_trie", "write_trie"]
