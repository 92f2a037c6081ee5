"""Short titles of papers, tables and figures: headings beside the rows' names."""

from __future__ import annotations

PAPERS = {
    "baselines": "Baselines",
    "inan-khosravi-2016": "Inan & Khosravi (2016), augmented loss",
    "inan-2017": "Inan, Khosravi & Socher (2017), tying word vectors and word classifiers",
    "press-wolf-2017": "Press & Wolf (2017), using the output embedding",
    "gulordava-2018": "Gulordava, Aina & Boleda (2018), tied + linear",
    "kong-2019": "Kong et al. (2019), variational smoothing",
}
TABLES = {
    "baselines/kneser-ney-5": "Kneser-Ney: perplexity of the 5-gram that the papers start from",
    "inan-khosravi-2016/table-1": "Table 1: test perplexity on PTB with either change alone, and with both",
    "inan-khosravi-2016/table-2": "Table 2: test perplexity on PTB with both changes, by size, and of earlier work",
    "inan-2017/table-1": "Table 1: validation and test perplexity on PTB and WikiText-2, by size",
    "inan-2017/table-2": "Table 2: perplexity of small models on either half of WikiText-2's training text",
    "inan-2017/table-3": "Table 3: perplexity on PTB beside earlier work",
    "inan-2017/table-4": "Table 4: the ten likeliest next words of a few phrases",
    "inan-2017/section-6.4": "Section 6.4: probability of unknown and of frequent words where something else came",
    "inan-2017/figure-1": "Figure 1: distance of the subspaces of input and output vectors, by β and by τ",
    "inan-2017/figure-2": "Figure 2: validation perplexity during training, PTB",
    "press-wolf-2017/table-1": "Table 1: BPE subwords that two languages share",
    "press-wolf-2017/table-2": "Table 2: word similarity (Spearman's ρ) of skip-gram vectors",
    "press-wolf-2017/table-3": "Table 3: word similarity (Spearman's ρ) of the small language model's vectors",
    "press-wolf-2017/table-4": "Table 4: agreement (Spearman's ρ) of two sets of vectors on all pairs of words",
    "press-wolf-2017/table-5": "Table 5: perplexity on PTB of large models, with dropout",
    "press-wolf-2017/table-6": "Table 6: perplexity on PTB of small models, without dropout",
    "press-wolf-2017/table-7": "Table 7: perplexity of small models on text8, IMDB and BBC",
    "press-wolf-2017/table-8": "Table 8: size and BLEU of translation models",
    "gulordava-2018/table-1": "Table 1: perplexity on PTB, by hidden size / size of the word vectors",
    "gulordava-2018/table-2": "Table 2: perplexity and word similarity (Spearman's ρ) on Wikipedia",
    "gulordava-2018/table-3": "Table 3: word similarity (Spearman's ρ) of word2vec vectors, Wikipedia",
    "kong-2019/table-2": "Table 2: perplexity on PTB and WikiText-2, by method and size",
    "kong-2019/figure-1": "Figure 1: validation perplexity by γ, PTB",
    "press-wolf-2017/section-3": "Section 3: probability that the current word comes again",
    "kong-2019/section-5.4": "Section 5.4: perplexity of twenty samples at test time, and of the mode",
    "gulordava-2018/scaled-down": "Table 2, scaled down to WikiText-2: perplexity and word similarity (Spearman's ρ)",
    "inan-2017/scaled-down": "Table 3, scaled down: recurrent highway networks of 200 units on PTB",
    "kong-2019/scaled-down": "Scaled down: the same methods at 200 units on PTB, which are not the paper's rows",
}
"""Titles by paper/table, as the rows' names begin."""


def paper_title(paper: str) -> str:
    """Return the title of a paper, or its name if it has none."""
    return PAPERS.get(paper, paper)


def table_title(table: str) -> str:
    """Return the title of paper/table, a table or a figure, or its name if it has none."""
    return TABLES.get(table, table.partition("/")[2].replace("-", " "))
