"""The blocks of the Python part of the book, run in their order as they stand there: docs/python.md, and the pages beside it."""

import re
import shutil
import subprocess
import sys

import pytest
from helpers import JACKSBORO, ROOT

for name in ("xarray", "rioxarray", "geopandas"):
    pytest.importorskip(name)

# Of each page: what it needs beside the extras, and the files that it leaves.
PAGES = {
    "python.md": ([], ["hills.png", "map.png"]),
    "python/erode_your_dem.md": ([], ["eroded.tif", "eroded_exact.tif", "eroded.png", "eroded_map.png"]),
    "python/from_landlab.md": (["landlab"], []),
    "python/from_richdem_pysheds.md": (["richdem"], ["reaches.gpkg"]),
    "python/sensitivity.md": (["matplotlib"], ["sensitivity.png"]),
}


def test_every_page_is_run():
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs/python").glob("*.md")}
    assert pages | {"python.md"} == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs_as_written(page, tmp_path, monkeypatch):
    path = ROOT / "docs" / page
    needs, files = PAGES[page]
    for name in needs:
        pytest.importorskip(name)
    shutil.copy(JACKSBORO, tmp_path)
    monkeypatch.setenv("RUNS", "6")
    text = path.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 4 and len(blocks) == text.count("```python")
    # A page that makes thalweg warn is wrong; what other packages say of each other is theirs.
    action = "default" if needs else "error"
    head = f"import warnings\nwarnings.simplefilter({action!r}, UserWarning)\n"
    # In an interpreter of its own: what the page uses it has loaded itself.
    (tmp_path / "page.py").write_text(head + "\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for file in files:
        assert (tmp_path / file).stat().st_size > 0, file
