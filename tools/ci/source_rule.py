"""The command line and the self-test of a rule about source files, for check_layers.py and
check_environment.py."""

import pathlib
import sys
import tempfile
from collections.abc import Callable, Mapping

Violations = Callable[[pathlib.Path], list[str]]


def self_test(violations: Violations, wrong: Mapping[str, str], right: Mapping[str, str]) -> int:
    """Writes the files, name to text, into a folder of their own. Returns 1 if the rule misses a
    wrong one or complains of a right one."""
    files = {**wrong, **right}
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text + "\n", encoding="utf-8")
        seen = {line.split(":")[0] for line in violations(root)}
    missed, false = set(wrong) - seen, seen - set(wrong)
    for name in sorted(missed):
        print(f"missed: {name}: {wrong[name]}")
    for name in sorted(false):
        print(f"false alarm: {name}: {right[name]}")
    return 1 if missed or false else 0


def run(
    violations: Violations, wrong: Mapping[str, str], right: Mapping[str, str], success: str
) -> int:
    """The exit status of the script: 1 and a line for every violation in this tree, or `success`;
    with --self-test the result of self_test()."""
    if sys.argv[1:] == ["--self-test"]:
        return self_test(violations, wrong, right)
    found = violations(pathlib.Path(__file__).resolve().parents[2])
    print("\n".join(found) if found else success)
    return 1 if found else 0
