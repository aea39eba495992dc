"""The README's program runs as printed."""

import pathlib
import re

README = pathlib.Path(__file__).parents[3] / "README.md"


def test_the_readme_runs(capsys):
    programs = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert programs
    for program in programs:
        exec(compile(program, str(README), "exec"), {})
        printed = capsys.readouterr().out.splitlines()
        assert printed == re.findall(r"print\(.*\)  # (.*)", program)
