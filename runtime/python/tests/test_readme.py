"""The programs of the README and of the guide to the package run as printed."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[3]
NEEDS = {"torch": "2.10"}


def programs_of(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def check(program: str, names: dict, capsys) -> None:
    exec(compile(program, "the page", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    assert printed == re.findall(r"print\(.*\)  # (.*)", program)


def test_the_readme_runs(capsys):
    programs = programs_of("README.md")
    assert programs
    for program in programs:
        check(program, {}, capsys)


GUIDE = programs_of("tools/docs/python.md")
assert GUIDE


@pytest.fixture(scope="module")
def names() -> dict:
    """Of the blocks before, which the next ones use."""
    return {}


@pytest.mark.parametrize("number", range(len(GUIDE)))
def test_the_guide_runs(number, names, capsys):
    for module in re.findall(r"^import (\w+)", GUIDE[number], re.MULTILINE):
        pytest.importorskip(module, minversion=NEEDS.get(module))
    check(GUIDE[number], names, capsys)
