"""The exported model in Transformers: wordtie's scores, padding, states, generation, the tie, and saving again."""

from __future__ import annotations

import importlib
import itertools
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import Tensor

import wordtie
from tests.export.networks import MISSING, NETWORKS, WORDS, export, sentences
from wordtie.config import DataSettings, ModelSettings, NoiseSettings, Settings, TrainingSettings
from wordtie.data.vocabulary import EOS
from wordtie.export.transformers_folder import write_transformers_folder
from wordtie.runs.layout import MODEL

transformers = pytest.importorskip("transformers", reason=MISSING)
CACHE = importlib.import_module("wordtie.export.modeling_wordtie").CACHE

CELLS = ["lstm-tied", "gru-tied_linear", "rnn-untied", "rhn-tied"]
TIED = [name for name, settings in NETWORKS.items() if settings.head != "untied"]


def opened(folder: Path) -> tuple[Any, Any]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return transformers.AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=False), tokenizer


def log_p(model: Any, ids_BT: Tensor, **more: Any) -> Tensor:
    """Of each id after those before it, (B, T - 1)."""
    with torch.no_grad():
        scores = model(input_ids=ids_BT, **more).logits.log_softmax(-1)
    found: Tensor = scores[:, :-1].gather(2, ids_BT[:, 1:, None])[..., 0]
    return found


def stored(folder: Path) -> dict[str, tuple[int, ...]]:
    """Tensors in the file, and their shapes."""
    with safe_open(folder / MODEL, framework="pt") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


def assert_scores_are_the_same(run: Path, folder: Path, lines: list[str]) -> None:
    model, tokenizer = opened(folder)
    own = wordtie.load(run, part="network")
    bos = torch.tensor([[tokenizer.bos_token_id]])
    for line in lines:
        expected = torch.tensor([word.surprisal_bits for word in own.surprisal(line)]) * -math.log(2)
        ids = torch.cat([bos, tokenizer(f"{line}\n", return_tensors="pt").input_ids], 1)
        torch.testing.assert_close(log_p(model, ids)[0], expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("name", NETWORKS)
def test_scores_are_those_of_wordtie(name: str, tmp_path: Path) -> None:
    run, folder = export(tmp_path, name)
    assert_scores_are_the_same(run, folder, sentences(20))


@pytest.mark.parametrize(
    "noise",
    [
        NoiseSettings(kind="kneser_ney", gamma=0.4),
        NoiseSettings(kind="absolute_discounting", gamma=0.4, elementwise=True),
        NoiseSettings(kind="linear_interpolation", gamma=0.4, output_draw="none"),
    ],
    ids=["kneser-ney", "elementwise", "in-the-first-layer"],
)
def test_the_mean_of_smoothing_is_part_of_the_export(noise: NoiseSettings, tmp_path: Path, text: Path) -> None:
    run = tmp_path / "run"
    training = TrainingSettings(epochs=2, streams=4, steps=7, threads=1)
    settings = Settings(DataSettings(corpus=str(text)), ModelSettings(hidden=8), noise=noise, training=training)
    wordtie.train(settings, run)
    folder = write_transformers_folder(run, tmp_path / "hf").folder
    assert_scores_are_the_same(run, folder, ["w1 w2 w0 nobody w7", "w9"])


@pytest.mark.parametrize("name", CELLS)
def test_padding_on_either_side_changes_no_score(name: str, tmp_path: Path) -> None:
    model, tokenizer = opened(export(tmp_path, name)[1])
    lines = sentences(9)
    alone = [log_p(model, tokenizer(f"{EOS} {line}", return_tensors="pt").input_ids)[0] for line in lines]
    for side in ("left", "right"):
        batch = tokenizer([f"{EOS} {line}" for line in lines], padding=True, padding_side=side, return_tensors="pt")
        ids, mask = batch.input_ids, batch.attention_mask
        ids = torch.where(mask.bool(), ids, torch.randint(len(WORDS), ids.shape))  # whatever stands there
        together = log_p(model, ids, attention_mask=mask)
        for row, there, expected in zip(together, mask[:, 1:].bool() & mask[:, :-1].bool(), alone, strict=True):
            torch.testing.assert_close(row[there], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", CELLS)
def test_a_leading_eos_changes_no_score(name: str, tmp_path: Path) -> None:
    """A sequence starts after <eos>, whether it is written or not, also behind padding."""
    model, tokenizer = opened(export(tmp_path, name)[1])
    ids = tokenizer("the w3 w4 w3", return_tensors="pt").input_ids
    eos = torch.full_like(ids[:, :1], tokenizer.bos_token_id)
    expected = log_p(model, torch.cat([eos, ids], 1))[:, 1:]
    torch.testing.assert_close(log_p(model, ids), expected, rtol=0, atol=1e-6)
    mask = torch.tensor([[0, 1, 1, 1, 1]])
    padded = log_p(model, torch.cat([eos, ids], 1), attention_mask=mask)[:, 1:]
    torch.testing.assert_close(padded, expected, rtol=0, atol=1e-6)
    zeros_first = model(torch.cat([eos, eos, ids], 1)).logits[0, 2:].log_softmax(-1)
    assert (zeros_first[:-1].gather(1, ids[0, 1:, None])[:, 0] - expected[0]).abs().max() > 1e-4, "<eos> is read twice"


@pytest.mark.parametrize("name", CELLS)
def test_a_state_continues_where_it_was_taken(name: str, tmp_path: Path) -> None:
    model, tokenizer = opened(export(tmp_path, name)[1])
    batch = tokenizer(sentences(5), padding=True, padding_side="left", return_tensors="pt")
    ids, mask = batch.input_ids, batch.attention_mask
    whole = model(ids, attention_mask=mask).logits
    pieces, state = [], None
    for start in range(0, ids.shape[1], 2):  # sequences begin in different pieces
        end = start + 2
        out = model(ids[:, start:end], attention_mask=mask[:, :end], past_key_values=state)
        pieces.append(out.logits)
        state = out.past_key_values
        assert state.get_seq_length() == min(end, ids.shape[1])
    there = mask.bool()
    torch.testing.assert_close(torch.cat(pieces, 1)[there], whole[there], rtol=0, atol=1e-6)


def test_masked_tokens_between_others_are_passed_over(tmp_path: Path) -> None:
    """Also if they are all that a piece has: what comes after continues the sequence."""
    model, _ = opened(export(tmp_path, "lstm-tied")[1])
    expected = model(torch.tensor([[3, 4, 5]])).logits[:, -1]
    ids, mask = torch.tensor([[3, 4, 9, 9, 5]]), torch.tensor([[1, 1, 0, 0, 1]])
    torch.testing.assert_close(model(ids, attention_mask=mask).logits[:, -1], expected, rtol=0, atol=1e-6)
    state = None
    for start, end in ((0, 2), (2, 4), (4, 5)):
        out = model(ids[:, start:end], attention_mask=mask[:, :end], past_key_values=state)
        state = out.past_key_values
    torch.testing.assert_close(out.logits[:, -1], expected, rtol=0, atol=1e-6)


def test_a_state_is_not_changed_by_reading_on(tmp_path: Path) -> None:
    model, _ = opened(export(tmp_path, "lstm-tied")[1])
    state = model(torch.tensor([[3, 4]])).past_key_values
    first, again = (model(torch.tensor([[5]]), past_key_values=state).logits for _ in range(2))
    assert torch.equal(first, again)
    assert model(torch.tensor([[3, 4]]), use_cache=False).get("past_key_values") is None


def test_a_cache_of_keys_and_values_counts_as_none(tmp_path: Path) -> None:
    model, _ = opened(export(tmp_path, "lstm-tied")[1])
    ids = torch.tensor([[3, 4, 5]])
    assert torch.equal(model(ids, past_key_values=transformers.DynamicCache()).logits, model(ids).logits)


@pytest.mark.parametrize("name", CELLS)
def test_greedy_is_the_likeliest_word_of_wordtie(name: str, tmp_path: Path) -> None:
    run, folder = export(tmp_path, name)
    model, tokenizer = opened(folder)
    own = wordtie.load(run)
    for prompt in ("the w3 w4", "w1"):
        words = prompt.split()
        while len(words) < 9 and words[-1] != EOS:
            words.append(own.predict(" ".join(words), top=1)[0][0])
        batch = tokenizer(prompt, return_tensors="pt")
        ids = model.generate(**batch, max_length=9, do_sample=False)
        assert tokenizer.decode(ids[0]) == " ".join(words)


@pytest.mark.parametrize("name", CELLS)
def test_beam_search_finds_what_a_search_without_a_state_finds(name: str, tmp_path: Path) -> None:
    model, tokenizer = opened(export(tmp_path, name)[1])
    batch = tokenizer(["the w3 w4", "w1", "w5 w6 w7 w8"], padding=True, padding_side="left", return_tensors="pt")
    how: dict[str, Any] = {"max_new_tokens": 6, "num_beams": 4, "do_sample": False}
    with_state = model.generate(**batch, **how, num_return_sequences=2)
    assert torch.equal(with_state, model.generate(**batch, **how, num_return_sequences=2, use_cache=False))
    alone = model.generate(**tokenizer("w1", return_tensors="pt"), **how)[0, 1:]
    end = next((n + 1 for n, word in enumerate(alone.tolist()) if word == tokenizer.eos_token_id), len(alone))
    assert torch.equal(with_state[2, batch.input_ids.shape[1] :][:end], alone[:end]), "padding changed the search"


def test_beam_search_is_exhaustive_if_it_is_wide_enough(tmp_path: Path) -> None:
    """The best of all pairs of words, by brute force."""
    model, tokenizer = opened(export(tmp_path, "lstm-tied")[1])
    ids = tokenizer("the w3", return_tensors="pt").input_ids
    first = model(ids).logits[0, -1].log_softmax(-1)
    words = torch.arange(len(WORDS))
    both = torch.cat([ids.expand(len(WORDS), -1), words[:, None]], 1)
    total = first[:, None] + model(both).logits[:, -1].log_softmax(-1)
    total[tokenizer.eos_token_id] = -torch.inf  # nothing follows it
    best = divmod(int(total.argmax()), len(WORDS))
    found = model.generate(ids, max_new_tokens=2, min_new_tokens=2, num_beams=len(WORDS) - 1, do_sample=False)
    assert tuple(found[0, 2:].tolist()) == best


def test_samples_have_the_frequencies_of_the_model(tmp_path: Path) -> None:
    model, tokenizer = opened(export(tmp_path, "gru-tied_linear")[1])
    ids = tokenizer("w1 w2", return_tensors="pt").input_ids
    expected = model(ids).logits[0, -1].softmax(-1)
    transformers.set_seed(1)
    drawn = model.generate(ids.expand(20_000, -1), max_new_tokens=1, do_sample=True, top_k=0)[:, -1]
    share = torch.bincount(drawn, minlength=len(WORDS)) / len(drawn)
    error = (expected * (1 - expected) / len(drawn)).sqrt()
    assert ((share - expected).abs() <= 5 * error).all()


def test_generation_continues_from_a_state(tmp_path: Path) -> None:
    if tuple(map(int, transformers.__version__.split(".")[:2])) < (4, 57):
        pytest.skip("`generate` of this version takes no state but one of attention's keys and values")
    model, tokenizer = opened(export(tmp_path, "lstm-tied")[1])
    prompt = tokenizer("w1 w2", return_tensors="pt")
    whole = model.generate(**prompt, max_new_tokens=6, do_sample=False)
    first = model.generate(**prompt, max_new_tokens=3, do_sample=False, return_dict_in_generate=True)
    state = first[CACHE]
    assert state.get_seq_length() == first.sequences.shape[1] - 1, "the last word is not read yet"
    rest = model.generate(first.sequences, **{CACHE: state}, max_new_tokens=3, do_sample=False)
    assert torch.equal(rest, whole)


@pytest.mark.filterwarnings("ignore:.*both `max_new_tokens`:UserWarning")
def test_pipeline_generates_from_a_batch(tmp_path: Path) -> None:
    folder = export(tmp_path, "lstm-tied")[1]
    model, tokenizer = opened(folder)
    prompts = ["w1", "the w3 w4 w5 w6"]
    pipeline = transformers.pipeline("text-generation", str(folder))
    found = pipeline(prompts, max_new_tokens=4, do_sample=False, batch_size=2)
    for prompt, each in zip(prompts, found, strict=True):
        ids = model.generate(**tokenizer(prompt, return_tensors="pt"), max_new_tokens=4, do_sample=False)
        written = tokenizer.decode(ids[0], skip_special_tokens=True).removeprefix(prompt)
        assert each[0]["generated_text"].removeprefix(prompt).split() == written.split()


def test_generation_without_a_prompt_starts_a_sentence(tmp_path: Path) -> None:
    model, tokenizer = opened(export(tmp_path, "lstm-tied")[1])
    found = model.generate(max_new_tokens=1, do_sample=False)
    assert found[0, 0] == tokenizer.bos_token_id == WORDS.index(EOS)
    assert found[0, 1] == model(found[:, :1]).logits[0, -1].argmax()


@pytest.mark.parametrize("name", TIED)
def test_the_tie_survives(name: str, tmp_path: Path) -> None:
    """Loading, `.to()`, resizing, saving, loading again: one matrix, stored once."""
    model, _ = opened(export(tmp_path, name)[1])
    assert stored(tmp_path / f"{name}-hf").keys() & {"lm_head.weight"} == set()
    size = len(WORDS)
    for number, change in enumerate([lambda m: m, lambda m: m.to(torch.float64).float(), grown, shrunk]):
        model = change(model)
        assert model.lm_head.weight is model.embed.weight
        model.save_pretrained(tmp_path / str(number))
        names = stored(tmp_path / str(number))
        assert [each for each, shape in names.items() if shape[0] >= size and len(shape) == 2] == ["embed.weight"]
        model, _ = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / str(number)), None
        assert model.lm_head.weight is model.embed.weight
        with torch.no_grad():
            before = model(torch.tensor([[3]])).logits
            model.embed.weight[5] += 1
            after = model(torch.tensor([[3]])).logits
        assert (before - after)[..., 5].abs() > 1e-3, "a word is scored by the row that reads it"


def grown(model: Any) -> Any:
    before = model(torch.tensor([[3, 4]])).logits
    model.resize_token_embeddings(len(WORDS) + 3)
    after = model(torch.tensor([[3, 4]])).logits
    assert after.shape[-1] == model.config.vocab_size == len(WORDS) + 3
    torch.testing.assert_close(after[..., : len(WORDS)], before)
    return model


def shrunk(model: Any) -> Any:
    model.resize_token_embeddings(len(WORDS))
    assert model(torch.tensor([[3, 4]])).logits.shape[-1] == len(WORDS)
    return model


@pytest.mark.parametrize("name", [*CELLS, "tied-with-bias", "untied-through-a-map"])
def test_saving_again_gives_identical_bytes(name: str, tmp_path: Path) -> None:
    _, folder = export(tmp_path, name)
    places = [folder, tmp_path / "again", tmp_path / "and-again"]
    for before, after in itertools.pairwise(places):
        for each in opened(before):
            each.save_pretrained(after)
    again, and_again = ({file.name: file.read_bytes() for file in place.iterdir()} for place in places[1:])
    assert again == and_again
    assert again[MODEL] == (folder / MODEL).read_bytes()
    assert opened(places[2])[1]("the w3\nw4").input_ids == [0, 6, 1, 7]


def test_it_can_be_trained_on(tmp_path: Path) -> None:
    """The loss is the mean over the words that are not left out, and its gradient reaches every parameter."""
    model, tokenizer = opened(export(tmp_path, "map-with-bias")[1])
    batch = tokenizer([f"{EOS} the w3 w4", f"{EOS} w1"], padding=True, padding_side="right", return_tensors="pt")
    labels = batch.input_ids.masked_fill(batch.attention_mask == 0, -100)
    loss = model(**batch, labels=labels).loss
    alone = [log_p(model, tokenizer(line, return_tensors="pt").input_ids) for line in (f"{EOS} the w3 w4", f"{EOS} w1")]
    assert loss.item() == pytest.approx(-torch.cat(alone, 1).mean().item(), abs=1e-6)
    loss.backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.parameters())


def test_a_new_model_starts_small(tmp_path: Path) -> None:
    config = opened(export(tmp_path, "lstm-tied")[1])[0].config
    model = transformers.AutoModelForCausalLM.from_config(config)
    assert 0.05 < max(parameter.abs().max() for parameter in model.parameters()) <= 0.1


def test_hidden_states_logits_to_keep_and_tuples(tmp_path: Path) -> None:
    model, _ = opened(export(tmp_path, "map-with-bias")[1])
    ids = torch.tensor([[3, 4, 5]])
    out = model(ids, output_hidden_states=True)
    assert [tuple(each.shape) for each in out.hidden_states] == [(1, 3, 5), *[(1, 3, 7)] * 3]
    torch.testing.assert_close(model.lm_head(model.projection(out.hidden_states[-1])), out.logits)
    torch.testing.assert_close(model(ids, logits_to_keep=1).logits, out.logits[:, -1:])
    assert torch.equal(model(ids, return_dict=False)[0], out.logits)
