"""tunedgemm.cache beside a file that the library writes."""

import fcntl
import os
import pathlib
import re
import sqlite3
import subprocess
import sys

import numpy
import pytest

import tunedgemm
from tunedgemm import cache


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A cache with one winner and one request."""
    path = tmp_path_factory.mktemp("cache") / "cache #1?.db"
    small, large = numpy.ones((8, 16), "float32"), numpy.ones((16, 24), "float32")
    with tunedgemm.Context(
        "host", cache=str(path), policy="tune", seconds=30, candidates=2
    ) as context:
        tunedgemm.matmul(small, large, context=context)
    with tunedgemm.Context("host", cache=str(path), policy="compile") as context:
        tunedgemm.plan(large, large.T.copy(), context=context, name="a layer")
    return path


def test_best(file):
    (row,) = cache.best(file)
    assert (row["m"], row["n"], row["k"], row["types"]) == (8, 24, 16, "f32→f32 ieee") and row[
        "median_us"
    ] > 0
    assert cache.best(str(file), m=8, n=24) == [row]
    assert cache.best(file, m=9) == []
    assert cache.best(file, rigor="'; DROP TABLE winner; --") == []


def test_other_views(file):
    (missing,) = cache.missing(file)
    assert (missing["m"], missing["n"], missing["k"], missing["name"]) == (16, 16, 24, "a layer")
    assert {row["m"] for row in cache.trials(file, status="finalist")} == {8}
    (coverage,) = cache.coverage(file)
    assert (coverage["tuned"], coverage["missing"]) == (1, 1)
    (meaning,) = cache.help(file, view="best", column="median_us")
    assert "us" in meaning["unit"]
    assert cache.stale(file) == [] and isinstance(cache.failures(file), list)


def test_frame(file):
    pandas = pytest.importorskip("pandas")
    frame = cache.best(file, as_frame=True)
    assert isinstance(frame, pandas.DataFrame) and list(frame["m"]) == [8]
    assert "config" in cache.best(file, as_frame=True, m=9).columns


def test_numbers_that_no_row_has_are_floats(file):
    pytest.importorskip("pandas")
    (row,) = cache.best(file)
    assert row["vs_vendor"] is None
    frame = cache.best(file, as_frame=True)
    assert frame["vs_vendor"].dtype == "float64" and frame["vs_vendor"].isna().all()
    assert frame["config"].tolist() == [row["config"]] and frame["m"].dtype == "int64"


def test_rows_are_a_table_in_a_notebook(tmp_path):
    path, shape = tmp_path / "cache.db", {"problem": "types=f32 m=4 n=5 k=6", "device": "host"}
    with tunedgemm.Context("host", cache=path, policy="compile") as context:
        tunedgemm.prepare([{**shape, "name": "<b>qkv</b> & more"}], context=context)
    rows = cache.missing(path)
    text = rows._repr_html_()
    assert text.startswith("<table><thead><tr><th>device</th><th>m</th><th>n</th><th>k</th>")
    assert "<td>4</td><td>5</td><td>6</td>" in text and "None" not in text
    assert "<td>&lt;b&gt;qkv&lt;/b&gt; &amp; more</td>" in text
    assert text.count("<td>") == text.count("<th>") == len(rows[0])
    assert "<th>m</th>" in cache.missing(path, m=7)._repr_html_()  # no rows


def test_a_file_in_use_can_be_read(file):
    with tunedgemm.Context("host", cache=str(file)):
        assert len(cache.best(file)) == 1


def test_default_path_is_the_library_s(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variables in (
        {"TUNEDGEMM_CACHE": "relative.db"},
        {"XDG_CACHE_HOME": str(tmp_path / "xdg")},
        {"XDG_CACHE_HOME": "relative", "HOME": str(tmp_path)},
        {"HOME": str(tmp_path / "home")},
    ):
        for name in ("TUNEDGEMM_CACHE", "XDG_CACHE_HOME", "HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with tunedgemm.Context("host") as context:
            assert f" {cache.default_path()} (" in context.report()
        assert cache.best() == []
    monkeypatch.delenv("HOME")
    assert cache.default_path() is None
    with pytest.raises(FileNotFoundError, match="neither TUNEDGEMM_CACHE nor HOME"):
        cache.best()


def test_wrong_files(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"no cache at .*absent\.db: nothing has been tuned"
    ):
        cache.best(tmp_path / "absent.db")
    assert not os.path.exists(tmp_path / "absent.db")
    text = tmp_path / "text"
    text.write_text("not a database" * 100)
    with pytest.raises(tunedgemm.Error, match="text cannot be read: file is not a database"):
        cache.missing(text)
    other = tmp_path / "other.db"
    sqlite3.connect(other).executescript("CREATE TABLE best (m)").close()
    with pytest.raises(ValueError, match="is a database, but no cache of tunedgemm"):
        cache.best(other)


def test_wrong_columns(file):
    with pytest.raises(TypeError, match="best has no column rows; it has device, m, n, k"):
        cache.best(file, rows=8)


def test_reading_keeps_the_locks_of_this_process(file):
    with open(file, "r+b") as locked:
        fcntl.lockf(locked, fcntl.LOCK_EX, 1, 1 << 40)
        cache.best(file)
        other = (
            "import fcntl, sys\nfile = open(sys.argv[1], 'r+b')\n"
            "fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 1 << 40)"
        )
        command = [sys.executable, "-c", other, file]
        done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
        assert b"BlockingIOError" in done.stderr


def test_views_are_those_of_the_library():
    folder = pathlib.Path(__file__).parents[3] / "cache/sqlite"
    source = "".join(file.read_text(encoding="utf-8") for file in folder.glob("*.cpp"))
    for view in set(cache.__all__) - {"default_path"}:
        assert re.search(rf"CREATE VIEW {view}\b", source)
