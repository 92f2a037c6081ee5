"""Addresses, tokens and settings of a server, and the command that starts it."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Capture
from tests.serve.conftest import Runs
from wordtie import cli
from wordtie.errors import SettingsError, UsageError
from wordtie.serve.guard import is_loopback
from wordtie.serve.server import ServeSettings, address, is_token, listen, prepare, read_token


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.1.2.3", True), ("0.0.0.0", False), ("::", False)],
)
def test_own_addresses(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
    assert is_loopback("example.org") is False


def test_addresses_to_open() -> None:
    assert address("127.0.0.1", 80) == "http://127.0.0.1:80/"
    assert address("0.0.0.0", 80) == "http://localhost:80/"
    assert address("::1", 80) == "http://[::1]:80/"


@pytest.mark.parametrize("token", ["short", "with a blank in the middle", "non-ascii-lettérs-are-none", ""])
def test_what_is_no_token(token: str) -> None:
    assert not is_token(token)
    with pytest.raises(SettingsError, match="a token is 16 or more"):
        ServeSettings(token=token)


@pytest.mark.parametrize("values", [{"port": 70_000}, {"batch": 0}, {"queue": 0}, {"seconds": 0.0}])
def test_settings_that_make_no_sense(values: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        ServeSettings(**values)


def test_where_the_token_is_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORDTIE_TOKEN", raising=False)
    assert read_token(None) is None
    monkeypatch.setenv("WORDTIE_TOKEN", "from-the-environment")
    assert read_token(None) == "from-the-environment"
    (tmp_path / "token").write_text("from-a-file-of-mine\n")
    assert read_token(str(tmp_path / "token")) == "from-a-file-of-mine"
    with pytest.raises(SettingsError, match="no token can be read"):
        read_token(str(tmp_path / "none"))


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} .*choose another --host or --port"):
            listen("127.0.0.1", port)
    with listen("127.0.0.1", 0) as first, pytest.raises(UsageError, match="choose another --host or --port"):
        listen("127.0.0.1", first.getsockname()[1])
    with pytest.raises(UsageError, match="cannot listen"):
        listen("host.invalid", 0)
    with pytest.raises(UsageError, match=r"cannot listen at a\.\.b"):
        listen("a..b", 0)


def test_a_folder_to_watch_must_be_there(runs: Runs) -> None:
    with pytest.raises(SettingsError, match="no such folder"):
        prepare([str(runs.ngram)], ServeSettings(watched=("nowhere",)))


def test_what_is_wrong_is_said_in_one_line(runs: Runs, tmp_path: Path, capsys: Capture) -> None:
    for arguments, code, reason in (
        ([str(tmp_path)], 4, "no finished model here"),
        ([str(runs.ngram), str(runs.ngram)], 2, "named twice"),
        ([str(runs.ngram), "--port", "99999"], 2, "the port must be"),
        ([str(runs.ngram), "--seconds", "nan"], 2, "the seconds"),
        ([str(runs.ngram), "--token-file", str(tmp_path / "none")], 2, "no token"),
    ):
        assert cli.main(["serve", *arguments]) == code
        (line,) = [each for each in capsys.readouterr().err.splitlines() if not each.startswith("note")]
        assert reason in line
