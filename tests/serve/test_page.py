"""The page in a real Chromium: typing, clicking, comparing, by keyboard, dark and on a phone.

Debian's `chromium` is used, which `scripts/test` installs if it can.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serve.client import Running, running, wait_until
from tests.serve.conftest import Runs
from wordtie.serve.server import ServeSettings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")
sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

SPECIAL = {"<eos>": "⏎ end of sentence", "<unk>": "any unknown word"}
DESK, PHONE = {"width": 1180, "height": 900}, {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def open_page(browser: Any, server: Running) -> Iterator[Any]:
    """Opens the page; fails if the console has an error or a warning, or if another host was asked."""
    complaints: list[str] = []
    contexts = []

    def opened(url: str = server.url, size: dict[str, int] = DESK, scheme: str = "light") -> Any:
        context = browser.new_context(viewport=size, color_scheme=scheme, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        ours = url.partition("#")[0]

        def asked(request: Any) -> None:
            if not request.url.startswith((ours, "blob:")):
                complaints.append(request.url)

        page.on("request", asked)
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def words(page: Any, panel: int = 0) -> list[str]:
    found: list[str] = page.locator(".panel").nth(panel).locator(".word > span").all_inner_texts()
    return found


def write(page: Any, text: str, shown: list[str]) -> None:
    page.fill("#text", "")
    page.locator("#text").press_sequentially(text)
    expect = sync_api.expect
    expect(page.locator(".panel").first.locator(".word > span")).to_have_text(shown)


def accessible(page: Any) -> bool:
    """No violation in the eyes of axe-core, and nothing beyond the right edge."""
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    return True


def test_words_are_coloured_as_one_types(open_page: Any, server: Running) -> None:
    page = open_page()
    write(page, "the cat sat,\nthe zebra", ["the", "cat", "sat,", "⏎", "the", "zebra"])
    rows = server.post("/surprisal", text="the cat sat,\nthe zebra").json["words"]
    shown = page.locator(".panel").first.locator(".word small").all_inner_texts()
    bits = [row["surprisal_bits"] for row in rows[:-1]]  # the last line is not ended
    assert [float(each) for each in shown] == pytest.approx(bits, abs=0.06)
    classes = [each.get_attribute("class") for each in page.locator(".panel").first.locator(".word").all()]
    assert [f"b{min(8, int(each / 2))}" in name.split() for each, name in zip(bits, classes, strict=True)] == [True] * 6
    assert "oov" in classes[5].split()
    page.check("text=Entropy", force=True)
    entropy = page.locator(".panel").first.locator(".word small").all_inner_texts()
    assert [float(each) for each in entropy] == pytest.approx([row["entropy_bits"] for row in rows[:-1]], abs=0.06)


def test_a_click_shows_the_ten_likeliest(open_page: Any, server: Running) -> None:
    page = open_page()
    write(page, "the cat sat", ["the", "cat", "sat"])
    page.locator(".panel").first.locator(".word").nth(2).click()
    lists = page.locator("#likeliest .ranking")
    sync_api.expect(lists).to_have_count(2)
    assert page.inner_text("#likeliest-title") == "After “the cat”"
    for number, name in enumerate(("untied", "ngram")):
        expected = [row["word"] for row in server.post("/predict", text="the cat", model=name).json["words"]]
        shown = lists.nth(number).locator("li > :nth-child(2)").all_inner_texts()
        assert shown == [SPECIAL.get(word, word) for word in expected]
    assert "sat" in lists.nth(0).locator(".here").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#likeliest").is_hidden()


def test_equal_words_in_a_region_have_figures_of_their_own(open_page: Any) -> None:
    """Both quotes belong to `"Go,"`."""
    with running(["en"]) as server:
        page = open_page(server.url)
        page.fill("#text", '"Go," he')
        shown = page.locator(".panel").first.locator(".word")
        sync_api.expect(shown).to_have_count(5)
        rows = server.post("/surprisal", text='"Go," he').json["words"]
        assert (rows[0]["region"], rows[0]["word"]) == (rows[3]["region"], rows[3]["word"])
        for at in (0, 3):
            shown.nth(at).click()
            sync_api.expect(page.locator("#likeliest-lists")).to_contain_text(f"{rows[at]['surprisal_bits']:.1f} bits.")
        assert page.locator(".word[aria-pressed=true]").count() == 1


def test_the_keyboard_is_enough(open_page: Any) -> None:
    page = open_page()
    write(page, "the cat sat", ["the", "cat", "sat"])
    page.locator(".panel").first.locator(".word").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#likeliest:not([hidden])")
    assert page.locator(".panel").first.locator(".word[aria-pressed=true]").inner_text().startswith("sat")
    reached = page.locator(".panel").first.locator(".word[tabindex='0']").count()
    assert reached == 1
    page.focus("#tab-text")
    page.keyboard.press("ArrowRight")
    assert page.locator("#view-words").is_visible()
    assert page.evaluate("document.activeElement.id") == "tab-words"


def test_suggestions(open_page: Any) -> None:
    page = open_page()
    page.fill("#text", "")
    page.locator("#text").press_sequentially("the cat s")
    chip = page.locator("#suggestions button")
    sync_api.expect(chip).to_have_text(["sat"])
    chip.first.click()
    assert page.input_value("#text") == "the cat sat "
    sync_api.expect(chip.first).not_to_have_text("sat")
    page.click("#write")
    sync_api.expect(page.locator("#text")).to_have_value(re.compile(".{21,}", re.DOTALL))
    sync_api.expect(page.locator("#write")).to_have_text("Continue the text")
    assert page.input_value("#text").startswith("the cat sat")
    assert len(page.input_value("#text")) > len("the cat sat ")


def hold(page: Any, path: str, part: str) -> list[Any]:
    """Questions at a path that hold this part: they wait until they are told to continue."""
    held: list[Any] = []
    page.route(path, lambda route: held.append(route) if part in route.request.post_data else route.continue_())
    return held


def let_go(page: Any, held: list[Any]) -> None:
    wait_until(lambda: page.wait_for_timeout(20) or bool(held))
    for route in held:
        route.continue_()
    page.wait_for_timeout(300)  # in which an answer would be shown


def test_suggestions_are_those_of_where_the_caret_is(open_page: Any) -> None:
    page = open_page()
    write(page, "cat sat", ["cat", "sat"])
    chip = page.locator("#suggestions button")
    sync_api.expect(chip).to_have_text(["sat"])
    held = hold(page, "**/predict", '"text":"cat"')
    for caret in (3, 5):
        page.evaluate(f"document.querySelector('#text').setSelectionRange({caret}, {caret})")
        page.evaluate("document.querySelector('#text').click()")
    let_go(page, held)
    sync_api.expect(chip).to_have_text(["sat"])


def test_clearing_the_text_stops_what_the_model_writes(open_page: Any) -> None:
    page = open_page()
    write(page, "the cat sat", ["the", "cat", "sat"])
    held = hold(page, "**/generate", "the cat sat")
    page.click("#write")
    sync_api.expect(page.locator("#write")).to_have_text("Stop")
    page.click("#clear")
    let_go(page, held)
    sync_api.expect(page.locator("#write")).to_have_text("Continue the text")
    assert page.input_value("#text") == ""


def test_a_problem_is_shown_until_what_failed_succeeds(browser: Any, server: Running) -> None:
    page = browser.new_page()  # whose console may have the error
    page.goto(server.url)
    page.wait_for_selector("#suggestions button")
    page.route("**/predict", lambda route: route.fulfill(status=503, json={"detail": "no time to suggest"}))
    write(page, "the cat", ["the", "cat"])
    page.wait_for_timeout(300)
    assert page.inner_text("#problem") == "no time to suggest"
    page.unroute("**/predict")
    write(page, "the dog", ["the", "dog"])
    sync_api.expect(page.locator("#problem")).to_be_hidden()
    page.close()


def test_two_models_side_by_side(open_page: Any, server: Running) -> None:
    page = open_page()
    text = "the dog sat on the mat"
    write(page, text, text.split())
    sync_api.expect(page.locator(".panel")).to_have_count(2)
    compared = server.post("/compare", text=text).json
    different = [compared["regions"][at]["word"] for at in compared["most_different"]]
    shown = page.locator("#differences-table tbody button").all_inner_texts()
    assert shown == [word for word in different if word != "<eos>"][: len(shown)]
    assert len(shown) == 6
    assert page.locator(".panel").nth(1).locator(".differs").count() == 5
    page.select_option("#other", "tied")
    sync_api.expect(page.locator(".panel h3 > :first-child")).to_have_text(["untied", "tied"])
    page.select_option("#other", "")
    sync_api.expect(page.locator(".panel")).to_have_count(1)
    assert page.locator("#differences").is_hidden()


def test_what_is_written_before_the_models_are_known_stays(open_page: Any) -> None:
    page = open_page()
    page.route("**/models", lambda route: (page.locator("#text").press_sequentially("the dog"), route.continue_()))
    page.evaluate("sessionStorage.clear()")
    page.reload()
    expect = sync_api.expect
    expect(page.locator(".panel").first.locator(".word > span")).to_have_text(["the", "dog"])


@pytest.mark.parametrize(("name", "begins"), [("tsv", b"model\tline\t"), ("svg", b"<svg"), ("png", b"\x89PNG")])
def test_downloads(open_page: Any, tmp_path: Path, name: str, begins: bytes) -> None:
    page = open_page()
    write(page, "the cat sat", ["the", "cat", "sat"])
    with page.expect_download() as download:
        page.click(f"#{name}")
    path = tmp_path / "file"
    download.value.save_as(path)
    assert download.value.suggested_filename == f"surprisal.{name}"
    assert path.read_bytes().startswith(begins)
    assert path.stat().st_size > 200
    if name == "tsv":
        header, *rows = path.read_text().splitlines()
        assert header.split("\t") == [
            *("model", "line", "position", "region", "word", "oov", "surprisal_bits", "entropy_bits"),
        ]
        assert [row.split("\t")[4] for row in rows] == ["the", "cat", "sat"] * 2


def test_quotation_marks_in_a_download(open_page: Any, tmp_path: Path) -> None:
    page = open_page()
    write(page, 'the "cat sat', ["the", '"cat', "sat"])
    with page.expect_download() as download:
        page.click("#tsv")
    path = tmp_path / "file"
    download.value.save_as(path)
    with path.open(newline="") as file:
        rows = list(csv.reader(file, "excel-tab"))
    assert {len(row) for row in rows} == {8}
    assert [row[4] for row in rows[1:]] == ["the", '"cat', "sat"] * 2


def test_neighbours_and_trainings(open_page: Any, server: Running) -> None:
    page = open_page()
    page.click("#tab-words")
    page.fill("#word", "cat")
    page.keyboard.press("Enter")
    sync_api.expect(page.locator("#neighbours h3")).to_have_text(["untied", "untied", "ngram", "tied"])
    near = [row["word"] for row in server.post("/neighbours", word="cat", side="output").json["sides"]["output"]]
    shown = page.locator("#neighbours .ranking").nth(1).locator("li > :nth-child(2)").all_inner_texts()
    assert shown == [SPECIAL.get(word, word) for word in near]
    assert "no word vectors" in page.inner_text("#neighbours .card:nth-child(3)")
    page.click("#tab-runs")
    sync_api.expect(page.locator("#run-state")).to_contain_text("best validation perplexity")
    assert page.locator("#run-charts figcaption").all_inner_texts()[0].startswith("Training loss")


def test_neighbours_are_those_of_the_last_word_that_was_asked_for(open_page: Any) -> None:
    page = open_page()
    page.click("#tab-words")
    held = hold(page, "**/neighbours", '"word":"dog"')
    for word in ("dog", "cat"):
        page.fill("#word", word)
        page.keyboard.press("Enter")
    titles = page.locator("#neighbours .small")
    expected = ["input vectors", "output vectors", "one set for input and output"]
    let_go(page, held)
    sync_api.expect(titles).to_have_text([f"Nearest to “cat”: {each}" for each in expected])


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def test_everybody_can_read_it(open_page: Any, size: dict[str, int], scheme: str) -> None:
    page = open_page(size=size, scheme=scheme)
    write(page, "the zebra sat on the mat.", ["the", "zebra", "sat", "on", "the", "mat.", "⏎"])
    page.locator(".panel").first.locator(".word").nth(2).click()
    page.wait_for_selector("#likeliest:not([hidden])")
    assert accessible(page)
    page.click("#tab-words")
    page.fill("#word", "cat")
    page.keyboard.press("Enter")
    page.wait_for_selector("#neighbours .ranking")
    assert accessible(page)
    page.click("#tab-runs")
    page.wait_for_selector("#run-charts svg")
    assert accessible(page)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark == ("rgb(22, 24, 29)" if scheme == "dark" else "rgb(251, 250, 248)")
    page.click("#theme")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 29)"


def test_a_server_with_a_token(open_page: Any, runs: Runs) -> None:
    with running([runs.ngram], ServeSettings(token="a-token-of-some-length")) as server:
        page = open_page(server.url)
        write(page, "the cat", ["the", "cat"])
        assert "token" not in page.url
        assert page.locator("#other-field").is_hidden()


def test_without_the_token_the_page_asks_for_it(browser: Any, runs: Runs) -> None:
    with running([runs.ngram], ServeSettings(token="a-token-of-some-length")) as server:
        page = browser.new_page()
        page.goto(server.url.partition("#")[0])
        page.fill("#token", "a-token-of-some-length")
        page.keyboard.press("Enter")
        page.wait_for_selector(".word")
        assert page.locator("#problem").is_hidden()
        page.evaluate("sessionStorage.setItem('wordtie-token', 'that-of-an-earlier-server')")
        page.fill("#text", "the cat sat")
        page.wait_for_selector("#token-form:not([hidden])")
        page.fill("#token", "a-token-of-some-length")
        page.keyboard.press("Enter")
        page.locator(".word").nth(2).wait_for()
        assert page.input_value("#text") == "the cat sat"
        assert page.locator("#model option").count() == 1
        page.close()
