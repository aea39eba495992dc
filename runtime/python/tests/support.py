"""Code shared by the tests."""

import os
import subprocess
import sys
import textwrap
import threading

# What PyTorch's operators make of our std::invalid_argument: ValueError in PyTorch 2.11.
OPERATOR_ERRORS = (RuntimeError, ValueError)


def run_alone(
    program: str, *options: str, timeout: int = 120, **variables: str
) -> subprocess.CompletedProcess:
    """Runs a program in a new interpreter with these options and environment variables."""
    return subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **variables},
    )


def run_in_threads(work, threads: int) -> None:
    """Calls `work` 50 times in each of several threads at once, and raises their exceptions."""
    failures = []

    def repeat():
        try:
            for _ in range(50):
                work()
        except BaseException as error:  # pytest.raises() raises no Exception
            failures.append(error)

    running = [threading.Thread(target=repeat) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not failures, failures
