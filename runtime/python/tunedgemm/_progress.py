"""One line of progress on a terminal or in a notebook, for work that takes minutes."""

from __future__ import annotations

import concurrent.futures
import os
import sys
import threading
import time
from typing import Any, Callable, NamedTuple, Union


class State(NamedTuple):
    """The argument of a callable given as `progress`. prepare calls it when a problem begins and at
    the end, tune_all when a shape ends."""

    done: int
    total: int
    problem: str  # the problem or shape that begins or ends; empty at the end of prepare
    elapsed: float  # seconds
    left: float | None  # seconds, estimated; None before the first one is done


Progress = Union[bool, Callable[[State], object]]
BETWEEN_DRAWINGS = 0.25  # seconds


def in_thread(work: Callable[..., Any], *arguments: Any) -> concurrent.futures.Future[Any]:
    """The future result of a call in a new thread. The interpreter ends without waiting for that
    thread, so that a second Ctrl-C ends the program."""
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def run() -> None:
        try:
            future.set_result(work(*arguments))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="tunedgemm", daemon=True).start()
    return future


def bar_of_notebook() -> Any:
    """A bar of tqdm that is drawn in the notebook that runs this program; None elsewhere, and
    without tqdm."""
    ipython: Any = sys.modules.get("IPython")
    if ipython is None or not hasattr(ipython.get_ipython(), "kernel"):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=1, leave=False, bar_format="{desc} {bar}")


class Line:
    """Draws the state on stderr if that is a terminal, or by tqdm in a notebook, or passes it to a
    callable."""

    def __init__(self, progress: Progress, total: int, prefix: str = ""):
        self._report = progress if callable(progress) else None
        self._bar = bar_of_notebook() if progress is True else None
        self._is_drawn = progress is True and self._bar is None and sys.stderr.isatty()
        self._begin = time.monotonic()
        self._done, self._total, self._problem, self._note = 0, total, "", ""
        self._prefix = prefix

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()
        if self._is_drawn:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)

    def show(self, done: int, total: int, problem: str) -> None:
        self._done, self._total, self._problem = done, total, problem
        if self._report:
            self._report(self.state())
        self._draw()

    def state(self) -> State:
        elapsed = time.monotonic() - self._begin
        left = elapsed / self._done * (self._total - self._done) if self._done else None
        return State(self._done, self._total, self._problem, elapsed, left)

    def wait_for(
        self, future: concurrent.futures.Future[Any], interrupt: Callable[[], object] = lambda: None
    ) -> Any:
        """The future's result. The first Ctrl-C calls `interrupt` and raises KeyboardInterrupt when
        the future is done; the second one raises it at once."""
        try:
            self._draw_until(future)
        except KeyboardInterrupt:
            self._note = "stopping after this one"
            interrupt()
            self._draw_until(future)
            raise
        return future.result()

    def _draw_until(self, future: concurrent.futures.Future[Any]) -> None:
        while not concurrent.futures.wait([future], BETWEEN_DRAWINGS).done:
            self._draw()

    def _draw(self) -> None:
        problem = self._note or (self._problem and self._prefix + self._problem)
        if self._is_drawn:
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
            text = text_of(self.state(), width - 1, problem)
            print("\r\x1b[2K" + text, end="", file=sys.stderr, flush=True)
        elif self._bar is not None:
            self._bar.n = self._done / (self._total or 1)
            self._bar.set_description_str(text_of(self.state(), 100, problem))  # room for the bar


def text_of(state: State, width: int, problem: str) -> str:
    """At most `width` characters; the problem is shortened first."""
    number = f"{min(state.done + 1, state.total)}/{state.total} " if state.total else ""
    times = f"  {clock(state.elapsed)} elapsed" + (
        "" if state.left is None else f", {clock(state.left)} left"
    )
    room = width - len(number) - len(times)
    if len(problem) > room:
        problem = problem[: max(room - 1, 0)] + "…"
    return (number + problem + times)[:width]


def clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
