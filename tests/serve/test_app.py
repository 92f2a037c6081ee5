"""What the server answers is what the library answers offline; what it refuses, it refuses with a reason."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import wordtie
from tests.serve.client import Answer, Running, running, wait_until
from tests.serve.conftest import Runs
from wordtie.export.arpa import export_arpa
from wordtie.runs.curves import read_curves
from wordtie.serve import app
from wordtie.serve.answers import shown_parts
from wordtie.serve.app import curves_of
from wordtie.serve.guard import BUG
from wordtie.serve.observe import LOGGER, JsonLines
from wordtie.serve.schemas import MOST_BYTES, MOST_CHARACTERS
from wordtie.serve.server import ServeSettings

TEXT = "the cat sat, on the mat\nthe zebra sat"


def refused(answer: Answer, status: int, reason: str) -> bool:
    detail = answer.json["detail"]
    assert answer.headers["content-type"] == "application/json"
    return answer.status == status and reason in detail and "\n" not in detail


@pytest.mark.parametrize("name", ["tied", "untied", "ngram"])
@pytest.mark.parametrize("reset", ["line", "blank", "never"])
def test_surprisal(server: Running, runs: Runs, name: str, reset: str) -> None:
    offline = wordtie.load(getattr(runs, name)).surprisal(TEXT, reset)  # type: ignore[arg-type]
    answer = server.post("/surprisal", text=TEXT, model=name, reset=reset).json
    assert answer["model"] == name
    assert [row["word"] for row in answer["words"]] == [record.word for record in offline]
    for row, record in zip(answer["words"], offline, strict=True):
        assert row["surprisal_bits"] == pytest.approx(record.surprisal_bits, rel=1e-5)
        assert row["entropy_bits"] == pytest.approx(record.entropy_bits, rel=1e-5)
        assert (row["line"], row["region"], row["oov"]) == (record.line, record.region, record.oov)
    assert [row["shown"] for row in answer["words"]][:5] == ["the", "cat", "sat,", "on", "the"]


def test_the_first_model_answers_if_none_is_named(server: Running) -> None:
    assert server.post("/surprisal", text="the").json["model"] == "untied"


def test_a_long_line_is_read_window_by_window(server: Running, runs: Runs) -> None:
    text = "the cat sat on the mat " * 400
    offline = wordtie.load(runs.tied).surprisal(text)
    found = server.post("/surprisal", text=text, model="tied").json["words"]
    assert len(found) == len(offline) > 2 * 1024
    assert [row["surprisal_bits"] for row in found] == pytest.approx([r.surprisal_bits for r in offline], rel=1e-4)


@pytest.mark.parametrize(
    ("stretch", "words", "parts"),
    [
        ("Don't,", ["don't", ","], ["Don't", ","]),
        ("“Go!”", ["“", "go", "!", "”"], ["“", "Go", "!", "”"]),
        ("cafe\u0301.", ["café", "."], ["café", "."]),
        ("odd", ["something", "else"], ["odd", ""]),
    ],
)
def test_parts_of_a_stretch(stretch: str, words: list[str], parts: list[str]) -> None:
    assert shown_parts(stretch, words) == parts


@pytest.mark.parametrize("name", ["tied", "ngram"])
def test_predict(server: Running, runs: Runs, name: str) -> None:
    model = wordtie.load(getattr(runs, name))
    for text in ("", "the", "the cat sat on the"):
        answer = server.post("/predict", text=text, top=4, model=name, words_only=True).json
        offline = model.predict(text, 4, words_only=True)
        assert [row["word"] for row in answer["words"]] == [word for word, _ in offline]
        assert [row["probability"] for row in answer["words"]] == pytest.approx([p for _, p in offline], rel=1e-5)


def test_predict_completes_a_word(server: Running, runs: Runs) -> None:
    answer = server.post("/predict", text="the cat s", complete=True).json
    assert answer["prefix"] == "s"
    assert [row["word"] for row in answer["words"]] == ["sat"]
    offline = wordtie.load(runs.untied).predict("the cat s|")
    assert answer["words"][0]["probability"] == pytest.approx(offline[0][1], rel=1e-5)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_refused(server: Running, value: float) -> None:
    """Python writes it into JSON, and reads it."""
    good: dict[str, Any] = {"hypotheses": [{"text": "the cat", "score": 1.0}], "weight": 0.5, "per_word": 0.1}
    bad = {"hypotheses": [{"text": "the cat", "score": value}], "weight": value, "per_word": value}
    assert server.post("/rescore", **good).status == 200
    for name in good:
        assert server.post("/rescore", **good | {name: bad[name]}).status == 422


def test_rescore(server: Running, runs: Runs) -> None:
    texts = ["the cat, sat on the mat.", "mat the on sat cat the", ""]
    bits = wordtie.load(runs.tied).score(texts)
    hypotheses = [{"text": text, "score": score} for text, score in zip(texts, (-1.0, -0.5, 0.0), strict=True)]
    answer = server.post("/rescore", hypotheses=hypotheses, weight=0.5, per_word=0.1, model="tied").json
    expected = {
        index: score - 0.5 * bits[index] * math.log(2) + 0.1 * len(texts[index].split())
        for index, score in enumerate((-1.0, -0.5, 0.0))
    }
    found = {row["index"]: row["total"] for row in answer["hypotheses"]}
    assert found == pytest.approx(expected, rel=1e-5)
    assert [row["index"] for row in answer["hypotheses"]] == sorted(expected, key=lambda index: -expected[index])


@pytest.mark.parametrize("prompt", ["", "the cat", "the cat\n"])
@pytest.mark.parametrize("name", ["tied", "ngram"])
def test_generate_writes_what_the_library_writes(server: Running, runs: Runs, name: str, prompt: str) -> None:
    answer = server.post("/generate", prompt=prompt, words=40, seed=3, temperature=0.9, model=name)
    offline = wordtie.load(getattr(runs, name)).generate(prompt, 40, temperature=0.9, seed=3)
    assert answer.body.decode() == offline
    assert answer.headers["transfer-encoding"] == "chunked"


def test_neighbours(server: Running) -> None:
    answer = server.post("/neighbours", word="Cat", top=3).json
    assert set(answer["sides"]) == {"input", "output"}
    assert all(len(near) == 3 for near in answer["sides"].values())
    assert answer["sides"]["input"] != answer["sides"]["output"]
    assert set(server.post("/neighbours", word="cat", model="tied").json["sides"]) == {"tied"}
    assert set(server.post("/neighbours", word="cat", side="output").json["sides"]) == {"output"}


def test_neighbours_that_there_are_none_of(server: Running) -> None:
    assert refused(server.post("/neighbours", word="cat", model="ngram"), 409, "has no word vectors")
    assert refused(server.post("/neighbours", word="cat", model="tied", side="output"), 409, "no output vectors")
    assert refused(server.post("/neighbours", word="zebra"), 404, "has no vector of 'zebra'")


def test_compare(server: Running, runs: Runs) -> None:
    answer = server.post("/compare", text=TEXT).json
    assert answer["models"] == ["untied", "ngram"]
    offline = [wordtie.load(run).surprisal(TEXT) for run in (runs.untied, runs.ngram)]
    assert answer["bits"] == pytest.approx([sum(r.surprisal_bits for r in rows) for rows in offline], rel=1e-5)
    assert [region["word"] for region in answer["regions"]][:3] == ["the", "cat", "sat,"]
    differences = [region["difference"] for region in answer["regions"]]
    assert [differences[at] for at in answer["most_different"]] == sorted(differences, reverse=True)[:10]
    first = answer["regions"][0]["surprisal_bits"]
    assert answer["regions"][0]["difference"] == pytest.approx(abs(first[0] - first[1]))


def test_compare_needs_two_models(runs: Runs) -> None:
    with running([runs.ngram]) as alone:
        assert refused(alone.post("/compare", text="the"), 409, "needs two models")


def test_what_is_not_allowed(server: Running) -> None:
    assert refused(server.post("/surprisal", text=1), 422, "text: ")
    assert refused(server.post("/surprisal", text="a", textt="b"), 422, "textt: ")
    assert refused(server.post("/surprisal", text="a" * (MOST_CHARACTERS + 1)), 422, "text: ")
    assert refused(server.post("/surprisal", text="\ud800"), 422, "text: ")
    assert refused(server.post("/surprisal", text="a", model="nope"), 404, "there are untied, ngram, tied")
    assert refused(server.post("/predict", text="a", top="3"), 422, "top: ")
    assert refused(server.post("/predict", text="a", top=2.5), 422, "top: ")
    assert len(server.post("/predict", text="a", top=3.0).json["words"]) == 3
    headers = {"Content-Type": "application/json"}
    no_json = "send one, with Content-Type: application/json"
    assert refused(server.ask("POST", "/surprisal", b"{", headers), 422, no_json)
    assert refused(server.ask("POST", "/surprisal", b'{"text": "the"}', {}), 422, no_json)
    assert refused(server.ask("POST", "/surprisal", b"[]", headers), 422, no_json)
    assert server.ask("POST", "/surprisal", b"[" * 100_000, headers).status in (400, 422)
    assert server.ask("POST", "/surprisal", b"\xff\xfe", headers).status in (400, 422)
    assert server.ask("GET", "/surprisal", None, {}).status == 405
    assert refused(server.ask("GET", "/nowhere", None, {}), 404, "Not Found")


def test_a_body_that_is_too_long(server: Running) -> None:
    answer = server.post("/surprisal", text="a" * MOST_BYTES)
    assert refused(answer, 413, "1,048,576 bytes")
    for headers in ({}, {"Content-Length": str(10**9)}):
        connection = server.connect()
        chunks = iter([b"a" * 65_536] * 32) if not headers else None
        connection.request("POST", "/surprisal", chunks, headers, encode_chunked=not headers)
        assert connection.getresponse().status == 413
        connection.close()


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\r", "a\rb\r\nc", "\u2028", "\x00", "😀 ﷽"])
def test_odd_texts(server: Running, text: str) -> None:
    for name in ("tied", "ngram"):
        assert server.post("/surprisal", text=text, model=name).status == 200
        assert server.post("/predict", text=text, model=name, complete=True).status == 200
        assert server.post("/generate", prompt=text, model=name, words=2).status == 200
        assert server.post("/rescore", hypotheses=[{"text": text}], model=name).status == 200
    assert server.post("/compare", text=text).status == 200


def test_every_answer_forbids_what_the_page_does_not_need(server: Running) -> None:
    for answer in (server.get("/"), server.get("/page/main.js"), server.get("/models"), server.get("/nowhere")):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers


def test_names_of_other_hosts_are_refused(server: Running) -> None:
    assert refused(server.get("/models", Host="evil.example"), 403, "localhost")
    assert refused(server.get("/models", Host="127.0.0.1.evil.example"), 403, "localhost")
    for own in ("localhost", "127.0.0.1", "127.1.2.3", "[::1]"):
        assert server.get("/models", Host=f"{own}:{server.port}").status == 200


def test_a_token(runs: Runs) -> None:
    token = "a-token-of-some-length"
    with running([runs.ngram], ServeSettings(token=token)) as server:
        assert server.url.endswith(f"#token={token}")
        assert refused(server.get("/models"), 401, "Bearer")
        assert server.get("/models", Authorization="Bearer something-else-of-length").status == 401
        assert server.get("/metrics").status == server.post("/predict", text="a").status == 401
        assert server.get("/models", Authorization=f"Bearer {token}").status == 200
        assert server.get("/").status == server.get("/ready").status == server.get("/page/main.js").status == 200


def test_other_addresses_have_a_token(runs: Runs) -> None:
    with running([runs.ngram], ServeSettings(host="0.0.0.0")) as server:
        assert len(server.url.partition("#token=")[2]) >= 32
        assert server.get("/models").status == 401


def test_models_and_metrics(server: Running) -> None:
    models = server.get("/models").json["models"]
    assert [(each["name"], each["vectors"]) for each in models] == [
        ("untied", ["input", "output"]),
        ("ngram", []),
        ("tied", ["tied"]),
    ]
    server.post("/predict", text="the")
    text = server.get("/metrics").body.decode()
    assert 'wordtie_requests_total{operation="/predict",status="200"}' in text
    assert 'wordtie_batch_size_count{kind="next",model="untied"}' in text
    assert server.get("/health").json == {"status": "alive"}


def test_curves(server: Running) -> None:
    found = {run["folder"]: run for run in server.get("/curves").json["runs"]}
    assert set(found) == {"tied", "untied"}
    assert found["tied"]["state"] == "finished"
    assert any(point["valid_perplexity"] for point in found["tied"]["points"])


def test_curves_of_runs_of_one_name(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is listed once, under a name of its own; a folder that goes away while it is listed is left out."""
    for place, run in (("one", runs.tied), ("two", runs.untied)):
        shutil.copytree(run, tmp_path / place / "run")
    (tmp_path / "one" / "gone").symlink_to(tmp_path / "nowhere")
    monkeypatch.chdir(tmp_path)
    found = {run["folder"]: run["points"] for run in curves_of(["one/run"], ["one", "two", str(tmp_path / "two")])}
    assert set(found) == {"one/run", "two/run"}
    assert found["two/run"] == read_curves(runs.untied)["points"]


def test_a_run_whose_name_is_no_utf8(runs: Runs, tmp_path: Path) -> None:
    strange = os.fsdecode(b"caf\xe9")
    try:
        shutil.copytree(runs.tied, tmp_path / strange)
    except OSError:
        pytest.skip("this file system has names in UTF-8 alone")
    with running([runs.tied], ServeSettings(watched=(str(tmp_path),))) as served:
        assert any("caf" in run["folder"] for run in served.get("/curves").json["runs"])


def test_a_watched_folder_that_goes_away(tmp_path: Path) -> None:
    assert curves_of([], [str(tmp_path / "nowhere")]) == []


def test_an_arpa_file_is_served(runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "model.arpa"
    export_arpa(runs.ngram, path)
    with running([path]) as server:
        words = server.post("/surprisal", text=TEXT).json["words"]
        assert server.get("/models").json["models"][0]["vectors"] == []
    offline = wordtie.load(path).surprisal(TEXT)
    assert [word["surprisal_bits"] for word in words] == pytest.approx([word.surprisal_bits for word in offline])


def test_logs_are_json_without_text(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", LOGGER.name):
        server.post("/surprisal", text="confidential")
        server.post("/surprisal", text="confidential", model="confidential")
        server.post("/neighbours", word="confidential")
        server.get("/confidential?confidential")
        server.ask("PROPFIND", "/", None, {})
        wait_until(lambda: len(caplog.records) == 5)  # a line is written after the answer
    lines = [JsonLines().format(record) for record in caplog.records]
    assert len(lines) == 5
    assert [json.loads(line)["status"] for line in lines] == [200, 404, 404, 404, 405]
    assert [json.loads(line)["operation"] for line in lines][:2] == ["/surprisal", "/surprisal"]
    assert not any("confidential" in line.lower() for line in lines)


def test_an_error_is_logged_by_its_place(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise ValueError("confidential")
    except ValueError:
        with caplog.at_level("INFO", LOGGER.name):
            LOGGER.exception("bug")
    line = json.loads(JsonLines().format(caplog.records[0]))
    assert line["error"] == "ValueError"
    assert "test_app.py:" in line["where"]
    assert "confidential" not in json.dumps(line)


def test_a_bug_is_answered_so(runs: Runs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("confidential")

    monkeypatch.setattr(app, "curves_of", broken)
    with caplog.at_level("INFO", LOGGER.name), running([runs.tied]) as server:
        answer = server.get("/curves")
        wait_until(lambda: any(record.getMessage() == "bug" for record in caplog.records))
    assert (answer.status, answer.json) == (500, {"detail": BUG})
    assert not any("confidential" in JsonLines().format(record) for record in caplog.records)


def test_descriptions_have_examples_that_work(server: Running) -> None:
    described = server.get("/openapi.json").json
    paths = [path for path, methods in described["paths"].items() if "post" in methods]
    assert sorted(paths) == ["/compare", "/generate", "/neighbours", "/predict", "/rescore", "/surprisal"]
    for path in paths:
        name = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        (example,) = described["components"]["schemas"][name.rpartition("/")[2]]["examples"]
        expected = {200, 404} if path == "/neighbours" else {200}
        assert server.post(path, **example).status in expected
