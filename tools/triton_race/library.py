"""libtunedgemm through its C interface: tunedgemm/tunedgemm.h says what everything here means."""
import ctypes
import pathlib
from ctypes import POINTER, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_void_p

from triton_race.kind import Kind
from triton_race.missing import Missing

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPE_F16, ROW_MAJOR, COLUMN_MAJOR, BACKEND_CUDA, POLICY_TUNE = 3, 0, 1, 2, 1


class LibraryError(Exception):
    """A call's status, with the library's message."""


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("backend", c_int32), ("ordinal", c_int32), ("host_threads", c_int32),
                ("cache_path", c_char_p), ("policy", c_int32), ("rigor", c_int32), ("tune_seconds", c_double),
                ("tune_candidates", c_int32)]


class Problem(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t),
                *((name, c_int64) for name in ("m", "n", "k", "batch")),
                *((name, c_int32) for name in ("type_a", "type_b", "type_d")),
                *((name, c_int32) for name in ("order_a", "order_b", "order_c", "order_d")),
                *((name, c_int64) for name in ("lda", "ldb", "ldc", "ldd")),
                *((f"batch_stride_{letter}", c_int64) for letter in "abcd"),
                *((name, c_int32) for name in ("activation", "bias", "numerics"))]


class Buffers(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t),
                *((name, c_void_p) for name in ("a", "b", "c", "d", "bias", "scale_a", "scale_b")),
                ("alpha", c_double), ("beta", c_double), ("slope", c_float),
                ("workspace", c_void_p), ("workspace_bytes", c_size_t)]


# What each returns and takes; a status is an int. ctypes passes the address of a struct, where a pointer is wanted.
FUNCTIONS = {
    "tunedgemm_context_options_init": (None, [POINTER(ContextOptions)]),
    "tunedgemm_context_create": (c_int32, [POINTER(ContextOptions), POINTER(c_void_p)]),
    "tunedgemm_context_destroy": (None, [c_void_p]),
    "tunedgemm_context_report": (c_size_t, [c_void_p, c_char_p, c_size_t]),
    "tunedgemm_problem_init": (None, [POINTER(Problem), c_int64, c_int64, c_int64, c_int32, c_int32, c_int32]),
    "tunedgemm_buffers_init": (None, [POINTER(Buffers)]),
    "tunedgemm_plan_create": (c_int32, [c_void_p, POINTER(Problem), POINTER(Buffers), POINTER(c_void_p)]),
    "tunedgemm_run": (c_int32, [c_void_p, POINTER(Buffers), c_void_p]),
    "tunedgemm_plan_workspace_bytes": (c_size_t, [c_void_p]),
    "tunedgemm_plan_description": (c_char_p, [c_void_p]),
    "tunedgemm_error_message": (c_char_p, []),
    "tunedgemm_status_name": (c_char_p, [c_int32]),
}


def find_library() -> str:
    """The newest that was built here, or the one that the loader finds."""
    folders = ("build/*", "build-*", "build")
    built = [path for folder in folders for path in ROOT.glob(f"{folder}/runtime/libtunedgemm.so")]
    return str(max(built, key=lambda path: path.stat().st_mtime)) if built else "libtunedgemm.so"


class Library:
    """One context on the first GPU, whose policy is to tune. Close it after the last use of its plans."""

    def __init__(self, path: str, backend: int = BACKEND_CUDA):
        try:
            self._library = ctypes.CDLL(path)
            for name, (result, arguments) in FUNCTIONS.items():
                function = getattr(self._library, name)
                function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError) as error:
            raise Missing(f"libtunedgemm.so cannot be used: {error}; build it, or name it by --library") from error
        options = ContextOptions()
        self._library.tunedgemm_context_options_init(options)
        options.backend, options.policy = backend, POLICY_TUNE
        self._context = c_void_p()
        self._check("making a context", self._library.tunedgemm_context_create(options, self._context))

    def close(self) -> None:
        self._library.tunedgemm_context_destroy(self._context)
        self._context = c_void_p()

    def toolchain(self) -> tuple[str, str]:
        """The compiler and the driver, as the context's report names them."""
        text = ctypes.create_string_buffer(1 << 16)
        self._library.tunedgemm_context_report(self._context, text, len(text))
        lines = text.value.decode(errors="replace").splitlines()
        found = next((line.removeprefix("toolchain").strip() for line in lines if line.startswith("toolchain")), "")
        compiler, _, driver = found.partition(", ")
        return compiler or "unknown", driver or "unknown"

    def buffers(self, a: int, b: int, d: int) -> Buffers:
        buffers = Buffers()
        self._library.tunedgemm_buffers_init(buffers)
        buffers.a, buffers.b, buffers.d = a, b, d
        return buffers

    def plan(self, kind: Kind, size: int, buffers: Buffers) -> c_void_p:
        """For M = N = K = size. Tunes, where the cache has no winner."""
        problem, plan = Problem(), c_void_p()
        self._library.tunedgemm_problem_init(problem, size, size, size, kind.number, kind.number, TYPE_F16)
        problem.order_b = COLUMN_MAJOR if kind.layout == "nt" else ROW_MAJOR
        self._check(f"a plan for {kind.types} {size}",
                    self._library.tunedgemm_plan_create(self._context, problem, buffers, plan))
        return plan

    def run(self, plan: c_void_p, buffers: Buffers, stream: int) -> None:
        self._check("a launch", self._library.tunedgemm_run(plan, buffers, stream))

    def workspace_bytes(self, plan: c_void_p) -> int:
        return self._library.tunedgemm_plan_workspace_bytes(plan)

    def description(self, plan: c_void_p) -> str:
        return self._library.tunedgemm_plan_description(plan).decode(errors="replace")

    def _check(self, what: str, status: int) -> None:
        if status != 0:
            name, message = self._library.tunedgemm_status_name(status), self._library.tunedgemm_error_message()
            raise LibraryError(f"{what}: {name.decode(errors='replace')}: {message.decode(errors='replace')}")
