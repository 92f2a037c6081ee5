"""Chen & Goodman (1998), word for word with dictionaries: slow, and sharing nothing with the package."""

from collections import Counter, defaultdict
from collections.abc import Sequence

Ngram = tuple[int | str, ...]
START = "<s>"


def sentences(ids: Sequence[int], eos_id: int | None) -> list[list[int | str]]:
    """Each sentence with its start and its end; without `eos_id` the text is one sentence."""
    found: list[list[int | str]] = [[START]]
    for position, word in enumerate(ids):
        found[-1].append(word)
        if word == eos_id and position + 1 < len(ids):
            found.append([START])
    return found


class LiteralKneserNey:
    """Interpolated Kneser-Ney of one `order` over the words 0 to `vocabulary_size` - 1."""

    def __init__(
        self,
        ids: Sequence[int],
        vocabulary_size: int,
        order: int,
        eos_id: int | None,
        modified: bool = True,
        minimum_counts: Sequence[int] | None = None,
    ) -> None:
        self.vocabulary_size, self.order, self.eos_id = vocabulary_size, order, eos_id
        self.minimum_counts = list(minimum_counts or [1] * order)
        occurrences: Counter[Ngram] = Counter()
        preceding: defaultdict[Ngram, set[int | str]] = defaultdict(set)
        for sentence in sentences(ids, eos_id):
            for end in range(1, len(sentence)):
                for size in range(1, order + 1):
                    begin = end - size + 1
                    if begin >= 0:
                        ngram = tuple(sentence[begin : end + 1])
                        occurrences[ngram] += 1
                        if begin > 0:
                            preceding[ngram].add(sentence[begin - 1])
        self.counts = {
            ngram: count if len(ngram) == order or ngram[0] == START else len(preceding[ngram])
            for ngram, count in occurrences.items()
        }
        self.following: defaultdict[Ngram, dict[int | str, int]] = defaultdict(dict)
        for ngram, count in self.counts.items():
            self.following[ngram[:-1]][ngram[-1]] = count
        self.discounts = {size: self.discounts_of(size, modified) for size in range(1, order + 1)}

    def discounts_of(self, size: int, modified: bool) -> list[float]:
        """D of counts 1, 2 and 3 or more; 0.5, 1, 1.5 where they cannot be had."""
        n = Counter(count for ngram, count in self.counts.items() if len(ngram) == size)
        if not modified:
            d = n[1] / (n[1] + 2 * n[2]) if n[1] > 0 else 0.5
            return [d, d, d]
        if n[1] == 0 or n[2] == 0 or n[3] == 0:
            return [0.5, 1.0, 1.5]
        y = n[1] / (n[1] + 2 * n[2])
        d1, d2, d3 = 1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]
        if 0 < d1 < 1 and 0 < d2 < 2 and 0 < d3 < 3:
            return [d1, d2, d3]
        return [0.5, 1.0, 1.5]

    def probability(self, word: int, context: Ngram) -> float:
        """p(word | context), by recursion on ever shorter contexts."""
        shorter = self.probability(word, context[1:]) if context else 1 / self.vocabulary_size
        after = self.following.get(context, {})
        total = sum(after.values())
        if total == 0:
            return shorter
        size = len(context) + 1
        reserved, own = 0.0, 0.0
        for other, count in after.items():
            keeps = 0.0
            if count >= self.minimum_counts[size - 1]:
                keeps = count - self.discounts[size][min(count, 3) - 1]
            reserved += count - keeps
            if other == word:
                own = keeps
        return own / total + reserved / total * shorter

    def probabilities(self, ids: Sequence[int]) -> list[float]:
        """p of every token given what its sentence has before it; running text begins without a context."""
        found, first = [], 1 if self.eos_id is None else 0
        for sentence in sentences(ids, self.eos_id):
            for end in range(1, len(sentence)):
                word = sentence[end]
                assert isinstance(word, int)
                found.append(self.probability(word, tuple(sentence[max(first, end - self.order + 1) : end])))
        return found
