"""Files and models that the tests of the command line share; each test works on copies."""

import os
import shutil
from pathlib import Path

import pytest
from cli_files import save_probable_models, save_rows_model, write_all

from preflearn.cli.main import main


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """Return a folder with data files and saved models."""
    folder = write_all(tmp_path_factory.mktemp("cli"))
    save_rows_model(folder / "rows.preflearn")
    save_probable_models(folder)
    here = Path.cwd()
    os.chdir(folder)
    try:
        assert main(["fit", "matches.csv", "--model", "rankrls", "--save", "names.preflearn"]) == 0
        assert (
            main(["fit", "matches.csv", "--items", "items.csv", "--model", "rankrls", "--save", "items.preflearn"]) == 0
        )
    finally:
        os.chdir(here)
    return folder


@pytest.fixture
def folder(shared, tmp_path, monkeypatch):
    """Return a folder of its own, as working directory, with copies of the shared files."""
    shutil.copytree(shared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREFLEARN_TRACEBACK", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """Return a function that runs a command in this process and returns exit code, output and error output."""

    def call(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
