#!/usr/bin/env python3
"""Checks the include rule: kernel_templates <- cache <- tuner <- runtime <- tools, tests.

A file may include its own layer or a lower one, by its path from the root; within cache/ and
runtime/ the folders have an order, too. Only cache/sqlite/ may include SQLite, only cache/ its own
folders, only runtime/cuda/ CUDA and NVRTC. Kernels may include only files of the backends' folders
in kernel_templates/ and two tables of problem/, by relative paths, so that NVRTC needs no include
path. Examples may include only the public headers.

    tools/ci/check_layers.py          exit status 1 and a line for every violation
    tools/ci/check_layers.py --self-test
"""

import pathlib
import posixpath
import re
import sys

from source_rule import run

LAYERS = ["kernel_templates", "cache", "tuner", "runtime", "tools", "tests"]
FOLDERS = {
    "cache": ["sqlite", "file", "tables", "archive"],
    "runtime": ["process", "evaluation", "host", "cuda", "tuning", "context", "calls", "worker"],
}
SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".cc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

# Third-party headers, and the files that may include them.
OWNERS = [
    (re.compile(r"^sqlite3"), ("cache/sqlite/", "tests/cache/")),
    (
        re.compile(r"^(cuda|nvrtc|nvml|cublas|driver_types|cooperative_groups)"),
        (
            "runtime/cuda/",
            "tests/tools/front/cublas_calls.cpp",
            "tools/examples/04_cuda_stream.cpp",
            "tools/examples/08_cuda_threads.cpp",
        ),
    ),
    (
        re.compile(r"^spdlog"),
        ("kernel_templates/base/log.cpp", "tests/runtime/fake_cuda/fake_gpu.cpp"),
    ),
    (re.compile(r"^catch2"), ("tests/support/",)),
    (re.compile(r"^CLI/"), ("tools/",)),
    (re.compile(r"^nlohmann/"), ("tools/", "tests/tools/")),
]


KERNEL_FOLDER = re.compile(r"^kernel_templates/(?!problem/|base/)\w+/")
# Files of problem/ that kernels may include.
KERNEL_TABLES = {
    "kernel_templates/problem/activation.h",
    "kernel_templates/problem/element_format.h",
    "kernel_templates/problem/grouping.h",
    "kernel_templates/problem/scaling.h",
}
# These files take the place of kernel code.
EMULATED = "tests/runtime/emulated_gpu/"


def is_kernel_code(name: str) -> bool:
    """Files that kernel compilers read; host halves include them by their path from the root."""
    path = pathlib.PurePath(name)
    is_shared_header = path.name in {"shape.h", "vector.h"} or path.parent.name == "common"
    return name in KERNEL_TABLES or (
        bool(KERNEL_FOLDER.match(name))
        and (path.suffix in {".cu", ".cuh", ".cc"} or (path.suffix == ".h" and is_shared_header))
    )


def complaint(name: str, quote: str, included: str) -> str:
    """Why the file `name` must not include `included`, or ""."""
    layer = name.split("/")[0]
    first = included.split("/")[0]
    for pattern, owners in OWNERS:
        if pattern.match(included):
            return "" if name.startswith(owners) else f"only {' and '.join(owners)} may include it"
    if name.startswith(EMULATED) and not name.endswith("_test.cpp"):
        return ""
    if is_kernel_code(name):
        if quote == "<":
            is_standard = "/" not in included and "." not in included
            return "" if is_standard else "kernels include no library headers"
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), included))
        is_kernel_file = (
            KERNEL_FOLDER.match(target) or target in KERNEL_TABLES
        ) and first not in LAYERS
        return "" if is_kernel_file else "kernels include only kernel files, by relative paths"
    if first == "tunedgemm":  # the public headers
        return (
            ""
            if layer in ("runtime", "tools", "tests")
            else "lower layers do not include the public headers"
        )
    if quote == "<":
        return "belongs to this tree: use quotes" if first in LAYERS else ""
    if first not in LAYERS:
        return "use the path from the root, such as cache/store.h"
    if re.match(r"^cache/\w+/", included) and not name.startswith(
        ("cache/", "tests/cache/", "tests/fuzz/cache_file_fuzz.cpp")
    ):
        return "the folders of cache/ are private: use cache/store.h or cache/record.h"
    if name.startswith("tools/examples/"):
        return "examples use only the public headers"
    if layer == "tests" or (layer == "tools" and first != "tests"):
        return ""
    own, other = name.split("/")[1], included.split("/")[1]
    order = FOLDERS.get(layer, [])
    if first == layer and own in order and other in order and order.index(other) > order.index(own):
        return f"in {layer}/, {own} is below {other}"
    return f"{layer} is below {first}" if LAYERS.index(first) > LAYERS.index(layer) else ""


def violations(root: pathlib.Path) -> list[str]:
    found = []
    for layer in LAYERS:
        for path in sorted((root / layer).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            name = path.relative_to(root).as_posix()
            text = path.read_text(encoding="utf-8")
            for match in INCLUDE.finditer(text):
                why = complaint(name, *match.groups())
                if why:
                    line = text.count("\n", 0, match.start()) + 1
                    found.append(f"{name}:{line}: {match.group(2)}: {why}")
    return found


# For the self-test: a violation of each kind, and valid files.
WRONG = {
    "kernel_templates/a.h": '#include "cache/store.h"',
    "cache/b.cpp": '#include "tuner/tune.h"',
    "cache/c.cpp": '#include "store.h"',
    "cache/d.cpp": "#include <tuner/tune.h>",
    "cache/sqlite/aa.cpp": '#include "cache/tables/rows.h"',
    "tuner/e.cpp": "#include <sqlite3.h>",
    "tuner/f.cpp": "  #  include <cuda.h>",
    "runtime/host/g.cpp": "#include <nvrtc.h>",
    "runtime/h.cpp": "#include <sqlite3.h>",
    "runtime/tuning/z.cpp": '#include "runtime/context/context.h"',
    "tools/examples/i.cpp": '#include "runtime/context/context.h"',
    "kernel_templates/cuda/j.cu": "#include <cuda_fp16.h>",
    "tools/shared/k.h": '#include "tests/support/catch.h"',
    "cache/l.h": '#include "tunedgemm/tunedgemm.h"',
    "cache/tables/v.cpp": "#include <sqlite3.h>",
    "tools/tunedgemm/w.cpp": '#include "cache/tables/winner_rows.h"',
    "tuner/m.cpp": "#include <spdlog/spdlog.h>",
    "kernel_templates/cuda/common/n.cuh": "#include <cuda/std/array>",
    "kernel_templates/cuda/simt/shape.h": '#include "kernel_templates/cuda/geometry.h"',
    "kernel_templates/problem/activation.h": '#include "kernel_templates/problem/problem.h"',
    "kernel_templates/host/common/x.h": '#include "../../problem/problem.h"',
}
RIGHT = {
    "kernel_templates/cuda/mma/o.cu": '#include "../common/number.cuh"',
    "kernel_templates/cuda/common/y.cuh": '#include "../../problem/activation.h"',
    "kernel_templates/cuda/mma/family.cpp": '#include "kernel_templates/cuda/mma/shape.h"',
    "kernel_templates/host/blocked/p.cc": '#include <cmath>\n#include "../common/number.h"',
    "cache/sqlite/q.cpp": '#include <sqlite3.h>\n#include "kernel_templates/problem/problem.h"',
    "runtime/cuda/r.cpp": '#include <cuda.h>\n#include "tuner/tune.h"',
    "tools/tunedgemm/s.cpp": '#include <CLI/CLI.hpp>\n#include "runtime/context/context.h"',
    "tools/examples/t.cpp": "#include <tunedgemm/tunedgemm.hpp>\n#include <vector>",
    "tests/cache/u_test.cpp": '#include "tests/support/catch.h"\n#include "cache/store.h"',
}

if __name__ == "__main__":
    sys.exit(run(violations, WRONG, RIGHT, "every include follows the rule"))
