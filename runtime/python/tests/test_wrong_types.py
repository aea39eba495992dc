"""Each argument of each public function refuses values of wrong types by a ValueError or TypeError
with a message about that argument."""

import datetime
import functools
import inspect

import ml_dtypes
import numpy
import pytest

import tunedgemm

A, B = numpy.ones((4, 3), "float32"), numpy.ones((3, 5), "float32")
HOST = tunedgemm.Context("host", cache="", policy="compile")
RUN = {"a": A, "b": B}


class Lying:
    """Has DLPack's method, which returns something else."""

    shape, dtype = (4, 3), "float32"

    def __init__(self, given):
        self.given = given

    def __dlpack__(self, **options):
        if isinstance(self.given, Exception):
            raise self.given
        return self.given

    def __dlpack_device__(self):
        return (1, 0)


class RaisesOnUse:
    def __index__(self):
        raise RuntimeError("no index")

    __float__ = __fspath__ = __index__


class Negative:
    """Has the is_neg() of a tensor of PyTorch, which does not return a bool."""

    def is_neg(self):
        return "perhaps"


WRONG = [
    None,
    True,
    -1,
    2**31,
    2**63,
    2**70,
    10**400,
    10**5000,
    -(2**70),
    1.5,
    float("nan"),
    1j,
    "",
    "2",
    "\ud800",
    "a\0b",
    b"x",
    [],
    [[1.0]],
    (),
    {},
    {1},
    object(),
    int,
    len,
    A[0],
    A[::-1],
    A[:, ::2],
    A.astype("complex64"),
    A.astype(">f4"),
    A.astype("datetime64[s]"),
    A.astype(str),
    A.astype(object),
    numpy.array(datetime.datetime.now()),
    numpy.zeros((4, 3), [("x", "f4"), ("y", "i4")]),
    numpy.ones((), "float32"),
    numpy.ones((2,) * 9, "float32"),
    numpy.float32(1),
    numpy.dtype("float32"),
    A.astype(ml_dtypes.float8_e4m3fnuz),
    A.astype(ml_dtypes.int4),
    A.astype(ml_dtypes.float8_e8m0fnu),
    numpy.frombuffer(bytes(64), "float32", 12, offset=1).reshape(4, 3),
    numpy.frombuffer(bytes(64), "u2", 12, offset=1).view(ml_dtypes.bfloat16),
    Lying(None),
    Lying(5),
    Lying(ValueError("why")),
    RaisesOnUse(),
    Negative(),
    HOST,
    tunedgemm,
    memoryview(b"abc"),
]


def problems_of_shapes(**arguments):
    return tunedgemm.prepare(
        [{"a": (4, 3), "b": (3, 5), "dtype": "float32", "device": "host", **arguments}],
        progress=False,
        context=HOST,
    )


PLAN = tunedgemm.plan(A, B, context=HOST)
FUNCTIONS = {
    "matmul": functools.partial(tunedgemm.matmul, context=HOST),
    "plan": functools.partial(tunedgemm.plan, context=HOST),
    "Plan.run": PLAN.run,
    "Context": functools.partial(tunedgemm.Context, device="host", cache=""),
    "prepare": problems_of_shapes,
}
ARGUMENTS = {
    "matmul": [*inspect.signature(tunedgemm.matmul).parameters],
    "plan": [*inspect.signature(tunedgemm.plan).parameters],
    "Plan.run": ["a", "b", "bias", "out", "c", "scale_a", "scale_b", "stream"],
    "Context": ["device", "cache", "policy", "rigor", "threads", "seconds", "candidates"],
    "prepare": [*inspect.signature(tunedgemm.plan).parameters, "dtype", "layout", "device"],
}


def error_of(function, **arguments):
    try:
        function(**arguments)
    except (ValueError, TypeError, tunedgemm.Error) as error:
        return error
    return None


@pytest.mark.parametrize(
    "function,argument",
    [(function, argument) for function, names in ARGUMENTS.items() for argument in names],
)
def test_wrong_types_are_refused_with_a_sentence(function, argument, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a cache may have any name
    for value in WRONG:
        arguments = {"a": A, "b": B} if function in ("matmul", "plan", "Plan.run") else {}
        error = error_of(FUNCTIONS[function], **{**arguments, argument: value})
        if error is not None:
            assert "incompatible function arguments" not in str(error), value
            assert "bad_cast" not in str(error), value
            assert not isinstance(error, tunedgemm.InternalError), (value, error)
            assert len(str(error)) > 10, (value, error)


@pytest.mark.parametrize(
    "call,error,message",
    [
        (lambda: tunedgemm.matmul(A, B, alpha="2"), TypeError, "alpha is a str; give a number"),
        (
            lambda: tunedgemm.matmul(A, B, alpha=10**400),
            ValueError,
            "alpha is 1000.*; give a number that a double can hold",
        ),
        (
            lambda: tunedgemm.matmul(A, B, activation=5),
            TypeError,
            "activation is a int; give a string",
        ),
        (
            lambda: tunedgemm.matmul(A, B, stream=-1),
            ValueError,
            "stream is -1; give the address of a CUDA stream",
        ),
        (
            lambda: tunedgemm.matmul(A, B, stream=2**70),
            ValueError,
            "stream is 1180591620717411303424; give",
        ),
        (
            lambda: tunedgemm.matmul(A, B, stream="s"),
            TypeError,
            "stream is a str; give the address of a CUDA stream, an integer",
        ),
        (
            lambda: tunedgemm.matmul(A, B, context="host"),
            TypeError,
            "context is a str; give a tunedgemm.Context or None",
        ),
        (
            lambda: tunedgemm.matmul(A.astype("datetime64[s]"), B),
            ValueError,
            r"a has elements of datetime64\[s\]; supported",
        ),
        (
            lambda: tunedgemm.matmul(A.astype(">f4"), B),
            ValueError,
            "a has elements of >f4; supported",
        ),
        (
            lambda: tunedgemm.matmul(A.astype(ml_dtypes.int4), B),
            ValueError,
            "a has elements of int4; supported",
        ),
        (
            lambda: tunedgemm.matmul(Lying(5), B),
            ValueError,
            r"a cannot be read: its __dlpack__\(\) gives a int",
        ),
        (
            lambda: tunedgemm.matmul(Lying(ValueError("why")), B),
            ValueError,
            r"a cannot be read: its __dlpack__\(\) raises ValueError: why",
        ),
        (
            lambda: tunedgemm.matmul(
                numpy.frombuffer(bytes(64), "f4", 12, offset=1).reshape(4, 3), B
            ),
            ValueError,
            (
                "a is not aligned: its address is no multiple of the 4 bytes of an element; pass a "
                "copy"
            ),
        ),
        (
            lambda: tunedgemm.matmul(
                numpy.frombuffer(bytes(64), "u2", 12, offset=1)
                .view(ml_dtypes.bfloat16)
                .reshape(4, 3),
                B,
            ),
            ValueError,
            "a is not aligned",
        ),
        (
            lambda: tunedgemm.Context(threads=2**31),
            ValueError,
            "threads is 2147483648; give an integer",
        ),
        (lambda: tunedgemm.Context(threads=1.5), TypeError, "threads is a float; give an integer"),
        (lambda: tunedgemm.Context(cache=5), TypeError, "cache is a int; give a path"),
        (lambda: tunedgemm.plan(A, B, name=5), TypeError, "name is a int; give a string"),
        (lambda: tunedgemm.Context(polcy="tune"), TypeError, "^Context takes device and, by name"),
        (lambda: tunedgemm.Context("host", "a.db"), TypeError, "^Context takes device and"),
        (lambda: PLAN.run(A), TypeError, "^run takes a, b and, by name"),
        (lambda: PLAN.run(A, B, alpha=2), TypeError, "^run takes a, b and, by name"),
        (
            lambda: tunedgemm.prepare([{"problem": "m=4", "bias": A}], context=HOST),
            TypeError,
            "^m=4: a problem in text takes device, policy",
        ),
        (
            lambda: tunedgemm.prepare([{"problem": "types=f32 m=4 n=4 k=4", "device": None}]),
            TypeError,
            "^types=f32 m=4 n=4 k=4: device is a NoneType; give a string",
        ),
    ],
)
def test_answers(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_cache_may_be_a_path(tmp_path):
    with tunedgemm.Context("host", cache=tmp_path / "a.db", policy="compile") as context:
        tunedgemm.matmul(A, B, context=context)
    assert (tmp_path / "a.db").exists()


def test_arrays_of_jax_have_a_function_of_their_own():
    jax = pytest.importorskip("jax")
    with pytest.raises(TypeError, match=r"tunedgemm\.jax\.matmul"):
        tunedgemm.matmul(jax.numpy.ones((4, 3)), jax.numpy.ones((3, 5)))
