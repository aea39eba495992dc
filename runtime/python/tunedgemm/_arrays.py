"""The extension module's calls to numpy, JAX and CuPy: new arrays, the current stream, and element
types that DLPack cannot name.

Arrays of PyTorch, and of other libraries with DLPack's exchange interface in C, need none of
this."""

import sys
from typing import Any

# numpy arrays of these types, which ml_dtypes defines, are passed on as integers of the same size.
INTEGERS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def name_of_type(dtype: Any) -> str:
    """The name of an element type, such as "float32", of numpy or any other library."""
    return dtype.__name__ if isinstance(dtype, type) else str(dtype).removeprefix("torch.")


def as_dlpack(array: Any) -> tuple[object, str]:
    """The array for the extension module, with its element type if the array does not name it."""
    if type(array).__module__ == "numpy" and array.dtype.name in INTEGERS:
        return array.view(INTEGERS[array.dtype.name]), array.dtype.name
    return array, ""


def why_no_dlpack(array: Any) -> str:
    """Why the extension module could not read the array; "" if its element type is the reason."""
    if type(array).__module__ == "numpy":
        return (
            ""
            if array.dtype.isbuiltin != 1 or array.dtype.kind not in "fiu"
            else "numpy does not give it away"
        )
    try:
        given = array.__dlpack__()
    except Exception as error:
        return f"its __dlpack__() raises {type(error).__name__}: {error}"
    return f"its __dlpack__() gives a {type(given).__name__} that is no array of DLPack in memory"


def is_immutable(array: Any) -> bool:
    """Whether its library relies on it never changing; DLPack does not say so."""
    return _library(array) in ("jax", "jaxlib")


def new_array(like: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """A new array of the same library and on the same device as `like`."""
    if type(like).__module__ == "numpy":
        if dtype in INTEGERS:
            import ml_dtypes  # numpy has these types from there only

            dtype = getattr(ml_dtypes, dtype)
        return sys.modules["numpy"].empty(shape, dtype)
    if _library(like) == "cupy":
        with like.device:
            return sys.modules["cupy"].empty(shape, dtype)
    remedy = "call tunedgemm.jax.matmul" if is_immutable(like) else "pass one"
    raise TypeError(
        f"out is missing: arrays of type {type(like).__module__}.{type(like).__name__} cannot be "
        f"made here; {remedy}"
    )


def current_stream(array: Any) -> int:
    """The stream on which the library of a GPU's array launches its kernels; 0 for the default
    stream."""
    return sys.modules["cupy"].cuda.get_current_stream().ptr if _library(array) == "cupy" else 0


def _library(array: Any) -> str:
    return type(array).__module__.partition(".")[0]
