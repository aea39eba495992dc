"""A candidate for the matrix products of torch.compile."""
import torch

TYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def external_matmul(a, b, out):
    """Writes a @ b to out: a candidate that TorchInductor times beside its own for each product of a compiled model.

        torch._inductor.config.external_matmul.append(tunedgemm.torch.external_matmul)

    adds it. TorchInductor compares candidates in the mode "max-autotune". Element types that the library does not multiply are left to
    torch.mm."""
    if a.dtype in TYPES:
        torch.ops.tunedgemm.mm.out(a, b, out=out)
        return out
    return torch.mm(a, b, out=out)
