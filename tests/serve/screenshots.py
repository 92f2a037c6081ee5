"""The pictures of docs/how-to/serving.md: `python -m tests.serve.screenshots URL` of a server with two models."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import sync_playwright

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
COLOURS = 128
PICTURES: tuple[tuple[str, int, int, Literal["light", "dark"]], ...] = (
    ("serve-text", 1080, 860, "light"),
    ("serve-phone", 390, 844, "dark"),
)


def main(url: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, width, height, scheme in PICTURES:
            page = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=1.5
            )
            page.goto(url)
            page.wait_for_selector(".word")
            if name == "serve-text":
                page.locator(".panel").first.locator(".word").nth(2).click()
                page.wait_for_selector("#likeliest:not([hidden])")
            page.wait_for_timeout(500)
            page.evaluate("scrollTo(0, 0)")
            save(page.screenshot(full_page=name == "serve-text"), FIGURES / f"{name}.png")
        browser.close()


def save(png: bytes, path: Path) -> None:
    """With few colours, in a third of the size."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
