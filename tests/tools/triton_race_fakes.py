"""What the tests of bench_triton.py put in the place of PyTorch, Triton, the GPU and the contenders."""
import contextlib
import pathlib
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class FakeTriton:
    """Modules in Triton's place that note what the kernel is decorated and launched with."""

    def __init__(self):
        self.launches, self.tunings = [], []
        language = types.ModuleType("triton.language")
        language.constexpr = object
        self.triton = types.ModuleType("triton")
        self.triton.language = language
        self.triton.jit = lambda function: function
        self.triton.cdiv = lambda number, part: -(-number // part)
        self.triton.Config = lambda knobs, num_stages, num_warps: types.SimpleNamespace(
            kwargs=knobs, num_stages=num_stages, num_warps=num_warps)
        self.triton.autotune = self.autotune
        self.modules = {"triton": self.triton, "triton.language": language}

    def autotune(self, key, configs):
        self.tunings.append((key, configs))
        fake = self

        class Kernel:
            best_config = configs[0]

            def __getitem__(self, grid):
                return lambda *arguments: fake.launches.append((grid(configs[0].kwargs), arguments))
        return lambda function: Kernel()


class FakeTorch:
    """The part of PyTorch that gpu.py uses, with a log of what the stream sees."""
    float16, float8_e5m2, uint8 = "float16", "float8_e5m2", "uint8"

    def __init__(self):
        self.log = []
        properties = types.SimpleNamespace(name="A GPU", L2_cache_size=1000)
        self.cuda = types.SimpleNamespace(
            get_device_properties=lambda ordinal: properties, Stream=lambda: "the stream", Event=self.event,
            CUDAGraph=lambda: types.SimpleNamespace(replay=lambda: self.log.append("replay")), graph=self.capture,
            synchronize=lambda: self.log.append("synchronize"))
        self.manual_seed = lambda seed: None

    def event(self, enable_timing: bool, external: bool):
        assert enable_timing and external
        return types.SimpleNamespace(record=lambda stream: self.log.append(f"event on {stream}"),
                                     elapsed_time=lambda end: 3.0)

    @contextlib.contextmanager
    def capture(self, graph, stream, capture_error_mode):
        self.log.append(f"capture {stream}")
        yield
        self.log.append("end of capture")

    def matrix(self, shape, dtype, device, filled=True):
        assert device == "cuda:0"
        made = types.SimpleNamespace(shape=shape, dtype=dtype, filled=filled, T=f"transposed {dtype}")
        made.to = lambda dtype: self.matrix(shape, dtype, device)
        return made

    def randn(self, shape, dtype, device):
        return self.matrix(shape, dtype, device)

    def empty(self, shape, dtype, device):
        return self.matrix(shape, dtype, device, filled=False)


class FakeGpu:
    """Its samples take what `times` says, and a result is as wrong as `errors` says."""
    name = "A GPU"

    def __init__(self, times: dict, errors: dict | None = None):
        self.times, self.errors = times, errors or {}
        self.replays, self.latest, self.launches, self.poisoned = [], None, set(), 0

    def synchronize(self):
        pass

    def operands(self, kind, size):
        return [f"{kind.name} {size} copy {copy}" for copy in range(5)]

    def expected(self, operands):
        return operands

    def poison(self, operands):
        self.poisoned += 1

    def worst_error(self, operands, expected, slack):
        return self.errors.get(self.latest, 0.25)

    def graph(self, launch, copies, launches):
        self.launches.add(launches)
        name = launch.__self__.name
        return types.SimpleNamespace(sample_us=lambda: self.sample(name))

    def sample(self, name: str) -> float:
        self.latest = name
        self.replays.append(name)
        return self.times[name][len(self.replays) % len(self.times[name])]


class FakeContender:
    def __init__(self, name: str):
        self.name = name

    def launch(self, copy: int) -> None:
        pass

    def kernel(self) -> str:
        return f"kernel of {self.name}"


def make_fake_contenders(kind, sets) -> dict:
    names = ("tuned", "triton") if kind.is_fp8 else ("tuned", "triton", "cublas")
    return {name: lambda name=name: FakeContender(name) for name in names}


TIMES = {"tuned": [10.0], "triton": [15.0], "cublas": [8.0]}
