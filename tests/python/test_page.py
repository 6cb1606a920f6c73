"""The blocks of docs/python.md, run in their order as they stand there."""

import pathlib
import re
import shutil
import warnings

import pytest

for name in ("xarray", "rioxarray", "geopandas"):
    pytest.importorskip(name)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/python.md"


def test_the_page_runs_as_written(tmp_path, monkeypatch):
    shutil.copy(ROOT / "crates/thalweg/presets/jacksboro.tif", tmp_path)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 10
    import rioxarray  # noqa: F401  (the page calls `.rio`, which a user has loaded with it)

    names = {"__name__": "page"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), names)
    assert (tmp_path / "hills.png").is_file() and (tmp_path / "map.png").is_file()
