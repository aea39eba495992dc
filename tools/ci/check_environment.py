#!/usr/bin/env python3
"""Checks that only kernel_templates/base/environment.cpp reads the environment.

No other source of the library and its tools may call getenv or its variants, use environ, or call a
function that reads the environment implicitly: a PATH search, the C++ library's temporary folder.
Otherwise a set-uid program would let its caller choose what is executed.

    tools/ci/check_environment.py          exit status 1 and a line for every violation
    tools/ci/check_environment.py --self-test
"""

import pathlib
import re
import sys

from source_rule import run

LAYERS = ["kernel_templates", "cache", "tuner", "runtime", "tools"]
SUFFIXES = {".h", ".hpp", ".c", ".cpp"}
ENVIRONMENT_SOURCE = "kernel_templates/base/environment.cpp"
# Examples are user programs.
EXCEPT = "tools/examples/"
READS = re.compile(
    r"\b(getenv|secure_getenv|__secure_getenv|environ|__environ|execvpe?|execlp|posix_spawnp|popen"
    r"|temp_directory_path|tmpnam|tempnam|tmpfile|wordexp)\b|\bstd::system\b"
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def violations(root: pathlib.Path) -> list[str]:
    found = []
    for layer in LAYERS:
        for path in sorted((root / layer).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix not in SUFFIXES or name == ENVIRONMENT_SOURCE or name.startswith(EXCEPT):
                continue
            text = COMMENT.sub(blank, path.read_text(encoding="utf-8"))
            for match in READS.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found.append(
                    f"{name}:{line}: {match.group()}: use kernel_templates/base/environment.h"
                )
    return found


# For the self-test: a violation of each kind, and valid files.
WRONG = {
    "cache/a.cpp": 'const char* a = std::getenv("HOME");',
    "runtime/host/b.cpp": 'const char* b = secure_getenv("CXX");',
    "runtime/c.cpp": "posix_spawnp(&child, name, 0, 0, arguments, 0);",
    "runtime/d.cpp": "posix_spawn(&child, name, 0, 0, arguments, environ);",
    "tools/tunedgemm/e.cpp": "const auto e = fs::temp_directory_path();",
    "tools/shared/f.cpp": 'std::system("ls");',
    "tuner/g.h": 'inline FILE* g() { return popen("ls", "r"); }',
}
RIGHT = {
    ENVIRONMENT_SOURCE: "char** all = environ;",
    "cache/h.cpp": 'const std::string h = environment("HOME");  // not getenv',
    "tools/examples/i.cpp": 'std::getenv("HOME");',
    "tests/runtime/j.cpp": 'std::getenv("HOME");',
}

if __name__ == "__main__":
    sys.exit(run(violations, WRONG, RIGHT, f"only {ENVIRONMENT_SOURCE} reads the environment"))
