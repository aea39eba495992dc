"""The GPU through PyTorch: operands that are not in the cache, checks, and times of launches in CUDA graphs."""
import math
from collections.abc import Callable
from dataclasses import dataclass

from triton_race.kind import Kind

MOST_COPIES = 4096
SEED = 1

Launch = Callable[[int], None]  # with the number of a copy of the operands


@dataclass
class Operands:
    a: object  # M x K
    b: object  # K x N; the view of a transposed matrix where the layout is nt
    d: object


def copies_for(input_bytes: int, l2_bytes: int) -> int:
    """So many that their bytes exceed twice the cache."""
    return min(max(2 * l2_bytes // input_bytes + 1, 2), MOST_COPIES)


class TimingGraph:
    """Launches over the copies one after the other, between two events, all in one CUDA graph."""

    def __init__(self, torch, stream, launch: Launch, copies: int, launches: int):
        self._torch, self._launches = torch, launches
        self._begin, self._end = (torch.cuda.Event(enable_timing=True, external=True) for _ in range(2))
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="relaxed"):
            launch(copies - 1)  # not timed: it starts on an idle device
            self._begin.record(stream)
            for index in range(launches):
                launch(index % copies)
            self._end.record(stream)

    def sample_us(self) -> float:
        """The time of one launch."""
        self._graph.replay()
        self._torch.cuda.synchronize()
        return self._begin.elapsed_time(self._end) * 1e3 / self._launches


class Gpu:
    """The first GPU and one stream of it, which must be PyTorch's current one."""

    def __init__(self, torch, device: str = "cuda:0"):
        self.torch, self._device = torch, device
        properties = torch.cuda.get_device_properties(0)
        self.name, self._l2_bytes = properties.name, properties.L2_cache_size
        self.stream = torch.cuda.Stream()

    def operands(self, kind: Kind, size: int) -> list[Operands]:
        """Random copies, each matrix in memory of its own and so aligned like the others."""
        self.torch.manual_seed(SEED)
        copies = copies_for(2 * size * size * kind.element_bytes, self._l2_bytes)
        return [self._random_operands(kind, size) for _ in range(copies)]

    def _random_operands(self, kind: Kind, size: int) -> Operands:
        options = {"dtype": self.torch.float16, "device": self._device}
        a, b = (self.torch.randn((size, size), **options).to(getattr(self.torch, kind.torch_type)) for _ in range(2))
        return Operands(a, b.T if kind.layout == "nt" else b, self.torch.empty((size, size), **options))

    def zeros(self, count: int):
        """Bytes."""
        return self.torch.zeros(count, dtype=self.torch.uint8, device=self._device)

    def expected(self, operands: Operands):
        """The product in f64."""
        return operands.a.float().double() @ operands.b.float().double()

    def poison(self, operands: Operands) -> None:
        operands.d.fill_(math.nan)

    def worst_error(self, operands: Operands, expected, slack: float) -> float:
        """The greatest of D's errors, each over its bound; NaN if D has one."""
        bound = slack * (math.sqrt(operands.a.shape[1]) + expected.abs())
        return ((operands.d.double() - expected).abs() / bound).max().item()

    def synchronize(self) -> None:
        self.torch.cuda.synchronize()

    def graph(self, launch: Launch, copies: int, launches: int) -> TimingGraph:
        return TimingGraph(self.torch, self.stream, launch, copies, launches)
