"""prepare and tune_all: many problems are tuned before they are needed."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, Callable, Union, overload

from . import _arrays, _core
from ._errors import Error, InvalidArgumentError, NoDeviceError
from ._matmul import Policy, Rigor, plan
from ._programs import path_of
from ._progress import Line, Progress, in_thread

Path = Union[str, "os.PathLike[str]"]
Row = dict[str, Any]
# The element types of arguments that are given as shapes; the others have that of the result.
TYPES_OF_SCALES = {"scale_a": "float32", "scale_b": "float32"}
OMITTED_IN_TEXT = ("alpha", "slope", "out_dtype", "policy", "name", "accepted_loss", "context")
MAY_BE_SHAPES = ("out", "bias", *TYPES_OF_SCALES)


@overload
def prepare(problems: Path, *, progress: Progress = ...) -> list[Row]: ...
@overload
def prepare(
    problems: Iterable[Any],
    *,
    progress: Progress = ...,
    policy: Policy = ...,
    context: _core.Context | None = ...,
) -> list[_core.Plan]: ...
def prepare(
    problems: Path | Iterable[Any],
    *,
    progress: Progress = True,
    policy: Policy = "default",
    context: _core.Context | None = None,
) -> Any:
    """Tunes or loads the kernels of problems before they are needed, so that their first calls
    launch at once.

    problems: dicts of arguments of plan(), or tuples (a, b). Shapes and a type may replace the
        arrays and need no memory: ((512, 4096), (4096, 1024), "bfloat16") or
        {"a": (512, 4096), "b": (4096, 1024), "dtype": "bfloat16", "layout": "nt", "name": "qkv"}.
        layout has a letter for a and for b: t if the matrix is stored transposed, else n. A problem
        may also be a text, with the fields of a list of shapes:
        "types=bf16 layout=nt m=512 n=1024 k=4096", or {"problem": text, "device": "cuda:1"}.
        device is "host", "cuda" or "cuda:1". The default is the context's device; without a
        context, the first GPU, else the host. bias, out, scale_a and scale_b may be shapes, too;
        c must be an array, unless it is out. The path of a list file is passed to tune_all(), and
        its rows are returned.
    progress: True draws a line on stderr if that is a terminal, or a bar in a notebook if tqdm is
        installed; False draws nothing. A callable gets a named tuple (done, total, problem,
        elapsed, left) when each problem begins, and at the end.
    policy, context: as for plan().

    Returns the plans, in the order of the problems. Ctrl-C ends the call after the current problem,
    a second Ctrl-C at once; finished tunings are stored."""
    if isinstance(problems, (str, os.PathLike)):
        if context is not None or policy != "default":
            raise ValueError(
                "a list file is tuned by a program of its own, without a context or a policy; call "
                "tune_all with its options"
            )
        return tune_all(problems, progress=progress)
    wanted = [_named(problem) for problem in problems]
    lacks_device = context is None and any(map(_lacks_device, wanted))
    device = _first_device() if lacks_device else "host"
    plans: list[_core.Plan] = []
    with Line(progress, len(wanted)) as line, _announced(wanted, device, policy, context):
        for given in wanted:
            arguments = _with_placeholders(given, device)
            text = _text_of(arguments)
            line.show(len(plans), len(wanted), text)
            plans.append(line.wait_for(in_thread(_plan, text, arguments, policy, context)))
        line.show(len(plans), len(wanted), "")
    return plans


@contextlib.contextmanager
def _announced(
    wanted: Sequence[dict[str, Any]], device: str, policy: Policy, context: _core.Context | None
) -> Iterator[None]:
    """While a GPU tunes a problem, its compilers begin with the next one of its context."""
    texts: dict[_core.Context | int, list[str]] = {}
    for given in wanted if len(wanted) > 1 and policy in ("default", "tune") else ():
        with contextlib.suppress(Exception):  # its plan raises it
            arguments = _with_placeholders(given, device)
            place = arguments.get("context", context)
            if place is None:
                place = _core.ordinal_of(arguments.get("device", arguments.get("a")))
            texts.setdefault(place, []).append(_problem_text(arguments))

    def announce(place: _core.Context | int, of_place: list[str]) -> None:
        with contextlib.suppress(Exception):  # the plans raise it
            in_thread(_core.announce, place, policy, of_place).result()

    try:
        for place, of_place in texts.items():
            announce(place, of_place)
        yield
    finally:
        for place in texts:
            announce(place, [])


def _problem_text(arguments: Mapping[str, Any]) -> str:
    if "problem" in arguments:
        return str(arguments["problem"])
    given = {name: value for name, value in arguments.items() if name not in OMITTED_IN_TEXT}
    return _core.problem_text(
        **{"out": None, **given, "activation": given.get("activation") or "none"}
    )


def _plan(
    text: str, arguments: dict[str, Any], policy: Policy, context: _core.Context | None
) -> _core.Plan:
    try:
        if "problem" in arguments:
            return _core.Plan.of_text(**{"policy": policy, "context": context, **arguments})
        return plan(**{"policy": policy, "context": context, **arguments})
    except (Error, TypeError, ValueError) as error:
        raise type(error)(f"{text}: {error}") from error


def _named(problem: Any) -> dict[str, Any]:
    if isinstance(problem, str):
        return {"problem": problem}
    if isinstance(problem, Mapping):
        return dict(problem)
    if not isinstance(problem, (tuple, list)) or len(problem) not in (2, 3):
        raise TypeError(
            f"a problem is {problem!r}; give a dict of arguments of plan(), a tuple (a, b), two "
            "shapes and a type, or a text"
        )
    return dict(zip(("a", "b", "dtype"), problem))


def _is_shape(value: Any) -> bool:
    return isinstance(value, (tuple, list))


def _lacks_device(arguments: Mapping[str, Any]) -> bool:
    return "device" not in arguments and ("problem" in arguments or _is_shape(arguments.get("a")))


def _first_device() -> str:
    try:
        with _core.Context("cuda", cache=""):
            return "cuda"
    except NoDeviceError:
        return "host"


def _with_placeholders(arguments: dict[str, Any], device: str) -> dict[str, Any]:
    """The arguments of plan(), with placeholders in place of shapes."""
    if "problem" in arguments:
        return {"device": device, **arguments}
    shapes = {name for name in ("a", "b") if _is_shape(arguments.get(name))}
    if not shapes:
        return arguments
    arguments = dict(arguments)
    if shapes != {"a", "b"} or "dtype" not in arguments:
        raise TypeError(
            "a problem without arrays needs the shapes of a and b, and dtype, their element type"
        )
    if _is_shape(arguments.get("c")):
        raise TypeError(
            "c is a shape; pass an array, or leave it out if the product is added to out"
        )
    dtype, layout, device = (
        _arrays.name_of_type(arguments.pop("dtype")),
        arguments.pop("layout", "nn"),
        arguments.pop("device", device),
    )
    if not isinstance(device, str):
        raise TypeError(
            f"device is a {type(device).__name__}; give a string: 'host', 'cuda' or 'cuda:1'"
        )
    if layout not in ("nn", "nt", "tn", "tt"):
        raise ValueError(
            f"layout is {layout!r}; write nn, nt, tn or tt: t for a matrix that is stored "
            "transposed"
        )
    result_type = arguments.get("out_dtype")
    result_type = (
        _core.result_type(dtype) if result_type is None else _arrays.name_of_type(result_type)
    )
    arguments["a"], arguments["b"] = (
        _core.Placeholder(arguments[name], dtype, device, transposed=order == "t")
        for name, order in zip("ab", layout)
    )
    if "out" not in arguments:
        with contextlib.suppress(ValueError):  # plan() says what is wrong
            arguments["out"] = _core.shape_of_result(arguments["a"], arguments["b"])
    for name in MAY_BE_SHAPES:
        if _is_shape(arguments.get(name)):
            arguments[name] = _core.Placeholder(
                arguments[name], TYPES_OF_SCALES.get(name, result_type), device
            )
    return arguments


def _text_of(arguments: Mapping[str, Any]) -> str:
    """The problem in a line, such as "llama.qkv 4096x6144x4096 bfloat16"."""
    if "problem" in arguments:
        return str(arguments.get("name") or arguments["problem"])
    a: Any = arguments.get("a")
    b: Any = arguments.get("b")
    try:
        extents = f"{a.shape[-2]}x{b.shape[-1]}x{a.shape[-1]} {_arrays.name_of_type(a.dtype)}"
    except (AttributeError, IndexError):
        return str(arguments.get("name") or "a problem")  # plan() says what is wrong
    return f"{arguments['name']} {extents}" if arguments.get("name") else extents


def tune_all(
    work: Path | Sequence[str] | Iterable[Mapping[str, Any]],
    *,
    cache: Path | None = None,
    device: str | None = None,
    rigor: Rigor | None = None,
    progress: Progress = True,
    **options: Any,
) -> list[Row]:
    """Runs the program tune-all of this package: tunes a list of shapes and stores the winners in
    the cache.

    work: the path of a list (CSV, JSON or TunableOp's), dicts with the fields of a list, or
        arguments of the program as strings.
    cache, device, rigor: as for Context.
    options: other options of `tune-all --help`, with underscores: total_seconds=600,
        m_ladder="auto"; tune_all([], from_requests=True).
    progress: as for prepare(), but a callable is called when a shape ends, in another thread.

    Returns a dict for each shape: its name, its outcome ("tuned", "cached", "tuned elsewhere" or
    "no winner"), the failure if it has no winner, and the winner's columns, such as config and
    median_us. Raises tunedgemm.Error with the program's message if the program fails. Ctrl-C ends
    it after the current candidate; finished tunings are stored, and the same call continues from
    there."""
    options.update(cache=cache, device=device, rigor=rigor)
    with tempfile.TemporaryDirectory(prefix="tunedgemm-") as folder:
        arguments = [
            *_work_arguments(work, pathlib.Path(folder)),
            "--json",
            *_option_arguments(options),
        ]
        with open(os.path.join(folder, "rows.json"), "w+", encoding="utf-8") as output:
            status, messages = _run([path_of("tune-all"), *arguments], output, progress)
            output.seek(0)
            text = output.read()
    if status not in (0, 1):
        kind = {2: InvalidArgumentError, 3: NoDeviceError}.get(status, Error)
        raise kind("\n".join(messages) or f"tune-all ended with status {status}")
    return [
        {
            "name": row["name"],
            "outcome": row["outcome"],
            "failure": row["failure"],
            "problem": row["problem"],
            **(row["record"] or {}),
        }
        for row in json.loads(text or "[]")
    ]


def _work_arguments(work: Any, folder: pathlib.Path) -> list[str]:
    if isinstance(work, (str, os.PathLike)):
        return [os.fspath(work)]
    work = list(work)
    if all(isinstance(one, (str, os.PathLike)) for one in work):
        return [os.fspath(one) for one in work]
    path = folder / "shapes.json"
    path.write_text(json.dumps([dict(one) for one in work], default=str), encoding="utf-8")
    return [str(path)]


def _option_arguments(options: Mapping[str, Any]) -> list[str]:
    arguments = []
    for name, value in options.items():
        if value is not None and value is not False:
            flag = "--" + name.replace("_", "-")
            arguments.append(
                flag
                if value is True
                else f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}"
            )
    return arguments


def _run(command: list[str], output: IO[str], progress: Progress) -> tuple[int, list[str]]:
    """The exit status, and the messages on stderr other than progress."""
    # The program gets a session of its own. Else a terminal's Ctrl-C would reach it twice, once
    # through this process, and the second one ends it at once.
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    try:
        with Line(progress, 0, "after ") as line:
            messages = line.wait_for(
                in_thread(_read_messages, process, line.show),
                lambda: process.send_signal(signal.SIGINT),
            )
    finally:
        process.kill()
        process.wait()
    return process.wait(), messages


def _read_messages(
    process: subprocess.Popen[str], show: Callable[[int, int, str], None]
) -> list[str]:
    messages = []
    assert process.stderr is not None
    with process.stderr:
        for text in process.stderr:
            shape = re.match(r"(\d+)/(\d+)  (.*?)  ", text)
            if shape:
                show(int(shape[1]), int(shape[2]), shape[3])
            else:
                messages.append(text.rstrip())
    process.wait()
    return messages
