"""Tensors, transforms and tools of PyTorch: a patched model behaves like a plain one, with the same
bits if nothing is tuned, and the operators are right or raise NotImplementedError."""

import contextlib
import copy
import dataclasses
import functools
import io
import pickle
import warnings
from typing import ClassVar

import pytest

torch = pytest.importorskip("torch", minversion="2.10")

from torch import func, nested, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.utils import parametrizations, parametrize, prune
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

import tunedgemm.torch

OPS = torch.ops.tunedgemm
KINDS = {}


def kind(function):
    """Adds a function of a model of linear layers and an input of shape (4, 6) to the list."""
    KINDS[function.__name__] = function
    return function


def draw(*shape, dtype=torch.float32):
    return torch.rand(shape).mul(2).sub(1).to(dtype)


@dataclasses.dataclass
class OfPyTorch:
    """A trace of PyTorch's operators or types in a plain model; other operators leave another."""

    shown: object


class Logged(torch.Tensor):
    """Notes the names of the functions that take it."""

    names: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.names.append(getattr(function, "__name__", str(function)))
        return super().__torch_function__(function, types, args, kwargs or {})


class Scaled(torch.Tensor):
    """A quantized weight: a wrapper that computes functional.linear itself, and gives its values to
    all other functions."""

    @staticmethod
    def __new__(cls, values):
        return torch.Tensor._make_wrapper_subclass(
            cls, values.shape, dtype=values.dtype, device=values.device
        )

    def __init__(self, values):
        self.eighths = (values * 8).round()

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is nn.functional.linear:
            return function(args[0], args[1].eighths / 8, *args[2:])
        return super().__torch_function__(function, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.detach.default:
            return Scaled(args[0].eighths / 8)
        raise NotImplementedError(str(function))


class Wrapped(torch.Tensor):
    """A wrapper without __torch_function__, as DTensor is: it sees operators below autograd."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, values):
        return torch.Tensor._make_wrapper_subclass(
            cls, values.shape, strides=values.stride(), dtype=values.dtype, device=values.device
        )

    def __init__(self, values):
        self.values_ = values

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function.namespace != "aten":
            raise NotImplementedError(str(function))
        args, kwargs = _pytree.tree_map_only(cls, lambda one: one.values_, (args, kwargs or {}))
        return _pytree.tree_map_only(torch.Tensor, cls, function(*args, **kwargs))


class Logger(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


class FunctionLogger(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.names.append(getattr(function, "__name__", str(function)))
        return function(*args, **(kwargs or {}))


def gradients(model, x, loss=lambda y: y.square().sum()):
    return torch.autograd.grad(
        loss(model(x)),
        [one for one in (x, *model.parameters()) if one.requires_grad],
        allow_unused=True,
    )


def with_parameters(model):
    parameters = dict(model.named_parameters())
    return parameters, lambda parameters, x: func.functional_call(model, parameters, (x,))


def first(model):
    return model[0]


# Transforms and derivatives


@kind
def forward(model, x):
    return model(x)


@kind
def inference_mode(model, x):
    with torch.inference_mode():
        y = model(x)
    return y, y.is_inference(), y.requires_grad


@kind
def no_grad(model, x):
    with torch.no_grad():
        y = model(x)
    return y, y.requires_grad, y.is_leaf


@kind
def reverse(model, x):
    return gradients(model, x.requires_grad_())


@kind
def reverse_of_the_input_alone(model, x):
    return gradients(model.requires_grad_(False), x.requires_grad_())


@kind
def reverse_of_the_weight_alone(model, x):
    first(model).bias.requires_grad_(False)
    return gradients(model, x)


@kind
def reverse_of_the_bias_alone(model, x):
    first(model).weight.requires_grad_(False)
    return gradients(model, x)


@kind
def inplace_on_the_result(model, x):
    return gradients(lambda_module(model, torch.relu_), x)


def lambda_module(model, after):
    class Then(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            return after(self.model(x))

    return Then()


@kind
def double_backward(model, x):
    x.requires_grad_()
    (slope,) = torch.autograd.grad(model(x).square().sum(), x, create_graph=True)
    return torch.autograd.grad(slope.square().sum(), [x, *list(model.parameters())[:1]])


@kind
def gradcheck(model, x):
    return torch.autograd.gradcheck(
        model.double(), x.double().requires_grad_(), check_forward_ad=True, fast_mode=True
    )


@kind
def dual_numbers(model, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(model(forward_ad.make_dual(x, x + 1))).tangent


@kind
def dual_numbers_without_gradients(model, x):
    with torch.no_grad(), forward_ad.dual_level():
        return forward_ad.unpack_dual(model(forward_ad.make_dual(x, x + 1))).tangent


@kind
def jvp(model, x):
    return func.jvp(model, (x,), (x + 1,))


@kind
def vjp(model, x):
    y, pull = func.vjp(model, x)
    return y, pull(y)


@kind
def jacfwd(model, x):
    return func.jacfwd(model)(x[0])


@kind
def jacrev(model, x):
    return func.jacrev(model)(x[0])


@kind
def hessian(model, x):
    return func.hessian(lambda t: model(t).square().sum())(x[0])


@kind
def hessian_of_autograd(model, x):
    return torch.autograd.functional.hessian(lambda t: model(t).square().sum(), x[0])


@kind
def func_grad(model, x):
    return func.grad(lambda t: model(t).square().sum())(x)


@kind
def gradients_of_samples(model, x):
    parameters, call = with_parameters(model)
    return func.vmap(func.grad(lambda p, t: call(p, t).square().sum()), in_dims=(None, 0))(
        parameters, x
    )


@kind
def functional_call(model, x):
    parameters, call = with_parameters(model)
    return call({name: one * 2 for name, one in parameters.items()}, x)


@kind
def linearize(model, x):
    y, slope = func.linearize(model.requires_grad_(False), x)
    return y, slope(x + 1)


@kind
def functionalize(model, x):
    return func.functionalize(model)(x)


@kind
def ensemble(model, x):
    other = copy.deepcopy(model)
    parameters, buffers = func.stack_module_state([model, other])
    return func.vmap(
        lambda p, b, t: func.functional_call(model, (p, b), (t,)), in_dims=(0, 0, None)
    )(parameters, buffers, x)


@kind
def vmap_of_inputs(model, x):
    return [
        func.vmap(model, in_dims=one, out_dims=one)(x.expand(3, 4, 6).movedim(0, one))
        for one in (0, 1)
    ]


@kind
def vmap_of_weights(model, x):
    weights = torch.stack([first(model).weight, first(model).weight * 2], 1)
    return func.vmap(lambda w: func.functional_call(first(model), {"weight": w}, (x,)), in_dims=1)(
        weights
    )


# Tensors


@kind
def leading_dimensions(model, x):
    return [
        model(one)
        for one in (x[0], x[None], x.expand(2, 3, 4, 6), x[:0], x[None, :0], x.expand(0, 4, 6))
    ]


@kind
def strides(model, x):
    return [
        model(one)
        for one in (
            x.t().contiguous().t(),
            draw(4, 12)[:, ::2],
            x[:1].expand(4, 6),
            draw(2, 6, 4).transpose(1, 2),
            draw(6, 2, 4).permute(1, 2, 0),
            torch.as_strided(draw(20), (4, 6), (1, 1)),
        )
    ]


@kind
def empty_layers(model, x):
    return [reshaped(first(model), *shape)(torch.ones(4, shape[1])) for shape in ((0, 6), (5, 0))]


def reshaped(layer, rows, columns):
    twin = copy.deepcopy(layer)
    twin.weight, twin.bias = nn.Parameter(torch.ones(rows, columns)), nn.Parameter(torch.ones(rows))
    return twin


def of_type(dtype):
    def run(model, x):
        return first(model).requires_grad_(False).to(dtype)(x.to(dtype))

    run.__name__ = f"elements_{str(dtype)[6:]}"
    return kind(run)


for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.complex64):
    of_type(dtype)


@kind
def elements_integer(model, x):
    layer = first(model)
    layer.weight, layer.bias = (
        nn.Parameter((one * 9).long(), requires_grad=False) for one in (layer.weight, layer.bias)
    )
    return layer((x * 9).long())


@kind
def conjugate_and_negative_views(model, x):
    y = model(torch._neg_view(x))
    return y, first(model).to(torch.complex64)(x.cfloat().conj())


@kind
def zero_tensor(model, x):
    return model(torch._efficientzerotensor((4, 6)))


@kind
def nested_strided(model, x):
    y = model(nested.nested_tensor([x, x[:2]]))
    return y.is_nested, y.unbind()


@kind
def nested_jagged(model, x):
    y = model(nested.nested_tensor([x, x[:2]], layout=torch.jagged, requires_grad=True))
    return type(y), y.values(), torch.autograd.grad(y.values().sum(), list(model.parameters()))


@kind
def subclass_as_input(model, x):
    Logged.names.clear()
    y = model(x.as_subclass(Logged))
    return type(y), y.as_subclass(torch.Tensor), OfPyTorch(list(Logged.names))


@kind
def subclass_as_weight(model, x):
    Logged.names.clear()
    first(model).weight = nn.Parameter(first(model).weight.detach().as_subclass(Logged))
    return model(x).as_subclass(torch.Tensor), OfPyTorch(list(Logged.names))


@kind
def quantized_weight(model, x):
    first(model).weight = nn.Parameter(Scaled(first(model).weight.detach()), requires_grad=False)
    return model.requires_grad_(False)(x)


@kind
def wrapper_without_torch_function(model, x):
    for one in model.modules():
        if isinstance(one, nn.Linear):
            one.weight, one.bias = (
                nn.Parameter(Wrapped(part.detach()), requires_grad=False)
                for part in (one.weight, one.bias)
            )
    y = model(Wrapped(x))
    return type(y), y.values_


@kind
def subclass_of_parameter(model, x):
    class Marked(nn.Parameter):
        pass

    first(model).weight = Marked(first(model).weight.detach())
    return model(x)


@kind
def parameter_as_input(model, x):
    return model(nn.Parameter(x))


@kind
def lazy_layer(model, x):
    lazy = nn.LazyLinear(3)
    with contextlib.ExitStack() as stack:
        if getattr(first(model), "_tunedgemm_policy", None):
            stack.enter_context(tunedgemm.torch.patch(lazy))
        torch.manual_seed(1)
        return lazy(x), type(lazy)


@kind
def uninitialized_weight(model, x):
    first(model).weight = nn.parameter.UninitializedParameter()
    return model(x)


@kind
def sparse_coo_weight(model, x):
    layer = first(model.requires_grad_(False))
    layer.weight, layer.bias = nn.Parameter(layer.weight.to_sparse(), requires_grad=False), None
    return layer(x)


@kind
def sparse_csr_weight(model, x):
    layer = first(model.requires_grad_(False))
    layer.weight, layer.bias = nn.Parameter(layer.weight.to_sparse_csr(), requires_grad=False), None
    return layer(x)


@kind
def sparse_input(model, x):
    return model.requires_grad_(False)(x.to_sparse())


@kind
def mkldnn_weights(model, x):
    layer = first(model.requires_grad_(False))
    layer.weight, layer.bias = (
        nn.Parameter(one.to_mkldnn(), requires_grad=False) for one in (layer.weight, layer.bias)
    )
    return layer(x.to_mkldnn()).to_dense()


@kind
def quantized_input(model, x):
    return model(torch.quantize_per_tensor(x, 0.1, 0, torch.qint8))


@kind
def masked_weight(model, x):
    prune.l1_unstructured(first(model), "weight", amount=0.5)
    return model(x), gradients(model, x)


@kind
def parametrized_weight(model, x):
    parametrizations.spectral_norm(first(model))
    parametrize.register_parametrization(first(model), "bias", nn.Tanh())
    y = model(x), model(x), gradients(model, x)
    parametrize.remove_parametrizations(first(model), "bias")
    return y, model(x)


@kind
def weight_norm(model, x):
    parametrizations.weight_norm(first(model))
    return gradients(model, x)


@kind
def meta_device(model, x):
    y = model.to("meta")(x.to("meta"))
    return y.shape, y.dtype, y.device


@kind
def fake_tensors(model, x):
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        y = model(mode.from_tensor(x))
    return type(y), y.shape, y.stride(), y.requires_grad


@kind
def dtensor(model, x):
    import torch.distributed as distributed
    from torch.distributed.tensor import Shard, distribute_module, distribute_tensor

    if not distributed.is_initialized():
        distributed.init_process_group("gloo", rank=0, world_size=1, store=distributed.HashStore())
    mesh = distributed.init_device_mesh("cpu", (1,))
    model = distribute_module(model, mesh)
    y = model(distribute_tensor(x, mesh, [Shard(0)]))
    return type(y), y.to_local()


@kind
def fully_sharded(model, x):
    import torch.distributed as distributed
    from torch.distributed.fsdp import fully_shard

    if not distributed.is_initialized():
        distributed.init_process_group("gloo", rank=0, world_size=1, store=distributed.HashStore())
    fully_shard(model, mesh=distributed.init_device_mesh("cpu", (1,)))
    y = model(x)
    y.square().sum().backward()
    return y, [one.grad.to_local() for one in model.parameters()]


# Modes and tools


@kind
def flop_counter(model, x):
    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    return counter.get_total_flops()


@kind
def dispatch_mode(model, x):
    with Logger() as logger:
        y = model(x)
    return y, OfPyTorch(logger.names)


@kind
def function_mode(model, x):
    with FunctionLogger() as logger:
        y = model(x)
    return y, OfPyTorch(logger.names)


@kind
def default_device(model, x):
    with torch.device("cpu"):
        return model(x)


@kind
def traced_by_make_fx(model, x):
    graph = make_fx(model)(x)
    return graph(x), OfPyTorch(str(graph.graph))


@kind
def traced_symbolically(model, x):
    graph = torch.fx.symbolic_trace(model)
    return graph(x), OfPyTorch(str(graph.graph))


@kind
def traced_by_jit(model, x):
    traced = torch.jit.trace(model, x)
    return traced(x), OfPyTorch([one.kind() for one in traced.inlined_graph.nodes()])


@kind
def scripted_by_jit(model, x):
    scripted = torch.jit.script(model)
    return scripted(x), OfPyTorch([one.kind() for one in scripted.inlined_graph.nodes()])


@kind
def exported(model, x):
    program = torch.export.export(model, (x,), strict=False)
    return program.module()(x), OfPyTorch([str(node.target) for node in program.graph.nodes])


@kind
def exported_strictly(model, x):
    program = torch.export.export(
        model, (x,), dynamic_shapes=[{0: torch.export.Dim("rows")}], strict=True
    )
    return program.module()(x[:3]), OfPyTorch([str(node.target) for node in program.graph.nodes])


@kind
def compiled(model, x):
    one = torch.compile(model, fullgraph=True, dynamic=True, backend="aot_eager")
    return one(x), gradients(one, x.requires_grad_())


@kind
def autocast(model, x):
    with torch.autocast("cpu", torch.bfloat16):
        y = model(x)
    return y, torch.autograd.grad(y.float().sum(), list(model.parameters()))


def reverse_without_autocast(model, x):
    y = model(x)
    return y, torch.autograd.grad(y.float().sum(), list(model.parameters()))


@kind
def deep_copy(model, x):
    return copy.deepcopy(model)(x), copy.copy(first(model))(x)


@kind
def pickled(model, x):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    return (
        loaded(x),
        OfPyTorch(type(first(loaded))),
        b"tunedgemm" in file.getvalue(),
        pickle.loads(pickle.dumps(model))(x),
    )


@kind
def state_dict(model, x):
    model.load_state_dict({name: one * 2 for name, one in model.state_dict().items()}, assign=True)
    return model(x), list(model.state_dict())


@kind
def checkpointed(model, x):
    for use_reentrant in (True, False):
        checkpoint(model, x.requires_grad_(), use_reentrant=use_reentrant).square().sum().backward()
    return x.grad, [one.grad for one in model.parameters()]


@kind
def saved_tensors_hooks(model, x):
    shapes = []

    def pack(tensor):
        shapes.append(tensor.shape)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        return gradients(model, x), OfPyTorch(shapes)


@kind
def failing_hooks(model, x):
    def pack(tensor):
        raise KeyError("a hook's own error")

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        return gradients(model, x)


@kind
def failing_mode(model, x):
    class Failing(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            raise KeyError("a mode's own error")

    with Failing():
        return model(x)


@kind
def replicas(model, x):
    replica = model[0]._replicate_for_data_parallel()
    replica.weight, replica.bias = first(model).weight * 1, first(model).bias * 1
    return replica(x)


@kind
def hooks(model, x):
    seen = []
    first(model).register_forward_hook(lambda layer, args, y: seen.append(y.shape) or y + 1)
    first(model).register_full_backward_hook(
        lambda layer, into, out: seen.append([one.shape for one in out])
    )
    return gradients(model, x.requires_grad_()), seen


# Wrong calls


def wrong(name, make):
    def run(model, x):
        return make(model, x)

    run.__name__ = f"wrong_{name}"
    return kind(run)


wrong("width", lambda model, x: model(x[:, 1:]))
wrong("type", lambda model, x: model(x.double()))
wrong("integers", lambda model, x: model(x.long()))
wrong("scalar", lambda model, x: model(torch.tensor(1.0)))
wrong("array", lambda model, x: model(x.numpy()))
wrong("none", lambda model, x: model(None))
wrong("device", lambda model, x: model(x.to("meta")))
wrong(
    "bias", lambda model, x: setattr(first(model), "bias", nn.Parameter(torch.ones(2))) or model(x)
)
wrong(
    "weight",
    lambda model, x: setattr(first(model), "weight", nn.Parameter(torch.ones(2, 3, 4))) or model(x),
)
wrong("no_weight", lambda model, x: setattr(first(model), "weight", None) or model(x))


def new_model():
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(6, 5), nn.GELU(), nn.Linear(5, 3))


def outcome(run, model):
    """The result of a kind, or its exception."""
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run(model, draw(4, 6))
        except Exception as error:
            return error


def difference(found, expected, tolerance):
    """The first pair of leaves that differ, or None."""
    if isinstance(found, Exception) or isinstance(expected, Exception):
        return None if type(found) is type(expected) else (found, expected)
    found, expected = (_pytree.tree_leaves(one) for one in (found, expected))
    if len(found) != len(expected):
        return found, expected
    for one, other in zip(found, expected):
        if isinstance(other, OfPyTorch) and tolerance > 0:
            continue
        if isinstance(other, torch.Tensor) and isinstance(one, torch.Tensor):
            if (one.shape, one.dtype, one.layout, one.requires_grad) != (
                other.shape,
                other.dtype,
                other.layout,
                other.requires_grad,
            ):
                return one, other
            detached = one.detach(), other.detach()
            same = (
                torch.equal(*detached)
                if tolerance == 0
                else torch.allclose(*detached, rtol=tolerance, atol=tolerance, equal_nan=True)
            )
            if not same:
                return detached
        elif one != other:
            return one, other
    return None


@functools.cache
def of_plain_model(name):
    return outcome(KINDS[name], new_model())


@pytest.mark.parametrize("name", KINDS)
def test_a_patched_model_is_as_a_plain_one(name):
    model = new_model()
    tunedgemm.torch.patch(model)
    assert difference(outcome(KINDS[name], model), of_plain_model(name), 0) is None


SLOW = {"compiled", "exported", "exported_strictly", "gradcheck", "hessian_of_autograd"}
QUICK = [name for name in KINDS if name not in SLOW]


@pytest.mark.parametrize("name", QUICK)
def test_so_is_one_whose_products_kernels_compute(name):
    model = new_model()
    tunedgemm.torch.patch(model, "compile")
    assert (
        difference(
            outcome(KINDS[name], model), of_plain_model(name), 1e-2 if "16" in name else 1e-4
        )
        is None
    )


class ByLinear(nn.Linear):
    def forward(self, input):
        return OPS.linear(input, self.weight, self.bias)


class ByTunedLinear(nn.Linear):
    def forward(self, input):
        return OPS.tuned_linear(input, self.weight, self.bias)


# These are RuntimeErrors that say why.
REFUSED = {
    "elements_complex64",
    "elements_integer",
    "conjugate_and_negative_views",
    "wrong_array",
    "wrong_none",
    "wrong_no_weight",
}


@pytest.mark.parametrize("layer", [ByLinear, ByTunedLinear])
@pytest.mark.parametrize("name", QUICK)
def test_operators_are_right_or_refuse(name, layer):
    model = new_model()
    model[0].__class__ = model[2].__class__ = layer
    found, expected = outcome(KINDS[name], model), of_plain_model(name)
    if isinstance(found, NotImplementedError) or (
        name in REFUSED and isinstance(found, RuntimeError)
    ):
        return
    if name == "autocast" and layer is ByLinear:  # it keeps the types, by its documentation
        expected = outcome(reverse_without_autocast, new_model())
    assert difference(found, expected, 1e-2 if "16" in name else 1e-4) is None


def test_transforms_of_other_operators():
    def jvp(f, *arguments):
        return func.jvp(f, arguments, arguments)

    def jacrev(f, *arguments):
        return func.jacrev(f)(*arguments)

    def hessian(f, first, *rest):
        return func.hessian(lambda t: f(t, *rest).square().sum())(first)

    def vmap(f, *arguments):
        return func.vmap(f)(*[torch.stack([t, t * 2]) for t in arguments])

    a, b, bias = draw(4, 6), draw(6, 5), draw(5)
    for one, other, *arguments in (
        (OPS.mm, torch.mm, a, b),
        (OPS.bmm, torch.bmm, a[None], b[None]),
        (OPS.addmm, torch.addmm, bias, a, b),
    ):
        for transform in (jvp, jacrev, hessian, vmap):
            found, expected = transform(one, *arguments), transform(other, *arguments)
            assert difference(found, expected, 1e-5) is None
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(t, t + 1) for t in arguments]
            found, expected = (forward_ad.unpack_dual(f(*duals)).tangent for f in (one, other))
        torch.testing.assert_close(found, expected)


def test_transforms_that_are_refused():
    a, b, weight, out = draw(4, 6), draw(6, 5), draw(5, 6), torch.empty(4, 5)
    eights, one = [t.to(torch.float8_e4m3fn) for t in (a, b)], torch.ones(())
    for call in (
        lambda t: OPS.mm(t, b, out_dtype=torch.float32),
        lambda t: OPS.linear(t, weight, None, "relu"),
        lambda t: OPS.addmm(b[0], t, b, activation="relu"),
        lambda t: OPS.scaled_mm(*eights, one, one).sum() * t,
        lambda t: OPS.mm(t, b, out=out),
    ):
        with pytest.raises(NotImplementedError, match=r"torch\.func transforms"):
            func.jvp(call, (a,), (a,))
    with (
        forward_ad.dual_level(),
        pytest.raises(NotImplementedError, match="use PyTorch's operators there"),
    ):
        OPS.linear(forward_ad.make_dual(a, a), weight, None, "relu")


def test_flops_of_operators():
    a, b, one = draw(4, 6), draw(6, 5), torch.ones(())
    eights = [t.to(torch.float8_e4m3fn) for t in (a, b)]
    with FlopCounterMode(display=False) as counter:
        (
            OPS.mm(a, b),
            OPS.mm.no_grad(a, b),
            OPS.mm(a, b, out=torch.empty(4, 5)),
            OPS.addmm(b[0], a, b),
            OPS.scaled_mm(*eights, one, one),
        )
        (
            OPS.bmm(a.expand(3, 4, 6), b.expand(3, 6, 5)),
            OPS.linear(a.expand(2, 4, 6), b.t()),
            OPS.tuned_linear(a, b.t()),
        )
    assert counter.get_total_flops() == (1 + 1 + 1 + 1 + 1 + 3 + 2 + 1) * 2 * 4 * 5 * 6


def test_a_default_device_keeps_no_kernel_away():
    layer, x = nn.Linear(6, 5), draw(4, 6)
    with (
        tunedgemm.torch.patch(layer, "compile"),
        torch.device("cpu"),
        torch.no_grad(),
        torch.profiler.profile() as profile,
    ):
        layer(x)
    assert "aten::linear" not in [event.name for event in profile.events()]


def test_a_compiled_model_has_one_operator_for_any_shape():
    model, graphs = new_model(), []
    with tunedgemm.torch.patch(model), torch.no_grad():
        one = torch.compile(
            model,
            fullgraph=True,
            dynamic=True,
            backend=lambda graph, inputs: graphs.append(graph) or graph,
        )
        for rows in (4, 7, 9):
            assert difference(one(draw(9, 6)[:rows]).shape, (rows, 3), 0) is None
    (graph,) = graphs
    assert [str(node.target) for node in graph.graph.nodes if "linear" in str(node.target)] == [
        "tunedgemm.tuned_linear.no_grad"
    ] * 2


def test_a_recorder_sees_layers_whole():
    layer, x = nn.Linear(6, 5), draw(2, 4, 6)
    x = torch.cat([x, x], -1)[..., ::2].requires_grad_()  # PyTorch multiplies and then adds
    with tunedgemm.torch.patch(layer), tunedgemm.torch.record() as shapes:
        slope = torch.autograd.grad(layer(x).sum(), x)[0]
    assert "types=f32 layout=nt m=8 n=5 k=6 bias=col" in {one.text for one in shapes}
    torch.testing.assert_close(slope, layer.weight.sum(0).expand(2, 4, 6))


def test_what_is_unpatched_is_plain():
    model = new_model()
    with tunedgemm.torch.patch(model, "compile"):
        parametrize.register_parametrization(model[0], "bias", nn.Tanh())
    with torch.no_grad(), torch.profiler.profile() as profile:
        model(draw(4, 6))
    assert not any("tunedgemm" in event.name for event in profile.events())
    assert type(model[2]) is nn.Linear and "tunedgemm" not in str(vars(model[0]))
