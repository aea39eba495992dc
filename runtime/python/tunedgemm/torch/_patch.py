"""patch and unpatch: the linear layers of a model by tuned kernels, where there are any."""
import contextlib

import torch
from torch.nn import functional

WITH_GRADIENT, WITHOUT = torch.ops.tunedgemm.tuned_linear.default, torch.ops.tunedgemm.tuned_linear.no_grad


class TunedLinear(torch.nn.Linear):
    """A layer of a patched model. It has the parameters, hooks and names of the layer that it was."""

    def forward(self, input):
        if torch.is_autocast_enabled(input.device.type):
            return functional.linear(input, self.weight, self.bias)
        operator = WITH_GRADIENT if torch.is_grad_enabled() else WITHOUT
        return operator(input, self.weight, self.bias, self._tunedgemm_policy)


def patch(model, policy="fail"):
    """Lets each torch.nn.Linear of a model use a tuned kernel for the shapes that have one; PyTorch computes the others.

    policy: the kernels that count: "fail", winners only; "stored", any kernel in the cache file; "compile", also one that the cost model
        chooses; "tune" tunes each new shape at its first call. As for tunedgemm.plan.

    Returns a context manager whose end unpatches the model; `tunedgemm.torch.patch(model)` alone lasts until unpatch(model). Layers are
    changed in place, by their class: parameters, state dicts, hooks and isinstance stay as they were. Subclasses of torch.nn.Linear and
    autocast regions are left alone.

    The library is asked at the first call with a shape. A yes is kept for the life of the process; after a no it is asked again a second
    later, then after twice as long each time, up to a minute. The question is asked below torch.compile, which sees one operator for any shape, and costs a look-up in a table at later calls. Warm up before
    capturing a CUDA graph, as always. Gradients are computed by PyTorch."""
    for module in model.modules():
        if type(module) in (torch.nn.Linear, TunedLinear):
            module.__class__ = TunedLinear
            module._tunedgemm_policy = policy
    return _until_end(model)


def unpatch(model):
    """Undoes patch(model)."""
    for module in model.modules():
        if type(module) is TunedLinear:
            module.__class__ = torch.nn.Linear
            del module._tunedgemm_policy


class _until_end(contextlib.AbstractContextManager):
    def __init__(self, model):
        self._model = model

    def __enter__(self):
        return self._model

    def __exit__(self, *error):
        unpatch(self._model)
