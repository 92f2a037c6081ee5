"""What is written is on the disk before it takes the place of what was there: a power cut leaves one of the two."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from wordtie.errors import SaveError
from wordtie.runs.layout import MODEL_FILES
from wordtie.runs.sealed import publish
from wordtie.storage.atomic import atomic_write, replace_files, write_text

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="names of open files are those of Linux")
Order = list[tuple[str, Path]]


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> Order:
    """What was brought to the disk, and which names were given, one after the other."""
    found: Order = []
    fsync, replace, rename = os.fsync, Path.replace, Path.rename

    def noted_fsync(descriptor: int) -> None:
        found.append(("sync", Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    def noted_replace(self: Path, target: Path) -> Path:
        found.append(("name", Path(target)))
        return replace(self, target)

    def noted_rename(self: Path, target: Path) -> Path:
        found.append(("name", Path(target)))
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    monkeypatch.setattr(Path, "rename", noted_rename)
    return found


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path: Path, order: Order) -> None:
    with atomic_write(tmp_path / "file") as new:
        new.write_text("new")
    (first, written), *rest = order
    assert (first, written.name, written.parent.parent) == ("sync", "file", tmp_path)
    assert rest == [("name", tmp_path / "file"), ("sync", tmp_path)]


def test_several_files_are_all_on_the_disk_before_any_has_its_name(tmp_path: Path, order: Order) -> None:
    stage, folder = tmp_path / "stage", tmp_path / "folder"
    folder.mkdir()
    for name in ("a", "b", "seal"):
        (folder / name).write_text("old")
    stage.mkdir()
    for name in ("a", "b", "seal"):
        (stage / name).write_text("new")
    replace_files(stage, folder, ["a", "b", "seal"])
    assert order == [
        *(("sync", stage / name) for name in ("a", "b", "seal")),
        ("name", stage / ".seal-before"),
        *(("name", folder / name) for name in ("a", "b", "seal")),
        ("sync", folder),
    ]


def test_a_model_is_on_the_disk_before_it_is_published(tmp_path: Path, order: Order) -> None:
    stage, folder = tmp_path / "run" / "stage", tmp_path / "run"
    stage.mkdir(parents=True)
    for name in MODEL_FILES:
        (stage / name).write_text("new")
    publish(stage, folder)
    first_name = next(place for place, (what, _) in enumerate(order) if what == "name")
    assert {("sync", stage / name) for name in MODEL_FILES} | {("sync", stage)} <= set(order[:first_name])
    assert order[first_name] == ("name", folder / ".next")
    assert order[first_name + 1] == ("sync", folder)
    assert ("sync", folder) in order[first_name + 2 :]
    assert all((folder / name).read_text() == "new" for name in MODEL_FILES)


def modes(folder: Path, names: list[str]) -> list[int]:
    return [stat.S_IMODE((folder / name).lstat().st_mode) for name in names]


@pytest.mark.parametrize("names", [["a"], ["a", "b", "seal"]])
def test_a_private_file_stays_private(names: list[str], tmp_path: Path) -> None:
    stage, folder = tmp_path / "stage", tmp_path / "folder"
    for place in (stage, folder):
        place.mkdir()
        for name in names:
            (place / name).write_text(place.name)
    for number, name in enumerate(names):
        (folder / name).chmod(0o600 + number)
    replace_files(stage, folder, names)
    assert modes(folder, names) == [0o600, 0o601, 0o602][: len(names)]
    assert all((folder / name).read_text() == "stage" for name in names)
    write_text(folder / names[0], "again")
    assert modes(folder, names[:1]) == [0o600]


def test_a_new_file_and_one_in_the_place_of_a_link_have_the_usual_permissions(tmp_path: Path) -> None:
    private, usual, link = tmp_path / "private", tmp_path / "usual", tmp_path / "link"
    private.write_text("private")
    private.chmod(0o600)
    usual.touch()
    link.symlink_to(private)
    write_text(tmp_path / "new", "new")
    write_text(link, "new")
    assert modes(tmp_path, ["new", "link"]) == modes(tmp_path, ["usual", "usual"])
    assert not link.is_symlink()
    assert private.read_text() == "private"
    assert modes(tmp_path, ["private"]) == [0o600]


def test_a_folder_of_this_name_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(SaveError, match=r"Is a directory"), atomic_write(tmp_path):
        pytest.fail("the work has begun")
