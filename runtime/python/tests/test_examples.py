"""The programs in tools/examples/python run unchanged."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[3] / "tools/examples/python"


def run(name: str, *arguments) -> str:
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    ).stdout


def test_first_matmul():
    assert run("first_matmul.py").count("largest error") == 2


def test_serving_linear():
    pytest.importorskip("torch", minversion="2.10")
    assert "after tuning: largest difference" in run("serving_linear.py")


def test_fp8_blocks():
    pytest.importorskip("torch", minversion="2.10")
    errors = [
        float(error) for error in re.findall(r": ([\d.e-]+) of its norm", run("fp8_blocks.py"))
    ]
    # bfloat16 has 8 bits, float8_e4m3fn 4.
    assert len(errors) == 2 and errors[0] < 2**-8 and errors[0] < errors[1] < 2**-4


@pytest.mark.parametrize(
    "model,ways",
    [("tiny", ["eager", "eager + patch"]), ("tiny_moe", ["loop", "grouped_mm", "tuned"])],
)
def test_model_step(tmp_path, model, ways):
    pytest.importorskip("torch", minversion="2.10")
    pytest.importorskip("transformers", minversion="5" if model == "tiny_moe" else None)
    text = run(
        "model_step.py",
        model,
        "--tokens",
        "1",
        "9",
        "--ways",
        "eager",
        "--json",
        tmp_path / "tiny.json",
    )
    assert f"{model}, 9 tokens, us a step: {ways[0]} " in text
    rows = json.loads((tmp_path / "tiny.json").read_text())["rows"]
    assert [row["tokens"] for row in rows] == [1, 9] and list(rows[0]["us"]) == ways
