"""prepare and tune_all."""

import contextlib
import gc
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import types

import ml_dtypes
import numpy
import pytest

import tunedgemm
from tunedgemm import _core, _programs, _progress

TUNE = {
    "device": "host",
    "rigor": "quick",
    "budget_seconds": 30,
    "candidates": 2,
    "progress": False,
}
HOST = _core.ordinal_of("host")
SHAPE = {"types": "f32", "m": 8, "n": 8, "k": 8}


def command_lines():
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process has ended
            yield path.read_bytes()


def rows_of(m, n, k):
    return [{**SHAPE, "m": m, "n": n, "k": k, "name": "a layer"}]


def test_arrays():
    a, b = numpy.ones((6, 5), "float32"), numpy.ones((5, 7), "float32")
    first, second = tunedgemm.prepare([(a, b), {"a": a, "b": b, "activation": "relu"}])
    numpy.testing.assert_array_equal(first.run(a, b), a @ b)
    numpy.testing.assert_array_equal(second.run(a, -b), 0 * (a @ b))


@pytest.mark.parametrize(
    "dtype,batch",
    [
        ("float64", ()),
        ("float32", (3,)),
        ("float16", ()),
        ("bfloat16", ()),
        ("float8_e4m3fn", ()),
        ("float8_e5m2", ()),
        ("int8", ()),
    ],
)
def test_shapes_are_those_of_arrays(dtype, batch):
    (plan,) = tunedgemm.prepare(
        [{"a": (*batch, 16, 32), "b": (32, 16), "dtype": dtype, "device": "host"}]
    )
    a, b = (
        numpy.ones((*batch, 16, 32), getattr(ml_dtypes, dtype, dtype)),
        numpy.ones((32, 16), getattr(ml_dtypes, dtype, dtype)),
    )
    out = plan.run(a, b)  # refuses arrays of another problem
    assert out.shape == (*batch, 16, 16) and (out == 32).all()


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_layouts(layout):
    (plan,) = tunedgemm.prepare(
        [{"a": (6, 8), "b": (8, 4), "dtype": numpy.float32, "layout": layout, "device": "host"}]
    )
    a, b = (
        numpy.ones(shape, "float32", order="F" if order == "t" else "C")
        for shape, order in zip([(6, 8), (8, 4)], layout)
    )
    assert (plan.run(a, b) == 8).all()


def test_epilogue_of_shapes():
    (plan,) = tunedgemm.prepare(
        [
            {
                "a": (6, 8),
                "b": (8, 4),
                "dtype": "float16",
                "out_dtype": "float32",
                "bias": (4,),
                "scale_a": (1,),
                "c": numpy.ones((6, 4), "float32"),
                "beta": 1,
                "device": "host",
            }
        ]
    )
    a, b, two = (
        numpy.ones((6, 8), "float16"),
        numpy.ones((8, 4), "float16"),
        numpy.full(1, 2, "float32"),
    )
    d = plan.run(a, b, bias=numpy.ones(4, "float32"), c=numpy.ones((6, 4), "float32"), scale_a=two)
    assert d.dtype == numpy.float32 and (d == 18).all()


def test_wrong_problems_are_named():
    with pytest.raises(TypeError, match="a problem is 5; give a dict"):
        tunedgemm.prepare([5])
    with pytest.raises(TypeError, match="needs the shapes of a and b, and dtype"):
        tunedgemm.prepare([((4, 4), (4, 4))])
    with pytest.raises(TypeError, match="c is a shape; pass an array"):
        tunedgemm.prepare([{"a": (4, 4), "b": (4, 4), "dtype": "float32", "c": (4, 4), "beta": 1}])
    with pytest.raises(ValueError, match="layout is 'x'"):
        tunedgemm.prepare([{"a": (4, 4), "b": (4, 4), "dtype": "float32", "layout": "x"}])
    with pytest.raises(ValueError, match="dtype is float31"):
        tunedgemm.prepare([((4, 4), (4, 4), "float31")])
    with pytest.raises(ValueError, match="device is 'gpu'"):
        tunedgemm.prepare([{"a": (4, 4), "b": (4, 4), "dtype": "float32", "device": "gpu"}])
    with pytest.raises(ValueError, match="a layer 4x6x4 float32: a of shape"):
        tunedgemm.prepare([{"a": (4, 4), "b": (5, 6), "dtype": "float32", "name": "a layer"}])
    for text, message in (
        ("types=f32 m=4 n=4", "has no k; add k="),
        ("m=4 n=4 k=4", "has no types; add types="),
        ("types=f31 m=4 n=4 k=4", 'types is "f31"'),
    ):
        with pytest.raises(ValueError, match=message):
            tunedgemm.prepare([text])
    with pytest.raises(tunedgemm.NotTunedError, match="3x5x4 float32: "):
        tunedgemm.prepare([((3, 4), (4, 5), "float32")], policy="fail")


def test_progress_is_reported():
    states = []
    named = {"a": (4, 4), "b": (4, 8), "dtype": "float32", "name": "x"}
    tunedgemm.prepare([((4, 4), (4, 4), "float32"), named], progress=states.append)
    assert [state[:3] for state in states] == [
        (0, 2, "4x4x4 float32"),
        (1, 2, "x 4x8x4 float32"),
        (2, 2, ""),
    ]
    assert states[0].left is None and states[-1].left == 0


@pytest.fixture
def announced(monkeypatch):
    """The calls of announce(): the context or the device, and the texts."""
    calls = []

    def announce(context, policy, texts):
        calls.append((context, texts))
        _core.announce(context, policy, texts)

    monkeypatch.setattr("tunedgemm._prepare._core", types.SimpleNamespace(**vars(_core)))
    monkeypatch.setattr("tunedgemm._prepare._core.announce", announce)
    return calls


def test_problems_are_announced_to_the_contexts_of_their_plans(announced):
    text = "types=f32 m=4 n=5 k=6"
    a, b = numpy.ones((4, 6), "float32"), numpy.ones((6, 5), "float32")
    with tunedgemm.Context("host", cache="") as other:
        plans = tunedgemm.prepare(
            [
                {"a": (4, 6), "b": (6, 5), "dtype": "float32", "bias": (5,), "device": "host"},
                {"problem": text, "device": "host", "name": "a layer"},
                (a, b),
                {"a": a, "b": b, "activation": "relu", "context": other},
            ]
        )
        assert len(plans) == 4
        assert announced == [
            (HOST, [f"{text} bias=col", text, text]),
            (other, [f"{text} activation=relu"]),
            (HOST, []),
            (other, []),
        ]


def test_wrong_problems_raise_when_it_is_their_turn(announced):
    texts = ["types=f32 m=4 n=4 k=7", "types=f31 m=4 n=4 k=4"]
    problems = [{"problem": text, "device": "host"} for text in texts]
    states = []
    with pytest.raises(ValueError, match='types is "f31"'):
        tunedgemm.prepare(problems, progress=states.append)
    assert [state.problem for state in states] == texts
    assert announced == [(HOST, texts), (HOST, [])]


def test_announcements_end_with_an_interrupt(announced):
    def interrupt(state):
        if state.done == 1:
            raise KeyboardInterrupt

    shape = {"a": (4, 4), "b": (4, 4), "dtype": "float32", "device": "host"}
    with pytest.raises(KeyboardInterrupt):
        tunedgemm.prepare([shape, shape, shape], progress=interrupt)
    assert announced[-1] == (HOST, [])


def test_nothing_is_announced_unless_problems_may_be_tuned(announced):
    shape = {"a": (4, 4), "b": (4, 4), "dtype": "float32", "device": "host"}
    tunedgemm.prepare([shape])
    tunedgemm.prepare([shape, shape], policy="compile")
    assert announced == []


def test_the_line_fits_the_terminal():
    state = _progress.State(11, 40, "llama.qkv 4096x6144x4096 bf16", 31.4, 3670.0)
    assert (
        _progress.text_of(state, 100, state.problem)
        == "12/40 llama.qkv 4096x6144x4096 bf16  0:31 elapsed, 1:01:10 left"
    )
    assert (
        _progress.text_of(state, 50, state.problem)
        == "12/40 llama.qkv 4096x…  0:31 elapsed, 1:01:10 left"
    )
    for width in range(60):
        assert len(_progress.text_of(state, width, state.problem)) <= width


def test_nothing_is_drawn_beside_a_terminal(capfd):
    tunedgemm.prepare([((4, 4), (4, 4), "float32")])
    assert capfd.readouterr() == ("", "")


def test_a_line_is_drawn_on_a_terminal():
    controller, terminal = os.openpty()
    program = "import tunedgemm; tunedgemm.prepare([((4, 4), (4, 4), 'float32')])"
    subprocess.run([sys.executable, "-c", program], stderr=terminal, check=True)
    os.close(terminal)
    assert os.read(controller, 1000).startswith(
        b"\r\x1b[2K1/1 4x4x4 float32  0:00 elapsed\r\x1b[2K"
    )
    os.close(controller)


def test_tune_all_draws_a_line(tmp_path):
    controller, terminal = os.openpty()
    program = (
        "import tunedgemm; tunedgemm.tune_all(['--m=8,9', '--n=8', '--k=8'], "
        f"cache={str(tmp_path / 'cache.db')!r}, device='host', rigor='quick', candidates=2)"
    )
    subprocess.run([sys.executable, "-c", program], stderr=terminal, check=True)
    os.close(terminal)
    drawn = os.read(controller, 10000).decode().split("\r\x1b[2K")
    os.close(controller)
    assert (
        any(text.startswith("2/2 after 8x8x8 f32→f32 ieee nn  0:0") for text in drawn)
        and drawn[-1] == ""
    )


def test_an_interrupt_waits_for_the_product():
    line, result = _progress.Line(False, 1), _progress.concurrent.futures.Future()
    interrupts = []
    gc.collect()  # an interrupt in the callback of a weak reference would be lost
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    threading.Timer(0.6, result.set_result, (5,)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        line.wait_for(result, lambda: interrupts.append(time.monotonic() - begin))
    assert result.done() and len(interrupts) == 1 and interrupts[0] < 0.5


def test_tune_all_of_dicts(tmp_path):
    cache = tmp_path / "cache.db"
    (row,) = tunedgemm.tune_all(rows_of(8, 12, 16), cache=cache, **TUNE)
    assert row["name"] == "a layer" and row["outcome"] == "tuned" and row["failure"] == ""
    assert (row["m"], row["n"], row["k"]) == (8, 12, 16) and row["median_us"] > 0
    (again,) = tunedgemm.tune_all(rows_of(8, 12, 16), cache=cache, **TUNE)
    assert again["outcome"] == "cached" and again["config"] == row["config"]
    assert [best["m"] for best in tunedgemm.cache.best(cache)] == [8]


def test_tune_all_of_a_list_and_of_arguments(tmp_path):
    shapes = tmp_path / "list.csv"
    shapes.write_text("f32,nn,8,4,4\nf32,nn,9,4,4\n")
    states = []
    rows = tunedgemm.tune_all(
        shapes, cache=tmp_path / "cache.db", **{**TUNE, "progress": states.append}
    )
    assert [row["m"] for row in rows] == [8, 9]
    assert [state[:3] for state in states] == [
        (1, 2, "9x4x4 f32→f32 ieee nn"),
        (2, 2, "8x4x4 f32→f32 ieee nn"),
    ]  # the larger first
    rows = tunedgemm.tune_all(
        ["--m=8,9,10", "--n", "4", "--k", "4"], cache=tmp_path / "cache.db", **TUNE
    )
    assert [row["outcome"] for row in rows[:2]] == ["cached", "cached"] and rows[2]["m"] == 10


def test_prepare_passes_a_list_on(tmp_path, monkeypatch):
    shapes = tmp_path / "list.json"
    shapes.write_text(json.dumps(rows_of(4, 4, 4)))
    monkeypatch.setattr("tunedgemm._prepare.tune_all", lambda path, progress: (path, progress))
    assert tunedgemm.prepare(shapes, progress=False) == (shapes, False)
    with pytest.raises(ValueError, match="call tune_all with its options"):
        tunedgemm.prepare(shapes, policy="compile")


def test_failures_of_tune_all(tmp_path):
    with pytest.raises(tunedgemm.InvalidArgumentError, match=r"absent\.csv cannot be read"):
        tunedgemm.tune_all(tmp_path / "absent.csv", **TUNE)
    with pytest.raises(tunedgemm.InvalidArgumentError, match='types is "f31"; expected'):
        tunedgemm.tune_all([{**SHAPE, "types": "f31"}], **TUNE)
    with pytest.raises(tunedgemm.Error, match="no-such-option"):
        tunedgemm.tune_all(rows_of(4, 4, 4), no_such_option=True, **TUNE)


def test_an_interrupt_ends_tune_all(tmp_path):
    def interrupt(state):  # when the first shape is tuned
        if state.done == 1:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        tunedgemm.tune_all(
            ["--m=8:400:1", "--n=8", "--k=8"],
            cache=tmp_path / "cache.db",
            **{**TUNE, "progress": interrupt},
        )
    assert len(tunedgemm.cache.best(tmp_path / "cache.db")) in (1, 2)
    assert not [line for line in command_lines() if os.fsencode(tmp_path) in line]


@pytest.mark.parametrize(
    "name,text", [("tune-all", b"Tunes a list of shapes"), ("tunedgemm", b"doctor")]
)
def test_programs(name, text):
    call = f"sys.argv[1:] = ['--help']; programs.{name.replace('-', '_')}()"
    command = [sys.executable, "-c", f"import sys, tunedgemm._programs as programs; {call}"]
    assert text in subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    with pytest.raises(tunedgemm.Error, match="bin/absent is missing"):
        _programs.path_of("absent")


def test_a_replaced_stderr_is_no_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    tunedgemm.prepare([((4, 4), (4, 4), "float32")])
    assert sys.stderr.getvalue() == ""


class Bar:
    """A bar of tqdm, which keeps what it would draw."""

    def __init__(self, total, leave, bar_format):
        self.total, self.n, self.drawn, self.is_closed = total, 0, [], False
        BARS.append(self)

    def set_description_str(self, text):
        self.drawn.append((self.n, text))

    def close(self):
        self.is_closed = True


BARS = []


@pytest.fixture
def notebook(monkeypatch):
    BARS.clear()
    shell = types.SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    return shell


TWO = [((4, 4), (4, 4), "float32"), {"a": (4, 4), "b": (4, 8), "dtype": "float32", "name": "x"}]


def test_a_bar_is_drawn_in_a_notebook(notebook, capfd):
    tunedgemm.prepare(TWO)
    (bar,) = BARS
    assert bar.drawn[0] == (0, "1/2 4x4x4 float32  0:00 elapsed")
    assert (0.5, "2/2 x 4x8x4 float32  0:00 elapsed, 0:00 left") in bar.drawn
    assert bar.drawn[-1][0] == bar.total and bar.is_closed
    assert capfd.readouterr() == ("", "")


def test_a_bar_is_closed_after_a_failure(notebook):
    with pytest.raises(ValueError, match='types is "f31"'):
        tunedgemm.prepare(["types=f31 m=4 n=4 k=4"])
    assert BARS[0].is_closed


def test_no_bar_is_drawn_elsewhere(notebook, monkeypatch):
    tunedgemm.prepare(TWO, progress=False)
    tunedgemm.prepare(TWO, progress=lambda state: None)
    del notebook.kernel  # a shell of IPython in a terminal
    tunedgemm.prepare(TWO)
    notebook.kernel = None
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # not installed
    tunedgemm.prepare(TWO)
    assert BARS == []


def test_tqdm_draws_the_text(notebook, monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "tqdm.auto")
    pytest.importorskip("tqdm.auto")
    tunedgemm.prepare(TWO)
    drawn = capsys.readouterr().err.split("\r")
    assert any(text.startswith("1/2 4x4x4 float32  0:00 elapsed ") for text in drawn)


def test_names_are_those_of_the_problem_in_the_cache(tmp_path):
    def names(view):
        return [(row["m"], row["name"]) for row in view(path)]

    path = tmp_path / "cache.db"
    shape = {"a": (8, 4), "b": (4, 4), "dtype": "float32", "device": "host"}
    with tunedgemm.Context("host", cache=path, policy="tune", seconds=30, candidates=2) as context:
        tunedgemm.prepare([{**shape, "name": "now"}], context=context)
        assert names(tunedgemm.cache.best) == [(8, "now")]
    with tunedgemm.Context("host", cache=path, policy="compile") as context:
        text = {"problem": "types=f32 m=8 n=4 k=4", "name": "before"}
        tunedgemm.prepare([text], context=context)
        tunedgemm.prepare([{**shape, "name": "again"}], context=context)
        tunedgemm.plan(numpy.ones((9, 4)), numpy.ones((4, 4)), context=context, name="missed")
        # This process has the cache open.
        assert names(tunedgemm.cache.best) == [(8, "now, before, again")]
        assert names(tunedgemm.cache.missing) == [(9, "missed")]


def test_a_plan_is_a_table_in_a_notebook():
    a = numpy.ones((4, 4), "float32")
    with tunedgemm.Context("host", cache="", policy="tune", seconds=30, candidates=2) as context:
        plan = tunedgemm.plan(a, a, context=context)
        text, head = plan._repr_html_(), f"<tr><th>plan</th><th>{plan.description}</th></tr>"
    assert text.startswith(f"<table><thead>{head}</thead><tbody>")
    assert "<tr><td>origin</td><td>tuned</td></tr>" in text and "None" not in text
