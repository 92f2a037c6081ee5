"""Windows for truncated back-propagation, word by word in lists."""

Rows = list[list[int]]


def windows_by_hand(ids: list[int], streams: int, steps: int, eos: int, drop: bool) -> list[tuple[Rows, Rows]]:
    """Cut the text into streams, pair each word with the one before it, and take `steps` pairs of each at a time."""
    length = len(ids) // streams if drop else len(ids) // streams + (len(ids) % streams > 0)
    pairs = [(ids[n - 1] if n else eos, ids[n]) for n in range(len(ids))]
    columns = [pairs[b * length : (b + 1) * length] for b in range(streams)]
    columns = [column + [(eos, -1)] * (length - len(column)) for column in columns]
    windows = []
    for first in range(0, length, steps):
        rows = [[column[t] for column in columns] for t in range(first, min(first + steps, length))]
        windows.append(([[i for i, _ in row] for row in rows], [[t for _, t in row] for row in rows]))
    return windows
