"""What depends on the framework that made an array: new outputs, the current stream, and element types that DLPack cannot name."""
import sys

# Element types whose numpy arrays come from ml_dtypes: they are passed on as integers of the same size.
INTEGERS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
# numpy numbers the types that other packages add from here on (NPY_USERDEF).
FIRST_ADDED_TYPE = 256
# The element type of a product, by that of its inputs: the input's own, except for these.
OUTPUTS = {"float8_e4m3fn": "float16", "float8_e5m2": "float16", "int8": "int32"}


def type_name(array) -> str:
    """"float32", whatever framework the array is from."""
    return str(array.dtype).removeprefix("torch.")


def as_dlpack(array) -> tuple[object, str]:
    """The array for the extension module, and the name of its element type if the array itself does not tell it."""
    library = type(array).__module__
    if library == "numpy":
        is_builtin = array.dtype.num < FIRST_ADDED_TYPE  # quicker than the type's name
        return (array, "") if is_builtin or array.dtype.name not in INTEGERS else (array.view(INTEGERS[array.dtype.name]), array.dtype.name)
    if library.startswith("torch") and array.requires_grad:
        return array.detach(), ""
    return array, ""


def is_immutable(array) -> bool:
    """Whether its library relies on it never changing, which DLPack does not tell."""
    return type(array).__module__.partition(".")[0] in ("jax", "jaxlib")


def new_output(a, shape: tuple[int, ...], type_of_out: str):
    """An array for the product, made by the framework of `a` on its device."""
    framework = type(a).__module__.partition(".")[0]
    module = sys.modules.get(framework)
    if framework == "numpy":
        if type_of_out in INTEGERS:
            import ml_dtypes  # numpy has these types from there only
            return module.empty(shape, getattr(ml_dtypes, type_of_out))
        return module.empty(shape, type_of_out)
    if framework == "torch":
        return module.empty(shape, dtype=getattr(module, type_of_out), device=a.device)
    if framework == "cupy":
        with a.device:
            return module.empty(shape, type_of_out)
    raise TypeError(f"out is missing: arrays of type {type(a).__module__}.{type(a).__name__} cannot be made here; pass one")


def current_stream(a) -> int:
    """The stream on which the framework of `a` launches its kernels; 0 for the default stream and on the host."""
    framework = type(a).__module__.partition(".")[0]
    if framework == "torch" and a.is_cuda:
        return sys.modules["torch"].cuda.current_stream(a.device).cuda_stream
    if framework == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr
    return 0
