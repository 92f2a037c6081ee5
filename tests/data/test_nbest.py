"""Formats of n-best lists: what is read, what is written again, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest

from wordtie.data.nbest import Kaldi, Moses, NBestList, Ranked, RankedList
from wordtie.data.nbest_files import FormatOptions, guessed, open_nbest, references_of
from wordtie.errors import DataError, SettingsError

KALDI = ["utt-a the cat", "utt-a a cat", "utt-b", "utt-c-1 one", "utt-c-2 two", "utt-c-3", "utt-d-1 x", "utt-7 y"]
NEMO = ["the cat\t-1.5", "a cat\t-2", "", "\t-0.5", "", "one\t1e-3"]
MOSES = [
    "0 ||| the cat ||| LogP= -1.5 Length= 3 ||| -0.5",
    "0||| a cat  ||| d: 0 -7.6 w: -9 ||| -14.6 ||| 0-0 1-1",
    "2 |||  ||| LogP= -2 ||| -2",
]
ESPNET = {
    "utts": {
        "utt-1": {
            "input": [{"name": "input1"}],
            "output": [
                {"name": "target1[1]", "text": "THE CAT", "rec_text": "THE CAT<eos>", "rec_token": "T", "score": -1.5},
                {"name": "target1[2]", "text": "THE CAT", "rec_text": "", "score": -3},
            ],
        },
        "utt-0": {"output": []},
    }
}
JSONL = [
    '{"id": "u1", "text": "the cat", "score": -1.5, "beam": 3}',
    '{"id": "u1", "text": "", "score": -2}',
    '{"id": "u2", "nbest": [{"hyp": "a", "score": -45.7}, {"hyp": "b", "score": 0}], "turn": 1}',
]
SCORES = [("am", [f"{line.split()[0]} {number}.5" for number, line in enumerate(KALDI)])]
FILES = {
    "kaldi": KALDI,
    "nemo": NEMO,
    "moses": MOSES,
    "espnet": json.dumps(ESPNET, indent=1).split("\n"),
    "jsonl": JSONL,
}


def read(lines: Iterable[str], name: str | None = None, **options: object) -> list[NBestList]:
    return list(open_nbest(lines, "file", name, FormatOptions(**options))[2])  # type: ignore[arg-type]


def texts(lists: Iterable[NBestList]) -> list[tuple[str, list[tuple[str, float]]]]:
    return [(each.id, [(hypothesis.text, hypothesis.score) for hypothesis in each.hypotheses]) for each in lists]


def test_what_is_read() -> None:
    assert texts(read(KALDI)) == [
        ("utt-a", [("the cat", 0), ("a cat", 0)]),
        ("utt-b", [("", 0)]),
        ("utt-c", [("one", 0), ("two", 0), ("", 0)]),
        ("utt-d", [("x", 0)]),
        ("utt-7", [("y", 0)]),
    ]
    assert texts(read(NEMO)) == [
        ("0", [("the cat", -1.5), ("a cat", -2.0)]),
        ("1", [("", -0.5)]),
        ("2", [("one", 0.001)]),
    ]
    assert texts(read(MOSES)) == [("0", [("the cat", -0.5), ("a cat", -14.6)]), ("2", [("", -2.0)])]
    assert texts(read(FILES["espnet"])) == [("utt-1", [("THE CAT", -1.5), ("", -3.0)]), ("utt-0", [])]
    assert texts(read(JSONL)) == [("u1", [("the cat", -1.5), ("", -2.0)]), ("u2", [("a", -45.7), ("b", 0.0)])]


@pytest.mark.parametrize("name", FILES)
def test_the_format_is_known_by_its_first_line(name: str) -> None:
    assert open_nbest(FILES[name], "file", None)[0] == name
    assert open_nbest(["", *FILES[name]], "file", None)[0] == name
    assert guessed(json.dumps(ESPNET)) == "espnet"


def written(name: str, ranked: bool, **options: object) -> list[str]:
    """With the log p -1, -2 ... in each list, or best first, which is the other way round."""
    _, form, lists = open_nbest(FILES[name], "file", name, FormatOptions(**options))  # type: ignore[arg-type]

    def of_list(each: NBestList) -> RankedList:
        log_p = [-float(number) for number in range(1, len(each.hypotheses) + 1)]
        if not ranked:
            return RankedList(each, [Ranked(*pair) for pair in zip(each.hypotheses, log_p, strict=True)])
        order = [Ranked(hypothesis, p, 10 - p) for hypothesis, p in zip(each.hypotheses, log_p, strict=True)]
        return RankedList(each, order[::-1])

    return list(form.write(map(of_list, lists)))


def test_kaldi_is_written() -> None:
    assert written("kaldi", False)[:3] == ["utt-a -1.000000", "utt-a -2.000000", "utt-b -1.000000"]
    assert written("kaldi", False, scores=SCORES, costs=True)[0] == "utt-a 1.000000"
    assert written("kaldi", True)[:6] == [
        "utt-a a cat", "utt-a the cat", "utt-b", "utt-c-3", "utt-c-2 two", "utt-c-1 one",
    ]  # fmt: skip


def test_nemo_is_written() -> None:
    assert written("nemo", False) == [
        "the cat\t-1.5\t-1.000000", "a cat\t-2\t-2.000000", "", "\t-0.5\t-1.000000", "", "one\t1e-3\t-1.000000", "",
    ]  # fmt: skip
    assert written("nemo", True)[0] == "a cat\t-2\t-2.000000\t12.000000"
    assert texts(read(written("nemo", True))) == [(own, each[::-1]) for own, each in texts(read(NEMO))]


def test_moses_is_written() -> None:
    assert written("moses", False) == [
        "0 ||| the cat ||| LogP= -1.5 Length= 3 WordtieLM= -1.000000 ||| -0.5",
        "0||| a cat  ||| d: 0 -7.6 w: -9 WordtieLM= -2.000000 ||| -14.6 ||| 0-0 1-1",
        "2 |||  ||| LogP= -2 WordtieLM= -1.000000 ||| -2",
    ]
    assert written("moses", True)[0] == "0||| a cat  ||| d: 0 -7.6 w: -9 WordtieLM= -2.000000 ||| 12.000000 ||| 0-0 1-1"


def test_json_is_written() -> None:
    document = json.loads("\n".join(written("espnet", True)))
    assert list(document["utts"]) == ["utt-1", "utt-0"]
    first = document["utts"]["utt-1"]
    assert first["input"] == [{"name": "input1"}]
    assert [(each["name"], each["score"], each["lm_score"], each["total_score"]) for each in first["output"]] == [
        ("target1[2]", -3, -2.0, 12.0),
        ("target1[1]", -1.5, -1.0, 11.0),
    ]
    lines = [json.loads(line) for line in written("jsonl", False)]
    assert lines[0] == {"id": "u1", "text": "the cat", "score": -1.5, "beam": 3, "lm_score": -1.0}
    assert lines[2] == {
        "id": "u2",
        "nbest": [{"hyp": "a", "score": -45.7, "lm_score": -1.0}, {"hyp": "b", "score": 0, "lm_score": -2.0}],
        "turn": 1,
    }


def test_what_a_document_has_beside_its_utterances_is_kept() -> None:
    document = {"config": {"beam": 4}, **ESPNET, "note": None}
    for utterances in (ESPNET["utts"], {}):
        lines = json.dumps({**document, "utts": utterances}).split("\n")
        _, form, lists = open_nbest(lines, "file", "espnet")
        again = form.write(RankedList(each, [Ranked(h, -1.0) for h in each.hypotheses]) for each in lists)
        found = json.loads("\n".join(again))
        assert (found["config"], found["note"]) == ({"beam": 4}, None)
        assert found["utts"].keys() == utterances.keys()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("ranked", [False, True], ids=["scored", "ranked"])
def test_what_is_written_can_be_read(name: str, ranked: bool) -> None:
    if (name, ranked) == ("kaldi", False):
        pytest.skip("Kaldi keeps scores in files of their own")
    again = texts(read(written(name, ranked), name))
    assert [(own, sorted(text for text, _ in each)) for own, each in again] == [
        (own, sorted(text for text, _ in each)) for own, each in texts(read(FILES[name], name))
    ]


def test_scores_of_kaldi_come_from_other_files() -> None:
    more = [("lm", [f"{line.split()[0]} 10" for line in KALDI])]
    assert texts(read(KALDI, scores=SCORES + more))[0] == ("utt-a", [("the cat", 10.5), ("a cat", 11.5)])
    assert texts(read(KALDI, scores=SCORES, costs=True))[0] == ("utt-a", [("the cat", -0.5), ("a cat", -1.5)])


@pytest.mark.parametrize(
    "lines",
    [
        ['{"id": 1, "nbest": [{"text": "a", "score": -45.7}, {"text": "b"}]}'],
        ['{"id": 1, "text": "a", "score": -45.7}', '{"id": 1, "text": "b"}'],
    ],
)
def test_a_hypothesis_without_a_score_does_not_beat_others(lines: list[str]) -> None:
    with pytest.raises(DataError, match="a hypothesis of the list has no score, others have one"):
        list(open_nbest(lines, "file", "jsonl")[2])


def test_tabs_may_part_ids_from_what_follows() -> None:
    lists = read(["u1\tthe cat", "u2 \t a\tb", "u3\t"], "kaldi", scores=[("am", ["u1\t1", "u2  2", "u3 3"])])
    assert texts(lists) == [("u1", [("the cat", 1)]), ("u2", [("a\tb", 2)]), ("u3", [("", 3)])]
    assert references_of(lists, ["u3 z", "u1\tx y", "u2"], "r", by_utterance=True) == ["x y", "", "z"]


@pytest.mark.parametrize(
    ("line", "best"),
    [
        ('{"id": 7, "text": "a"}', {"id": 7, "text": "a"}),
        ('{"utt_id": "u", "nbest": [{"text": "a"}]}', {"utt_id": "u", "text": "a"}),
        ('{"id": 7, "nbest": []}', {"id": 7, "text": ""}),
        ('{"nbest": [{"text": "a"}]}', {"id": "0", "text": "a"}),
    ],
)
def test_ids_of_json_stay_as_they_are(line: str, best: dict[str, object]) -> None:
    _, form, lists = open_nbest([line], "file", "jsonl")
    (one,) = lists
    assert json.loads(form.best(RankedList(one, [Ranked(each, 0.0) for each in one.hypotheses]))) == best


def test_a_list_of_nemo_may_be_empty() -> None:
    """A second blank line in a row, or one that begins the file; what is written has them again."""
    lines = ["", "the cat\t-1.5", "", "", "one\t1e-3", "", ""]
    lists = read(lines, "nemo")
    assert [(each.id, [hypothesis.text for hypothesis in each.hypotheses]) for each in lists] == [
        ("0", []), ("1", ["the cat"]), ("2", []), ("3", ["one"]), ("4", []),
    ]  # fmt: skip
    _, form, again = open_nbest(lines, "file", "nemo")
    written_again = form.write(RankedList(each, [Ranked(h, -1.0) for h in each.hypotheses]) for each in again)
    assert [line.rpartition("\t")[0] for line in written_again] == lines
    assert [form.best(RankedList(each, [Ranked(h, -1.0) for h in each.hypotheses])) for each in lists] == [
        "", "the cat", "", "one", "",
    ]  # fmt: skip


def test_lists_of_nemo_may_have_one_size() -> None:
    lines = [line for line in NEMO if line] * 2
    assert [len(each.hypotheses) for each in read(lines, list_size=4)] == [4, 4]
    _, form, lists = open_nbest(lines, "file", None, FormatOptions(list_size=4))
    again = list(form.write(RankedList(each, [Ranked(h, -1.0) for h in each.hypotheses]) for each in lists))
    assert [line.rsplit("\t", 1)[0] for line in again] == lines


BAD = {
    "moses": (["0 ||| a ||| x= 1 ||| -1", "1 ||| b"], "line 2: is not `id"),
    "moses id": (["0 ||| a ||| x= 1 ||| -1", "x ||| b ||| ||| 1"], "line 2: is not `id"),
    "moses score": (["0 ||| a ||| x= 1 ||| nan"], "line 1: the score 'nan' is not a number"),
    "moses again": (["0 ||| a ||| ||| 1", "1 ||| a ||| ||| 1", "0 ||| a ||| ||| 1"], "line 3: 0 had a list before"),
    "nemo": (["a\t-1", "", "b"], "line 3: is not `text<TAB>score`"),
    "nemo score": (["a\tb\t-1"], "line 1: the score 'b' is not a number"),
    "nemo one list": (["a\t-1", "b\t-1"], "does not say where a list ends: give --list-size"),
    "kaldi": (["u1 a", "", "u2 b"], "line 2: is blank"),
    "kaldi again": (
        ["u1 a", "u2 b", "u1 c"],
        "line 3: u1 had a list before: keep its lines together, or choose ano",
    ),
    "jsonl": (['{"id": 1, "text": "a"}', "{"], "line 2: is not JSON"),
    "jsonl twice": (
        ['{"id": 1, "text": "a"}', '{"id": 2, "text": "a", "score": -1, "score": -9}'],
        "line 2: 'score' is there twice: keep one",
    ),
    "jsonl list": (['{"id": 1, "text": "a"}', "[1]"], "line 2: is not a JSON object"),
    "jsonl no id": (['{"text": "a", "score": 1}'], 'line 1: has no "id"'),
    "jsonl no text": (['{"id": 1, "score": 1}'], "line 1: a hypothesis has no text"),
    "jsonl score": (['{"id": 1, "text": "a", "score": "high"}'], "line 1: the score 'high' is not a number"),
    "jsonl large": (['{"id": 1, "text": "a", "score": 1' + 400 * "0" + "}"], "line 1: the score 1000"),
    "jsonl nbest": (['{"id": 1, "nbest": 3}'], "line 1: its hypotheses are not a list"),
    "espnet": (['{"utts":', "{,"], "line 2: is not JSON"),
    "espnet digits": (['{"utts": {"u": 1' + 5000 * "0" + "}}"], "is not JSON that ESPnet writes (Exceeds"),
    "espnet twice": (['{"utts": {"u": {"output": []}, "u": {"output": []}}}'], "file: 'u' is there twice: keep one"),
    "espnet other": (['{"utterances": {}}'], 'has no "utts"'),
    "espnet null": (['{"utts": {"u": null}}'], "utterance u: is not a JSON object"),
    "espnet text": (['{"utts": {"u": {"output": [{"score": 1}]}}}'], "utterance u: a hypothesis has no text"),
    "empty": ([], "has no hypotheses"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused(name: str) -> None:
    lines, message = BAD[name]
    with pytest.raises(DataError, match=r"^file") as found:
        read(lines, None if name == "empty" else name.split()[0])
    assert message in str(found.value)


def test_unequal_files_of_kaldi_are_refused() -> None:
    with pytest.raises(DataError, match=r"am: ends before line 2 of file"):
        read(["u1 a", "u2 b"], scores=[("am", ["u1 1"])])
    with pytest.raises(DataError, match=r"file: ends before line 2 of am"):
        read(["u1 a"], scores=[("am", ["u1 1", "u2 1"])])
    with pytest.raises(DataError, match=r"am, line 1: is of u2, and file has u1 there"):
        read(["u1 a"], scores=[("am", ["u2 1"])])


def test_incomplete_list_is_refused() -> None:
    with pytest.raises(DataError, match="line 3: 1 lines are left after lists of 2"):
        read(["a\t1", "b\t1", "c\t1"], list_size=2)


def test_options_of_another_format_are_refused() -> None:
    with pytest.raises(SettingsError, match="--list-size is for nemo"):
        read(MOSES, list_size=3)
    with pytest.raises(SettingsError, match="--scores and --costs are for kaldi"):
        read(MOSES, costs=True)


def test_references_of_lists_without_ids_are_as_many_as_the_lists() -> None:
    lists = read(["a\t-1", "", "", "b\t-1"], "nemo")
    references = ["first", "", "third"]
    assert references_of(lists, references, "refs", by_utterance=False, in_order=True) == references
    for wrong in (references[::2], [*references, "fourth"]):
        with pytest.raises(DataError, match=f"refs: has {len(wrong)} lines for 3 lists: give a line for each list"):
            references_of(lists, wrong, "refs", by_utterance=False, in_order=True)


def test_references() -> None:
    assert references_of(read(MOSES), ["zero", "one", "two"], "refs", by_utterance=False) == ["zero", "two"]
    lines = ["u2 second", "u1", "u3 third"]
    assert references_of(read(JSONL), lines, "refs", by_utterance=True) == ["", "second"]
    with pytest.raises(DataError, match="refs: has no reference for list 2: add line 3"):
        references_of(read(MOSES), ["zero"], "refs", by_utterance=False)
    with pytest.raises(DataError, match="refs: has no reference for list u1"):
        references_of(read(JSONL), ["u2 second"], "refs", by_utterance=True)
    with pytest.raises(DataError, match="refs, line 2: u1 had a reference before"):
        references_of(read(JSONL), ["u1 a", "u1 b"], "refs", by_utterance=True)


def test_lists_of_kaldi_come_one_at_a_time() -> None:
    read: list[str] = []

    def lines() -> Iterator[str]:
        for number in range(1000):
            read.append(f"utt{number // 4}x the cat {number}")
            yield read[-1]

    first = next(Kaldi().read(lines(), "lists"))
    assert (first.id, len(first.hypotheses), len(read)) == ("utt0x", 4, 5)


def test_ids_of_moses_are_of_a_sensible_length() -> None:
    with pytest.raises(DataError, match="line 1: is not `id"):
        list(Moses().read([f"{'1' * 5000} ||| the cat ||| a= 1 ||| 1"], "lists"))


def test_kaldi_may_have_tabs() -> None:
    lines = ["utt-1\tthe cat", "utt-1\ta cat"]
    expected = [("utt-1", [("the cat", 0), ("a cat", 0)])]
    assert texts(read(lines)) == expected
    scored = read(lines, scores=[("am", ["utt-1 -1", "utt-1 -2"])])
    assert texts(scored) == [("utt-1", [("the cat", -1.0), ("a cat", -2.0)])]


def test_nothing_of_a_document_is_written_before_it_is_known_to_be_good() -> None:
    bad = ['{"utts": {"u1": {"output": [{"text": "a", "score": 1}]}, "u2": {"output": [{"score": 1}]}}}']
    _, form, lists = open_nbest(bad, "file", "espnet", FormatOptions())
    with pytest.raises(DataError, match="utterance u2"):
        next(form.write(RankedList(each, []) for each in lists))
