"""Every command in the README and the book, run as it stands there."""

import re
import shutil

import pytest
from helpers import JACKSBORO, ROOT, run_thalweg

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page, language):
    """The page's blocks of that language, save those marked `long`."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [text for kind, mark, text in found if kind == language and mark.strip() != "long"]


def commands(page):
    return [line for text in blocks(page, "sh") for line in text.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_the_commands_of_a_page_work(page, tmp_path):
    shutil.copy(JACKSBORO, tmp_path)
    for recipe in blocks(page, "toml"):
        name = re.search(r'^name = "(\w+)"$', recipe, re.MULTILINE).group(1)
        (tmp_path / f"{name}.toml").write_text(recipe, encoding="utf-8")
    for mark, text in [(mark.strip(), text) for kind, mark, text in FENCE.findall(page.read_text(encoding="utf-8")) if kind == "json"]:
        if mark.endswith(".geojson"):
            (tmp_path / mark).write_text(text, encoding="utf-8")
    for line in commands(page):
        words = line.split()
        assert words[0] == "thalweg", f"{page.name}: only thalweg's own commands are run here: {line}"
        done = run_thalweg(*words[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert "panicked" not in done.stderr


def test_the_readme_opens_with_a_picture_and_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    picture = re.match(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert picture and (ROOT / picture.group(1)).is_file()
    assert "cargo run --release -- build" in text and "cargo xtask test" in text


def test_pages_are_found_and_long_blocks_left_out():
    # Guards the tests above against a pattern that matches nothing.
    assert len(commands(ROOT / "docs/quickstart.md")) >= 10
    assert not any("cargo install" in line for page in PAGES for line in commands(page))
