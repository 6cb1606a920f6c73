"""The notebooks of docs/notebooks, run from top to bottom on small grids. Their own asserts are the checks."""

import pytest
from helpers import ROOT

for name in ("nbclient", "ipykernel", "matplotlib"):
    pytest.importorskip(name)

import nbformat  # noqa: E402
from nbclient import NotebookClient  # noqa: E402

FOLDER = ROOT / "docs/notebooks"

# What stands in place of the values of the cell tagged `parameters`.
SMALL = {
    "droplets": "CELLS = 64\nDENSITY = 2000.0",
    "knickpoints": "ROWS, COLUMNS = 64, 80\nWATCHED, STEP = 600e3, 6e3",
    "lakes": "ROWS, COLUMNS = 50, 60",
    "steady_state": "ROWS, COLUMNS = 36, 48",
}

#: Those that ship with their pictures.
RENDERED = {"knickpoints", "steady_state"}


def test_every_notebook_is_run():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(SMALL)


def read(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


@pytest.mark.parametrize("name", SMALL)
def test_the_notebook_runs(name, tmp_path):
    notebook = read(name)
    tagged = [k for k, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) == 1
    own = {line.split(" = ")[0] for line in notebook.cells[tagged[0]].source.splitlines()}
    assert all(line.split(" = ")[0] in own for line in SMALL[name].splitlines()), "a parameter that the notebook does not have"
    notebook.cells.insert(tagged[0] + 1, nbformat.v4.new_code_cell(SMALL[name]))
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    words = "".join(output.text for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs if output.output_type == "stream")
    assert "Warning" not in words, words


@pytest.mark.parametrize("name", SMALL)
def test_the_file_is_in_order(name):
    notebook = read(name)
    nbformat.validate(notebook)
    assert (FOLDER / f"{name}.ipynb").stat().st_size <= 400_000
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert 15 <= len(notebook.cells) <= 25 and any("assert" in cell.source for cell in code)
    pictures = sum("image/png" in output.get("data", {}) for cell in code for output in cell.outputs)
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    assert pictures >= 4 if name in RENDERED else not any(cell.outputs or cell.execution_count for cell in code)
    assert "/home/" not in str(notebook) and "/tmp/" not in str(notebook)
