"""The interpreter ends with the program's status while threads are in the library, and a forked
child holds no locks of its parent."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from support import run_alone

THREADS = """
    import threading, time, numpy, tunedgemm
    a = numpy.ones((64, 64), "f4")
    tunedgemm.matmul(a, a)
    def work():
        while True:
            try:
                {act}
            except ValueError:  # the interpreter is ending
                pass
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.1)
    {end}
    """
# Python code exports the memory of an array of bfloat16.
BF16 = "b = numpy.ones((8, 8), __import__('ml_dtypes').bfloat16); tunedgemm.matmul(b, b)"


@pytest.mark.parametrize(
    "act",
    [
        "tunedgemm.matmul(a, a)",
        "p = tunedgemm.plan(a, a); p.info; p.run(a, a)",
        BF16,
        "tunedgemm.Context('host', cache='')",
    ],
)
@pytest.mark.parametrize("end,status", [("pass", 0), ("raise SystemExit(3)", 3)])
def test_exit_beside_threads_that_multiply(act, end, status):
    for _ in range(2):  # without a remedy, nearly each aborts
        done = run_alone(THREADS.format(act=act, end=end))
        assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


@pytest.mark.parametrize("policy", ["tune", "compile"])
def test_exit_beside_a_thread_that_tunes(policy, tmp_path):
    done = run_alone(
        """
        import threading, time, numpy, tunedgemm
        a, started = numpy.ones((177, 191), "f4"), threading.Event()
        def work():
            context = tunedgemm.Context("host")
            started.set()
            tunedgemm.matmul(a, a.T, context=context)
        threading.Thread(target=work, daemon=True).start()
        started.wait()
        time.sleep(0.2)
        raise SystemExit(3)
        """,
        TUNEDGEMM_POLICY=policy,
        TUNEDGEMM_CACHE=str(tmp_path / "cache.db"),
        timeout=30,
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


def test_a_second_interrupt_ends_prepare_and_the_process(tmp_path):
    program = textwrap.dedent("""
        import sys, tunedgemm
        def show(state):
            print(state.problem, flush=True)
        problem = {"a": (1777, 1191), "b": (1191, 1333), "dtype": "float64"}
        context = tunedgemm.Context("host", rigor="normal")
        tunedgemm.prepare([problem], progress=show, policy="tune", context=context)
        """)
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TUNEDGEMM_CACHE": str(tmp_path / "cache.db")},
    )
    process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert (
        time.monotonic() - begin < 4
        and process.returncode == -signal.SIGINT
        and errors.rstrip().endswith("KeyboardInterrupt")
    ), errors


def fork_beside(prepare: str, act: str, forks: int) -> str:
    return f"""
    import os, threading, time, numpy, tunedgemm
    {prepare}
    def work():
        while True:
            {act}
    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    for _ in range({forks}):
        pid = os.fork()
        if pid == 0:
            a = numpy.ones((4, 4), "f4")
            os._exit(0 if tunedgemm.matmul(a, a)[0, 0] == 4 else 1)
        end = time.monotonic() + 20
        while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0):
            if time.monotonic() > end:
                os.kill(pid, 9)
            time.sleep(0.001)
        if ended[1]:
            print("a child ended with", ended[1])
            break
    """


def test_a_child_forked_beside_threads_that_multiply_multiplies():
    done = run_alone(fork_beside("a = numpy.ones((4, 4), 'f4')", "tunedgemm.matmul(a, a)", 30))
    assert (done.returncode, done.stdout) == (0, ""), done


def test_a_child_forked_beside_operators_of_torch_multiplies():
    pytest.importorskip("torch")
    done = run_alone(
        fork_beside(
            "import torch, tunedgemm.torch; t = torch.ones(4, 4)",
            "torch.ops.tunedgemm.mm(t, t); torch.ops.tunedgemm.tuned_linear(t, t, None, 'fail')",
            30,
        )
        + "os._exit(0)"
    )
    assert (done.returncode, done.stdout) == (0, ""), done
