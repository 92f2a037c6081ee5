"""Whether our results are in the published order."""

from __future__ import annotations

import pytest

from tests.reproduction.ledger.test_ledger import made_up
from wordtie.reproduction.ledger.record import Entry
from wordtie.reproduction.ledger.status import states
from wordtie.reproduction.papers.registry import ROWS
from wordtie.reproduction.render.orders import orders

TABLE = "kong-2019/table-2"
METHODS = ("vs-elementwise", "vs-kn", "dn-kn", "tied", "untied")
"""In the published order, on Penn Treebank with 512 units."""


def found(*entries: Entry, table: str = TABLE) -> list[str]:
    """The sentences of the table."""
    return list(orders(states(entries, rows=[row for name, row in ROWS.items() if name.startswith(f"{table}/")])))


def entry(method: str, test: float, seed: int = 1) -> Entry:
    """Of a row of 512 units on Penn Treebank."""
    return made_up(ROWS[f"{TABLE}/ptb-512-{method}"], seed, test=test)


def test_the_published_order_holds() -> None:
    names = " < ".join(f"ptb-512-{method}" for method in METHODS)
    ours = ", ".join(f"ptb-512-{method} {60 + place}.00" for place, method in enumerate(METHODS))
    assert found(*(entry(method, 60.0 + place) for place, method in enumerate(METHODS))) == [
        f"Order on ptb, 512 units: published `{names}`; it holds; ours (1 seed each): {ours}."
    ]


@pytest.mark.parametrize("dn_kn", [70.0, 69.9], ids=["equal", "better"])
def test_pairs_the_other_way_round_are_named_with_their_spread(dn_kn: float) -> None:
    (sentence,) = found(entry("vs-kn", 69.0), entry("vs-kn", 71.0, seed=2), entry("dn-kn", dn_kn), entry("tied", 74.0))
    expected = (
        "2 of 3 pairs hold, not `ptb-512-vs-kn < ptb-512-dn-kn`; ours (1 to 2 seeds each): "
        f"ptb-512-vs-kn 70.00 ± 1.41, ptb-512-dn-kn {dn_kn:.2f}, ptb-512-tied 74.00."
    )
    assert sentence.endswith(expected)


def test_a_smaller_model_on_another_text_may_keep_the_order() -> None:
    table = "gulordava-2018/scaled-down"
    names = [f"wikitext-2-200-200-{model}" for model in ("tied-l", "tied", "non-tied")]
    rhos = dict.fromkeys(("SimLex-999", "Rare-Word", "MEN"), 0.1)
    entries: list[Entry] = [
        {**made_up(ROWS[f"{table}/{name}"], test=100.0 + place), "measures": {"similarity": {side: rhos}}}
        for place, (name, side) in enumerate(zip(names, ("tied", "tied", "input"), strict=True))
    ]
    assert found(*entries, table=table) == [
        f"Order on wikitext-2, 200 units (text or size are not the paper's): published `{' < '.join(names)}`; it "
        f"holds; ours (1 seed each): {', '.join(f'{name} {100 + place}.00' for place, name in enumerate(names))}."
    ]


def test_models_with_shorter_vectors_are_in_the_order_of_their_hidden_size() -> None:
    table = "gulordava-2018/table-1"
    shorter, whole = (
        made_up(ROWS[f"{table}/{name}"], test=test) for name, test in (("600-400-tied-l", 74.0), ("600-600-tied", 76.0))
    )
    (sentence,) = found(shorter, whole, table=table)
    assert "published `600-400-tied-l < 600-600-tied`; it holds" in sentence


def test_other_sizes_and_texts_and_one_row_alone_make_no_order() -> None:
    other_text = made_up(ROWS[f"{TABLE}/wikitext-2-512-tied"], test=1.0)
    other_size = made_up(ROWS[f"{TABLE}/ptb-1024-tied"], test=1.0)
    assert found(entry("tied", 74.0), other_text, other_size) == []
