"""patch and unpatch: the linear layers of a model by tuned kernels, where there are any."""
import contextlib
import functools
import sys

import torch
from torch.nn import functional

WITH_GRADIENT, WITHOUT = torch.ops.tunedgemm.tuned_linear.default, torch.ops.tunedgemm.tuned_linear.no_grad


def _multiply(layer, input, weight):
    """input @ weight.T + bias."""
    if torch.is_autocast_enabled(input.device.type):
        return functional.linear(input, weight, layer.bias)
    operator = WITH_GRADIENT if torch.is_grad_enabled() else WITHOUT
    return operator(input, weight, layer.bias, layer._tunedgemm_policy)


class TunedLinear(torch.nn.Linear):
    """A layer of a patched model. It has the parameters, hooks and names of the layer that it was."""

    def forward(self, input):
        return _multiply(self, input, self.weight)


@functools.cache
def _tuned_conv1d(conv1d):
    """The same for the layers of GPT-2 in the library transformers, whose weights are transposed."""
    def forward(self, input):
        return _multiply(self, input, self.weight.T)
    return type("TunedConv1D", (conv1d,), {"forward": forward})


def _tuned_classes() -> dict:
    """The classes of layers that are patched, with those that take their place."""
    classes = {torch.nn.Linear: TunedLinear}
    if conv1d := getattr(sys.modules.get("transformers.pytorch_utils"), "Conv1D", None):
        classes[conv1d] = _tuned_conv1d(conv1d)
    return classes


def patch(model, policy="fail"):
    """Lets each torch.nn.Linear of a model use a tuned kernel for the shapes that have one; PyTorch computes the others.

    policy: the kernels that count: "fail", winners only; "stored", any kernel in the cache file; "compile", also one that the cost model
        chooses; "tune" tunes each new shape at its first call. As for tunedgemm.plan.

    Returns a context manager whose end unpatches the model; `tunedgemm.torch.patch(model)` alone lasts until unpatch(model). Layers are
    changed in place, by their class: parameters, state dicts, hooks and isinstance stay as they were. Conv1D of the library transformers
    counts as a linear layer. Subclasses of torch.nn.Linear and autocast regions are left alone.

    The library is asked at the first call with a shape. A yes is kept for the life of the process; after a no it is asked again a second
    later, then after twice as long each time, up to a minute. It is asked below torch.compile, which sees one operator for any shape; later
    calls look the answer up in a table. Warm up before capturing a CUDA graph, as always. Gradients are computed by PyTorch."""
    classes = _tuned_classes()
    for module in model.modules():
        if type(module) in classes:
            module.__class__ = classes[type(module)]
        if type(module) in classes.values():
            module._tunedgemm_policy = policy
    return _until_end(model)


def unpatch(model):
    """Undoes patch(model)."""
    originals = {tuned: original for original, tuned in _tuned_classes().items()}
    for module in model.modules():
        if type(module) in originals:
            module.__class__ = originals[type(module)]
            del module._tunedgemm_policy


class _until_end(contextlib.AbstractContextManager):
    def __init__(self, model):
        self._model = model

    def __enter__(self):
        return self._model

    def __exit__(self, *error):
        unpatch(self._model)
