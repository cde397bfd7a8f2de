"""Files appear whole or not at all, keep their permissions, and do not replace one that appeared meanwhile."""

import os

import pytest

from preflearn._disk import atomic_file
from preflearn.exceptions import DataError


@pytest.fixture(params=[True, False], ids=["hard links", "no hard links"])
def links(request, monkeypatch):
    if not request.param:

        def refuse(*_):
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)


def write(path, content, **options):
    with atomic_file(path, **options) as stream:
        stream.write(content)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_file_that_is_replaced_keeps_its_permissions(mode, tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes(b"old")
    path.chmod(mode)
    with atomic_file(path) as stream:
        stream.write(b"new")
        (temporary,) = (one for one in tmp_path.iterdir() if one != path)
        assert temporary.stat().st_mode & 0o777 == mode, "nobody else may read what is being written"
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", mode)


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path, links):
    (tmp_path / "usual").touch()
    write(tmp_path / "one", b"", overwrite=True)
    write(tmp_path / "other", b"", overwrite=False)
    assert len({path.stat().st_mode for path in tmp_path.iterdir()}) == 1


def test_a_file_that_appeared_meanwhile_stays(tmp_path, links):
    path = tmp_path / "r.csv"

    def meanwhile():
        with atomic_file(path, overwrite=False) as stream:
            stream.write(b"mine")
            path.write_bytes(b"theirs")

    with pytest.raises(DataError, match=r"r\.csv: the file exists already\. Replace it with overwrite=True"):
        meanwhile()
    assert [(one, one.read_bytes()) for one in tmp_path.iterdir()] == [(path, b"theirs")]
    write(path, b"mine")
    assert path.read_bytes() == b"mine"


def test_a_file_that_is_not_there_is_made(tmp_path, links):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link", b"mine", overwrite=False)
    assert {one.name for one in tmp_path.iterdir()} == {"link", "real"}
    assert (tmp_path / "real").read_bytes() == b"mine"
