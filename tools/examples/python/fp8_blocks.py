"""A linear layer in the format of fp8 checkpoints such as DeepSeek-V3's: float8_e4m3fn weights with
a scale for each block of 128 x 128, and activations quantised as they come, with a scale for every
128 elements of a row. `python fp8_blocks.py` compares its result with the product of the
dequantised matrices, and with that of the matrices before they were quantised."""

import torch

import tunedgemm.torch  # noqa: F401 - defines the operators

BLOCK = 128
MOST = torch.finfo(torch.float8_e4m3fn).max


def quantised(x: torch.Tensor, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """x of shape (M, K) as float8_e4m3fn, and the float32 scales of its blocks of `rows` x 128, of
    shape (M / rows, K / 128). M and K are multiples of a block."""
    blocks = x.float().unflatten(0, (-1, rows)).unflatten(2, (-1, BLOCK))
    scales = blocks.abs().amax((1, 3)).clamp(min=1e-12) / MOST
    return (blocks / scales[:, None, :, None]).reshape(x.shape).to(torch.float8_e4m3fn), scales


def dequantised(x: torch.Tensor, scales: torch.Tensor, rows: int) -> torch.Tensor:
    return x.float() * scales.repeat_interleave(rows, 0).repeat_interleave(BLOCK, 1)


class Fp8Linear(torch.nn.Module):
    """The weight has shape (outputs, inputs), its scales (outputs / 128, inputs / 128)."""

    def __init__(self, weight: torch.Tensor):
        super().__init__()
        self.weight, self.scales = quantised(weight, BLOCK)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        activations, scales = quantised(x, 1)
        return torch.ops.tunedgemm.scaled_mm(
            activations, self.weight.T, scales, self.scales.T, out_dtype=x.dtype
        )


def main() -> None:
    torch.manual_seed(0)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        # Activations have columns of very different size, for which one scale would be too coarse.
        x = torch.randn(64, 512, dtype=torch.bfloat16) * torch.logspace(-3, 1, 512).bfloat16()
        layer = Fp8Linear(torch.randn(256, 512) / 512**0.5)
        weight = dequantised(layer.weight, layer.scales, BLOCK)
        inputs = dequantised(*quantised(x, 1), rows=1)
    y = layer(x).float()
    for what, expected in (
        ("dequantised", inputs @ weight.T),
        ("unquantised", x.float() @ weight.T),
    ):
        error = ((y - expected).norm() / expected.norm()).item()
        print(f"difference from the {what} product: {error:.1e} of its norm")


if __name__ == "__main__":
    main()
