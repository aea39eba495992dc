#!/usr/bin/env python3
"""Tests the README: compiles and runs its programs, and runs its commands and queries.

    readme_test.py --readme README.md --include DIR --library FILE --tools DIR

Every ```cpp and ```c block is a complete program; it must compile without warnings, run, and exit with
0. Every ```sh block is run line by line; each line must exit with 0.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMPILERS = {"cpp": [os.environ.get("CXX", "c++"), "-std=c++20"], "c": [os.environ.get("CC", "cc"), "-std=c99"]}


def run(command, **options) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    if result.returncode != 0:
        sys.exit(f"{command}\nexit status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("readme", "include", "library", "tools"):
        parser.add_argument(f"--{option}", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    blocks = BLOCK.findall(arguments.readme.read_text(encoding="utf-8"))
    assert {kind for kind, _ in blocks} >= {"cpp", "c", "sh"}, "the README has lost its code"

    with tempfile.TemporaryDirectory() as folder:
        # Use policy compile, since a tuning with default options would take too long.
        environment = os.environ | {
            "TUNEDGEMM_CACHE": f"{folder}/cache.db",
            "TUNEDGEMM_POLICY": "compile",
            "PATH": f"{arguments.tools}:{os.environ['PATH']}",
        }
        for number, (kind, text) in enumerate(blocks):
            if kind not in COMPILERS:
                continue
            source = pathlib.Path(folder, f"block{number}.{kind}")
            source.write_text(text, encoding="utf-8")
            program = source.with_suffix("")
            run([*COMPILERS[kind], "-Wall", "-Wextra", "-Werror", f"-I{arguments.include}", str(source), "-o",
                 str(program), str(arguments.library), f"-Wl,-rpath,{arguments.library.parent}"])
            print(f"block {number} ({kind}) prints: {run([str(program)], env=environment).strip()}")

        lines = [line for kind, text in blocks if kind == "sh" for line in text.splitlines() if line.strip()]
        # The commands that fill the cache go first.
        for line in sorted(lines, key=lambda line: not line.startswith("tune-all --types")):
            output = run(["bash", "-c", line], env=environment, cwd=folder)
            print(f"{line}\n{output}")
            assert "from best" not in line or output, "the view best is empty"


if __name__ == "__main__":
    main()
