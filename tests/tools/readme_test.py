#!/usr/bin/env python3
"""Tests the README: compiles and runs its programs, and runs its commands and queries.

    readme_test.py --readme README.md --include DIR --library FILE --tools DIR

Every ```cpp and ```c block is a complete program; it must compile without warnings, run, and exit
with 0. The ```sh blocks run in their order, as printed, with $TUNEDGEMM_CACHE and without it; each
of their commands must succeed. runtime/python/tests runs the ```python block.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMPILERS = {
    "cpp": [os.environ.get("CXX", "c++"), "-std=c++20"],
    "c": [os.environ.get("CC", "cc"), "-std=c99"],
}


def run(command, **options) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    if result.returncode != 0:
        sys.exit(f"{command}\nexit status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for option in ("readme", "include", "library", "tools"):
        parser.add_argument(f"--{option}", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    blocks = BLOCK.findall(arguments.readme.read_text(encoding="utf-8"))
    assert {kind for kind, _ in blocks} >= {"cpp", "c", "sh"}, "the README has lost its code"

    with tempfile.TemporaryDirectory() as folder:
        # Use policy compile, since a tuning with default options would take too long.
        with_default = {
            name: value
            for name, value in os.environ.items()
            if name not in ("TUNEDGEMM_CACHE", "XDG_CACHE_HOME")
        } | {
            "HOME": f"{folder}/home",
            "TUNEDGEMM_POLICY": "compile",
            "PATH": f"{arguments.tools}:{os.environ['PATH']}",
        }
        with_cache = with_default | {"TUNEDGEMM_CACHE": f"{folder}/cache.db"}
        for number, (kind, text) in enumerate(blocks):
            if kind not in COMPILERS:
                continue
            source = pathlib.Path(folder, f"block{number}.{kind}")
            source.write_text(text, encoding="utf-8")
            program = source.with_suffix("")
            run(
                [
                    *COMPILERS[kind],
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                    f"-I{arguments.include}",
                    str(source),
                    "-o",
                    str(program),
                    str(arguments.library),
                    f"-Wl,-rpath,{arguments.library.parent}",
                ]
            )
            print(f"block {number} ({kind}) prints: {run([str(program)], env=with_cache).strip()}")

        for environment in (with_cache, with_default):
            pathlib.Path(environment["HOME"]).mkdir(exist_ok=True)
            for kind, text in blocks:
                if kind == "sh":
                    work = tempfile.mkdtemp(dir=folder)
                    print(run(["bash", "-euxo", "pipefail", "-c", text], env=environment, cwd=work))
        for cache in (f"{folder}/cache.db", f"{folder}/home/.cache/tunedgemm/tunedgemm.db"):
            assert int(run(["sqlite3", cache, "select count(*) from best"])) >= 2, (
                f"the view best of {cache} lacks winners"
            )


if __name__ == "__main__":
    main()
