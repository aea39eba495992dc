"""Who races. A contender launches for a copy of the operands and, after its first launch, says which kernel that runs."""
from collections.abc import Callable

from triton_race.gpu import Gpu, Operands
from triton_race.kind import Kind
from triton_race.library import Library


class TunedContender:
    """Our winner; making the contender tunes."""
    name = "tuned"

    def __init__(self, gpu: Gpu, library: Library, kind: Kind, sets: list[Operands]):
        self._library, self._stream = library, gpu.stream.cuda_stream
        self._buffers = [library.buffers(*(matrix.data_ptr() for matrix in (one.a, one.b, one.d))) for one in sets]
        gpu.synchronize()  # the tuner has a stream of its own
        self._plan = library.plan(kind, sets[0].a.shape[0], self._buffers[0])
        if workspace_bytes := library.workspace_bytes(self._plan):
            self._workspace = gpu.zeros(workspace_bytes)
            for buffers in self._buffers:
                buffers.workspace, buffers.workspace_bytes = self._workspace.data_ptr(), workspace_bytes

    def launch(self, copy: int) -> None:
        self._library.run(self._plan, self._buffers[copy], self._stream)

    def kernel(self) -> str:
        return self._library.description(self._plan)


class TritonContender:
    """The first launch tunes."""
    name = "triton"

    def __init__(self, sets: list[Operands]):
        from triton_race import triton_matmul  # here, as it needs Triton
        self._matmul, self._sets = triton_matmul, sets

    def launch(self, copy: int) -> None:
        one = self._sets[copy]
        self._matmul.multiply(one.a, one.b, one.d)

    def kernel(self) -> str:
        return self._matmul.config_text()


class CublasContender:
    name = "cublas"

    def __init__(self, gpu: Gpu, sets: list[Operands]):
        self._matmul, self._sets = gpu.torch.matmul, sets

    def launch(self, copy: int) -> None:
        one = self._sets[copy]
        self._matmul(one.a, one.b, out=one.d)

    def kernel(self) -> str:
        return ""  # it does not say


def contender_makers(gpu: Gpu, library: Library, kind: Kind, sets: list[Operands]) -> dict[str, Callable]:
    """By name. Making a contender may compile and tune, and may fail."""
    makers = {"tuned": lambda: TunedContender(gpu, library, kind, sets), "triton": lambda: TritonContender(sets)}
    if not kind.is_fp8:  # torch.matmul does not take it
        makers["cublas"] = lambda: CublasContender(gpu, sets)
    return makers
