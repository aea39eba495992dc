"""patch and unpatch: the linear layers of a model use tuned kernels, where there are any."""

from __future__ import annotations

import copy
import functools
import sys
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.nn import functional
from torch.overrides import _get_current_function_mode_stack, has_torch_function_variadic
from torch.utils._device import DeviceContext

from .._matmul import Policy
from ._operators import are_plain, tuned_linear_backward

OPS = torch.ops.tunedgemm.tuned_linear
IF_SERVED, WITH_GRADIENT, WITHOUT = OPS.if_served, OPS.default, OPS.no_grad


class _TunedProduct(torch.autograd.Function):
    """Gives the result of a tuned kernel PyTorch's gradients of a linear layer."""

    @staticmethod
    def forward(ctx, input, weight, bias, product):
        ctx.save_for_backward(input, weight)
        return product[0]

    backward = staticmethod(tuned_linear_backward)


def _multiply(input, weight, bias, policy):
    """input @ weight.T + bias. A kernel computes it if it has plain tensors and the problem has a
    kernel; functional.linear computes everything else."""
    if type(input) is not torch.Tensor or policy is None or forward_ad._current_level >= 0:
        return functional.linear(input, weight, bias)
    if torch.compiler.is_compiling():
        return _traced(input, weight, bias, policy)
    if has_torch_function_variadic(weight, bias) and not _has_only_a_default_device(weight, bias):
        return functional.linear(input, weight, bias)
    product = IF_SERVED(input, weight, bias, policy)
    if product is None:
        return functional.linear(input, weight, bias)
    if torch.is_grad_enabled() and (
        input.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad)
    ):
        return _TunedProduct.apply(input, weight, bias, (product,))
    return product


def _has_only_a_default_device(weight, bias):
    """Whether the tensors are plain and torch.set_default_device, which changes no result, is the
    only mode."""
    return are_plain(weight, bias) and all(
        type(mode) is DeviceContext for mode in _get_current_function_mode_stack()
    )


def _traced(input, weight, bias, policy):
    """_multiply in torch.compile, whose graph must have one operator for any shape. An exported
    program has none of our operators."""
    # The torch.compile of PyTorch 2.11 traces is_exporting() as true, so read the flag.
    if torch.compiler._is_exporting_flag or not are_plain(weight, bias):
        return functional.linear(input, weight, bias)
    return (WITH_GRADIENT if torch.is_grad_enabled() else WITHOUT)(input, weight, bias, policy)


class _Tuned:
    """The base of a patched layer beside its original class. PyTorch's tools see the original:
    pickled and scripted layers are of that class. A deep copy is patched."""

    # None: an unpatched layer of a class that a tool, such as a parametrization, derived from ours.
    _tunedgemm_policy = None

    def __deepcopy__(self, memo):
        twin = memo[id(self)] = type(self).__new__(type(self))
        twin.__dict__ = copy.deepcopy(self.__dict__, memo)
        return twin

    def __reduce_ex__(self, protocol):
        plain = self.__prepare_scriptable__()
        # With protocol 0 the class may differ from the layer's.
        return super().__reduce_ex__(protocol) if plain is self else plain.__reduce_ex__(0)

    def __prepare_scriptable__(self):
        original: Any = _originals().get(type(self))
        if original is None:
            return self
        plain = original.__new__(original)
        plain.__dict__ = {
            name: value for name, value in self.__dict__.items() if name != "_tunedgemm_policy"
        }
        return plain


def _linear_forward(self, input):
    return _multiply(input, self.weight, self.bias, self._tunedgemm_policy)


def _conv1d_forward(self, input):
    return _multiply(input, self.weight.T, self.bias, self._tunedgemm_policy)


@functools.cache
def _tuned(original, forward):
    """The class of a patched layer. It has the module of the original class, since torch.fx does
    not trace into layers of torch.nn."""
    return type(
        f"Tuned{original.__name__}",
        (_Tuned, original),
        {"forward": forward, "__module__": original.__module__},
    )


def _tuned_classes() -> dict[type, type]:
    """Maps the classes of layers that are patched to their replacements."""
    classes = {torch.nn.Linear: _tuned(torch.nn.Linear, _linear_forward)}
    # The layers of GPT-2 in the library transformers, whose weights are transposed.
    if conv1d := getattr(sys.modules.get("transformers.pytorch_utils"), "Conv1D", None):
        classes[conv1d] = _tuned(conv1d, _conv1d_forward)
    return classes


def _originals() -> dict[type, type]:
    return {tuned: original for original, tuned in _tuned_classes().items()}


def patch(model: torch.nn.Module, policy: Policy = "fail") -> _UntilEnd:
    """Lets each torch.nn.Linear of a model use a tuned kernel for the shapes that have one; PyTorch
    computes the others.

    policy: the kernels that may run, as for tunedgemm.plan: "fail": winners; "stored": any kernel
        in the cache file; "compile": also the cost model's choice; "tune": a winner, which the
        first call of a problem tunes.

    Returns a context manager whose end unpatches the model; `tunedgemm.torch.patch(model)` alone
    lasts until unpatch(model). Only the class of a layer changes, in place: parameters, state
    dicts, hooks and isinstance stay the same. Conv1D of the library transformers counts as a
    linear layer. Subclasses of torch.nn.Linear are not patched.

    Kernels multiply dense tensors of float64, float32, float16 or bfloat16 on the CPU or a GPU, in
    eager mode or compiled. PyTorch computes the gradients, the problems without a kernel, and
    everything else that its layers can do, with the same bits as unpatched: other tensors (nested,
    sparse, meta, subclasses), transforms of torch.func, forward-mode derivatives, autocast, modes
    such as a FLOP counter, torch.export, jit and fx. A pickled model is an unpatched one; a deep
    copy is patched. Unpatch a model before a tool replaces layers by their exact class, as
    torch.ao.quantization.quantize_dynamic does.

    The first call with a shape looks for a kernel, which stays for the life of the process. A
    problem without a kernel is looked up again after 1 s, then 2, 4, ... 64 s. torch.compile sees
    one operator for any shape. Warm up before capturing a CUDA graph, as always."""
    classes = _tuned_classes()
    for module in model.modules():
        if type(module) in classes:
            module.__class__ = classes[type(module)]
        if type(module) in classes.values():
            module._tunedgemm_policy = policy
    return _UntilEnd(model)


def unpatch(model: torch.nn.Module) -> None:
    """Undoes patch(model)."""
    originals = _originals()
    for module in model.modules():
        module.__class__ = originals.get(type(module), type(module))
        module.__dict__.pop("_tunedgemm_policy", None)


class _UntilEnd:
    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model

    def __enter__(self) -> torch.nn.Module:
        return self._model

    def __exit__(self, *error: object) -> None:
        unpatch(self._model)
