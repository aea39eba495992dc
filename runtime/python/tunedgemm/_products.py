"""matmul and plan."""
from . import _arrays, _core


def _call(a, b, *, out, c, bias, scale_a, scale_b, out_dtype, beta, **scalars):
    """The arguments for the extension module, and out."""
    for name, array in (("a", a), ("b", b)):
        if not hasattr(array, "__dlpack__"):
            raise TypeError(f"{name} is a {type(array).__name__}; pass an array of numpy, PyTorch or another library with DLPack")
    if out is None:
        if beta != 0 and c is None:
            raise ValueError(f"beta is {beta}, so c or out must be given: the product is added to it")
        out = _arrays.new_output(a, _shape(a, b), _type_of_out(a, out_dtype))
    elif _arrays.is_immutable(out):
        raise ValueError("out is an array of JAX, which is never written; pass an array that may be")
    elif out_dtype is not None and _type_of_out(a, out_dtype) != _arrays.type_name(out):
        raise ValueError(f"out_dtype is {out_dtype}, but out has elements of {_arrays.type_name(out)}; give one of the two")
    (array_a, type_of_a), (array_b, type_of_b), (array_out, type_of_out) = map(_arrays.as_dlpack, (a, b, out))
    array_c, type_of_c = (None, "") if c is None else _arrays.as_dlpack(c)
    array_bias, type_of_bias = (None, "") if bias is None else _arrays.as_dlpack(bias)
    call = _core.Call(array_a, array_b, array_out, c=array_c, bias=array_bias, scale_a=scale_a, scale_b=scale_b, type_of_a=type_of_a,
                      type_of_b=type_of_b, type_of_out=type_of_out, type_of_c=type_of_c, type_of_bias=type_of_bias, beta=beta, **scalars)
    return call, out


def _shape(a, b) -> tuple[int, ...]:
    """The shape of the product. Arrays that do not fit together are refused by the extension module, with any shape."""
    if a.ndim < 2 or b.ndim < 2:
        return (1, 1)
    batch = [array.shape[0] for array in (a, b) if array.ndim == 3]
    return (*([0 if 0 in batch else max(batch)] if batch else []), a.shape[-2], b.shape[-1])


def _type_of_out(a, out_dtype) -> str:
    if out_dtype is None:
        return _arrays.OUTPUTS.get(_arrays.type_name(a), _arrays.type_name(a))
    if isinstance(out_dtype, type):  # numpy.float32, ml_dtypes.bfloat16
        return out_dtype.__name__
    return str(out_dtype).removeprefix("torch.")


def matmul(a, b, *, bias=None, activation="none", out=None, out_dtype=None, c=None, alpha=1.0, beta=0.0, scale_a=None,
           scale_b=None, slope=0.01, numerics="default", stream=None, context=None):
    """Multiplies matrices: act(alpha * scale_a * scale_b * a @ b + beta * c + bias).

    The first product with these shapes, strides and types tunes its kernel, which takes seconds (see Context for other policies), and
    stores the winner in the cache file; later ones launch it. Arrays are those of numpy, PyTorch, CuPy or any library with DLPack; nothing
    is copied, and a transposed view is a layout of its own. On a GPU the call returns after the launch.

    a, b: (M, K) and (K, N), or batches of them, (batch, M, K) and (batch, K, N); one matrix serves the whole batch. Both have the element
        type float64, float32, float16, bfloat16, int8, or float8_e4m3fn and float8_e5m2 in any mix.
    bias: (N,), a value per column of the result, or (M, 1), a value per row; of the result's type.
    activation: "none", "relu", "leaky_relu", "gelu_tanh", "gelu_erf", "silu", "sigmoid", "tanh" or "relu_squared".
    out: the result, (M, N) or (batch, M, N), on the device of a. None: a new array of a's library. It must not overlap an input except c.
    out_dtype: the element type of a new result. None: that of a, float16 for float8, int32 for int8.
    c: is multiplied by beta and added. None: out, if beta is not 0.
    scale_a, scale_b: arrays of one float32 on the same device, read by the kernel.
    slope: of leaky_relu.
    numerics: for float32 "ieee", "tf32" or "emulated"; for float8 "fast" or "promoted".
    stream: a CUDA stream as an integer. None: the stream that a's library uses.
    context: None: a context for the device of a, with the default options.

    Returns out. Raises tunedgemm.Error if the library fails, ValueError and TypeError for wrong arguments. Threads may call it at once;
    the GIL is released meanwhile."""
    call, out = _call(a, b, out=out, c=c, bias=bias, scale_a=scale_a, scale_b=scale_b, out_dtype=out_dtype, beta=beta, alpha=alpha,
                      activation=activation, slope=slope, numerics=numerics)
    _core.matmul(call, _arrays.current_stream(a) if stream is None else stream, context)
    return out


class Plan:
    """A product whose kernel is chosen and loaded; made by plan(). Threads may share it."""

    def __init__(self, plan, scalars):
        self._plan, self._scalars = plan, scalars

    @property
    def description(self) -> str:
        """One line for people: family, config and origin of the kernel."""
        return self._plan.description

    def run(self, a, b, *, bias=None, out=None, c=None, scale_a=None, scale_b=None, stream=None):
        """The product of other arrays with the shapes, strides and types of the plan's; returns out. See matmul()."""
        call, out = _call(a, b, out=out, c=c, bias=bias, scale_a=scale_a, scale_b=scale_b, **self._scalars)
        self._plan._run(call, _arrays.current_stream(a) if stream is None else stream)
        return out

    def __repr__(self) -> str:
        return f"<tunedgemm.Plan {self.description}>"


def plan(a, b, *, bias=None, activation="none", out=None, out_dtype=None, c=None, alpha=1.0, beta=0.0, scale_a=None, scale_b=None,
         slope=0.01, numerics="default", policy="default", name=None, accepted_loss=0.0, context=None) -> Plan:
    """Chooses the kernel of a product, tuning or compiling as the policy says, and launches nothing. Of the arrays only shapes, strides,
    types and alignments matter. Make plans before capturing a CUDA graph.

    policy: what to do without a winner: "tune", "tune_in_background", "compile", "stored" or "fail". "default": the context's.
    name: names the product in the list of requests (`tunedgemm missing`).
    accepted_loss: with "tune" and "compile" a stored kernel of another M is used if it is expected to take at most this share longer than
        the winner; 0.05 is 5 %.

    The other arguments are those of matmul()."""
    scalars = {"beta": beta, "alpha": alpha, "activation": activation, "slope": slope, "numerics": numerics}
    call, out = _call(a, b, out=out, c=c, bias=bias, scale_a=scale_a, scale_b=scale_b, out_dtype=out_dtype, **scalars)
    return Plan(_core.Plan(call, policy, name, accepted_loss, context), {**scalars, "out_dtype": _arrays.type_name(out)})
