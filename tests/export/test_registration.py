"""Auto classes open an export after `import wordtie`, in either order, and its code opens it without wordtie.

Each test has a process of its own, because what has been imported cannot be taken back.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.export.networks import MISSING, export

pytest.importorskip("transformers", reason=MISSING)

OPEN = """
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
model = AutoModelForCausalLM.from_pretrained(FOLDER, trust_remote_code=TRUST)
tokenizer = AutoTokenizer.from_pretrained(FOLDER, trust_remote_code=TRUST)
"""
SHOW = """
import torch
ids = tokenizer("the w3 w4 nobody", return_tensors="pt").input_ids
found = model.generate(ids, max_new_tokens=5, num_beams=3, do_sample=False)
print(type(model).__module__, model.lm_head.weight is model.embed.weight, found.tolist())
print(model(ids).logits.sum(-1).tolist())
"""
NO_WORDTIE = "import sys; sys.modules['wordtie'] = None  # importing it fails\n"


def python(code: str, here: Path, folder: Path, trust: bool = False) -> list[str]:
    """What a new process prints, in lines. Modules of Transformers' own go into the test's folder, and no network."""
    code = f"FOLDER, TRUST = {str(folder)!r}, {trust}\n{code}"
    around = {**os.environ, "HF_HOME": str(here / "hub"), "HF_MODULES_CACHE": str(here / "code"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-W", "error::UserWarning:wordtie", "-c", code], env=around,
                          capture_output=True, text=True, timeout=600)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "do not fit together" not in done.stderr
    return done.stdout.splitlines()


def test_import_wordtie_loads_neither_torch_nor_transformers(tmp_path: Path) -> None:
    code = "import wordtie, sys; print('torch' in sys.modules, 'transformers' in sys.modules)"
    assert python(code, tmp_path, tmp_path) == ["False False"]


@pytest.mark.parametrize(
    "imports",
    [
        "import wordtie",
        "from transformers import AutoModelForCausalLM\nimport wordtie",
        "import wordtie\nfrom importlib.util import find_spec\nfind_spec('transformers')\n"
        "import transformers.generation.utils",
    ],
    ids=["before", "after", "looked-up-and-imported-from-inside"],
)
def test_in_either_order(imports: str, tmp_path: Path) -> None:
    _, folder = export(tmp_path, "lstm-tied")
    first, _ = python(f"{imports}\n{OPEN}{SHOW}", tmp_path, folder)
    assert first.startswith("wordtie.export.modeling_wordtie True [[0, 6, 7, 2,")


def test_without_wordtie_by_the_code_beside_it(tmp_path: Path) -> None:
    """The same scores; and saving again writes the code again, and the same bytes."""
    _, plain = export(tmp_path / "plain", "lstm-tied")
    _, folder = export(tmp_path / "with-code", "lstm-tied", with_code=True)
    here, scores = python(f"import wordtie\n{OPEN}{SHOW}", tmp_path, plain)
    again = f"""
model.save_pretrained({str(tmp_path / "again")!r}); tokenizer.save_pretrained({str(tmp_path / "again")!r})
"""
    there, same_scores = python(NO_WORDTIE + OPEN + SHOW + again, tmp_path, folder, trust=True)
    assert same_scores == scores
    assert there.startswith("transformers_modules.")
    assert there.partition(" ")[2] == here.partition(" ")[2]
    twice = again.replace("/again", "/twice")
    assert python(NO_WORDTIE + OPEN + SHOW + twice, tmp_path, tmp_path / "again", trust=True)[1] == scores
    once, more = ({f.name: f.read_bytes() for f in (tmp_path / name).iterdir()} for name in ("again", "twice"))
    assert once == more
    assert once["modeling_wordtie.py"] == (folder / "modeling_wordtie.py").read_bytes()
    assert once["model.safetensors"] == (folder / "model.safetensors").read_bytes()


def test_with_both_code_beside_it_and_wordtie(tmp_path: Path) -> None:
    """Without trust, wordtie's own class opens it, and nothing is asked on the terminal."""
    _, folder = export(tmp_path, "gru-tied_linear", with_code=True)
    code = f"import wordtie\n{OPEN}{SHOW}TRUST = True\n{OPEN}{SHOW}"
    own, own_scores, trusted, trusted_scores = python(code, tmp_path, folder)
    assert own.startswith("wordtie.")
    assert trusted_scores == own_scores
    assert trusted.partition(" ")[2] == own.partition(" ")[2]


def test_python_on_the_page_runs(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "transformers.md"
    found = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    _, folder = export(tmp_path, "lstm-tied", with_code=True)
    assert len(found) == 2
    code = "".join(found).replace('"exported/novel"', "FOLDER")
    assert python(code, tmp_path, folder)[0].startswith("the <unk> <unk> ")
