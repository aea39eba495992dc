"""A linear layer's method in the shape that vLLM and SGLang ask for: create_weights,
process_weights_after_loading, apply.

Their linear layers own the weight and call an object of this kind to multiply. Problems with a
winner in the cache run its kernel, all others run PyTorch's; nothing is tuned or compiled while
requests are served. In vLLM, return a TunedLinearMethod from a quantization config's
get_quant_method() for its LinearBase layers. `python serving_linear.py` runs a small layer with the
same methods."""

from typing import Any

import torch

import tunedgemm.torch


class TunedLinearMethod:
    """For weights of float32, float16 or bfloat16, of shape (outputs of this rank, inputs of this
    rank)."""

    def create_weights(
        self,
        layer: torch.nn.Module,
        input_size_per_partition: int,
        output_partition_sizes: list[int],
        input_size: int,
        output_size: int,
        params_dtype: torch.dtype,
        **extra_weight_attrs: Any,
    ) -> None:
        weight = torch.nn.Parameter(
            torch.empty(sum(output_partition_sizes), input_size_per_partition, dtype=params_dtype),
            requires_grad=False,
        )
        for name, value in extra_weight_attrs.items():  # such as the loader that fills the weight
            setattr(weight, name, value)
        layer.register_parameter("weight", weight)

    def process_weights_after_loading(self, layer: torch.nn.Module) -> None:
        """Weights stay as they are: a kernel is tuned for this layout."""

    def apply(
        self, layer: torch.nn.Module, x: torch.Tensor, bias: torch.Tensor | None = None
    ) -> torch.Tensor:
        return torch.ops.tunedgemm.tuned_linear.no_grad(x, layer.weight, bias)


class ColumnParallelLinear(torch.nn.Module):
    """Like the serving program's layer: one of `ranks` that share the outputs."""

    def __init__(
        self, inputs: int, outputs: int, ranks: int, dtype: torch.dtype, method: TunedLinearMethod
    ):
        super().__init__()
        self.method = method
        method.create_weights(self, inputs, [outputs // ranks], inputs, outputs, dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.method.apply(self, x)


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.device(device):
        layer = ColumnParallelLinear(
            256, 1024, ranks=4, dtype=torch.float32, method=TunedLinearMethod()
        )
        torch.nn.init.normal_(layer.weight)
        x = torch.randn(8, 256)
    own = torch.nn.functional.linear(x, layer.weight)
    for what in ("before tuning", "after tuning"):
        difference = (layer(x) - own).abs().max().item()
        print(f"{what}: largest difference from torch's product {difference:.1e}")
        with tunedgemm.torch.record() as shapes:
            layer(x)
        shapes.tune()


if __name__ == "__main__":
    main()
