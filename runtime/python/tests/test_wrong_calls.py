"""Wrong calls raise an exception that names the argument and the value; nothing crashes."""

import os
import pathlib
import re
import subprocess
import sys
import typing

import ml_dtypes
import numpy
import pytest

import tunedgemm
from support import run_alone
from tunedgemm._matmul import Policy, Rigor

A, B = numpy.ones((4, 3), "float32"), numpy.ones((3, 5), "float32")
BF16 = numpy.ones((4, 4), ml_dtypes.bfloat16)
READ_ONLY = numpy.zeros((4, 5), "float32")
READ_ONLY.flags.writeable = False
SHARED = numpy.ones((8, 8), "float32")


@pytest.mark.parametrize(
    "call,error,message",
    [
        (
            lambda: tunedgemm.matmul(A, A),
            ValueError,
            r"a of shape \(4, 3\) has 3 columns, but b of shape \(4, 3\) has 4 rows",
        ),
        (
            lambda: tunedgemm.matmul(A[0], B),
            ValueError,
            r"a has the shape \(3\); it must be a matrix",
        ),
        (
            lambda: tunedgemm.matmul(numpy.ones((1, 1, 4, 3), "f4"), B),
            ValueError,
            "a has the shape",
        ),
        (
            lambda: tunedgemm.matmul(A.astype("complex64"), B),
            ValueError,
            "a has elements of complex64; supported are float64",
        ),
        (lambda: tunedgemm.matmul(A.astype("int64"), B), ValueError, "int64; supported"),
        (
            lambda: tunedgemm.matmul(A, B.astype("float64")),
            tunedgemm.InvalidArgumentError,
            "A is f32, B is f64",
        ),
        (
            lambda: tunedgemm.matmul(numpy.ones((8, 6), "f4")[::2, ::2], B),
            ValueError,
            "strides of 12 and 2 elements",
        ),
        (lambda: tunedgemm.matmul(A[::-1], B), ValueError, "strides of -3 and 1 elements"),
        (
            lambda: tunedgemm.matmul(numpy.broadcast_to(A[0], (4, 3)), B),
            ValueError,
            "strides of 0 and 1 elements",
        ),
        (
            lambda: tunedgemm.matmul(numpy.ones((2, 4, 3), "f4"), numpy.ones((3, 3, 5), "f4")),
            ValueError,
            "a has 2 matrices, but the batch has 3",
        ),
        (
            lambda: tunedgemm.matmul(A, B, out=numpy.zeros((5, 4), "f4")),
            ValueError,
            r"out has the shape \(5, 4\)",
        ),
        (
            lambda: tunedgemm.matmul(A, B, out=numpy.zeros((1, 4, 5), "f4")),
            ValueError,
            r"out has the shape \(1, 4, 5\)",
        ),
        (lambda: tunedgemm.matmul(A, B, out=READ_ONLY), ValueError, "out is read-only"),
        (
            lambda: tunedgemm.matmul(A, B, out=numpy.zeros((4, 5), "f4"), out_dtype="float16"),
            ValueError,
            "out_dtype is float16",
        ),
        (
            lambda: tunedgemm.matmul(A, B, out_dtype="int32"),
            tunedgemm.InvalidArgumentError,
            "f32 inputs give an output of",
        ),
        (
            lambda: tunedgemm.matmul(SHARED[:4, :3], SHARED[:3, :5], out=SHARED[:4, :5]),
            tunedgemm.InvalidArgumentError,
            "overlap",
        ),
        (
            lambda: tunedgemm.matmul(A, B, activation="swish"),
            ValueError,
            'activation is "swish"; expected none, relu',
        ),
        (
            lambda: tunedgemm.matmul(A, B, numerics="fast"),
            tunedgemm.InvalidArgumentError,
            "numerics fast does not apply to f32",
        ),
        (
            lambda: tunedgemm.matmul(A, B, sm_limit=-1),
            tunedgemm.InvalidArgumentError,
            "sm_limit is -1; use 0, for all SMs, or more",
        ),
        (
            lambda: tunedgemm.matmul(A, B, invariant=1),
            TypeError,
            "invariant is a int; give True or False",
        ),
        (
            lambda: tunedgemm.matmul(A, B, bias=numpy.zeros(4, "f4")),
            ValueError,
            r"bias has the shape \(4\)",
        ),
        (
            lambda: tunedgemm.matmul(A, B, bias=numpy.zeros(5)),
            ValueError,
            "bias must have the element type",
        ),
        (
            lambda: tunedgemm.matmul(A, B, bias=numpy.zeros(10, "f4")[::2]),
            ValueError,
            "it must be packed",
        ),
        (
            lambda: tunedgemm.matmul(A, B, beta=1),
            ValueError,
            "beta is 1, so c or out must be given",
        ),
        (
            lambda: tunedgemm.matmul(A, B, beta=1, c=numpy.zeros((4, 4), "f4")),
            ValueError,
            r"c has the shape \(4, 4\)",
        ),
        (
            lambda: tunedgemm.matmul(BF16, BF16, beta=1, c=numpy.zeros((4, 4), "f4")),
            ValueError,
            "c must have the element type of out",
        ),
        (
            lambda: tunedgemm.matmul(A, B, beta=1, c=numpy.zeros((4, 5), BF16.dtype)),
            ValueError,
            "c must have the element type of out",
        ),
        (
            lambda: tunedgemm.matmul(A, B, scale_a=numpy.ones(2, "f4")),
            ValueError,
            "scale_a must be an array of one float32",
        ),
        (lambda: tunedgemm.matmul([[1.0]], B), TypeError, "a is a list; pass an array of numpy"),
        (lambda: tunedgemm.matmul(A, None), TypeError, "b is a NoneType"),
        (
            lambda: tunedgemm.Context("gpu"),
            ValueError,
            "device is 'gpu'; it may be one of: auto, cuda, host",
        ),
        (lambda: tunedgemm.Context("cuda:x"), ValueError, "write 'cuda:1'"),
        (lambda: tunedgemm.Context("host", policy="lazy"), ValueError, "policy is 'lazy'"),
        (lambda: tunedgemm.Context("cuda:99"), tunedgemm.NoDeviceError, "CUDA|99"),
        (
            lambda: tunedgemm.matmul(
                A, B, context=tunedgemm.Context("host", cache="", policy="fail")
            ),
            tunedgemm.NotTunedError,
            "m=4 n=5 k=3",
        ),
    ],
)
def test_answers(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_product_at_exit_is_refused():
    done = run_alone("""
        import atexit, numpy
        a = numpy.ones((4, 4), "float32")
        def late():
            try:
                tunedgemm.matmul(a, a)
            except ValueError as error:
                print(error)
        atexit.register(late)  # runs after the package's own
        import tunedgemm
        tunedgemm.matmul(a, a)
        """)
    assert done.returncode == 0 and "the interpreter is ending" in done.stdout and not done.stderr


def test_a_forked_child_multiplies():
    done = run_alone("""
        import numpy, os, tunedgemm
        a = numpy.ones((4, 4), "float32")
        tunedgemm.matmul(a, a)
        if os.fork() == 0:
            ok = (tunedgemm.matmul(a, a) == 4).all()
            os._exit(0 if ok else 1)
        print(os.wait()[1])
        """)
    assert done.returncode == 0 and done.stdout.strip() == "0", done


def test_nothing_is_printed():
    done = run_alone("""
        import numpy, tunedgemm
        a = numpy.ones((40, 40), "float32")
        tunedgemm.matmul(a, a)
        """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_pytorch_is_named_where_it_is_missing():
    program = "import sys; sys.modules['torch'] = None; import tunedgemm.torch"
    message = "ImportError: tunedgemm.torch needs PyTorch: pip install 'torch>=2.10'"
    assert run_alone(program).stderr.splitlines()[-1] == message


@pytest.mark.parametrize("argument,names", [("policy", Policy), ("rigor", Rigor)])
def test_the_types_of_arguments_have_the_names_of_the_library(argument, names):
    with pytest.raises(ValueError, match="may be one of: ") as error:
        tunedgemm.Context("host", **{argument: "x"})
    assert str(error.value).endswith(": " + ", ".join(typing.get_args(names)))


def test_mypy_knows_the_names(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "import tunedgemm\n"
        "tunedgemm.Context('host', rigor='quick', policy='tune').close()\n"
        "tunedgemm.Context('host', rigor='fast')\n"
        "tunedgemm.Context('host', policy='never')\n"
        "tunedgemm.prepare([], policy='never')\n"
        "tunedgemm.tune_all([], rigor='fast')\n"
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", tmp_path / "cache", program],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "MYPYPATH": str(pathlib.Path(tunedgemm.__file__).parents[1])},
    ).stdout
    wrong = {int(line) for line in re.findall(r"program\.py:(\d+): error", checked)}
    assert wrong == {3, 4, 5, 6}, checked
