"""A candidate for the matrix products of torch.compile."""

import torch
from torch._inductor.kernel.mm import lazy_register_extern_choice

TYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def external_matmul(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """Writes a @ b to out: a candidate that TorchInductor times beside its own for each mm of a
    compiled model.

        torch._inductor.config.external_matmul.append(tunedgemm.torch.external_matmul)

    adds it, and must run in each process that may load compiled code from TorchInductor's cache.
    TorchInductor compares candidates in the mode "max-autotune". With
    torch._inductor.config.max_autotune_gemm_backends = "ATEN", torch.mm is the only other candidate
    and Triton does not compile some twenty kernels for each problem. torch.mm multiplies element
    types that the library does not support."""
    if a.dtype in TYPES:
        torch.ops.tunedgemm.mm.out(a, b, out=out)
        return out
    return torch.mm(a, b, out=out)


# TorchInductor registers a candidate when it first compiles; code from its cache runs without that.
lazy_register_extern_choice(external_matmul)
