"""tools/measure/bench_grouped.py runs on the CPU, and finds wrong results."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", minversion="2.10")

SCRIPT = pathlib.Path(__file__).parents[3] / "tools/measure/bench_grouped.py"


@pytest.fixture(scope="module")
def script():
    specification = importlib.util.spec_from_file_location("bench_grouped", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def run(*arguments):
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments], capture_output=True, text=True, timeout=600
    )


def test_small_cases(script, tmp_path):
    names = ["8x16x14336x4096", "quarter-empty", "odd"]
    file = tmp_path / "grouped.json"
    result = run(
        "--tiny", "--rounds", "3", "--types", *script.TYPES, "--cases", *names, "--json", file
    )
    assert result.returncode == 0, result.stderr
    document = json.loads(file.read_text())
    assert (document["device"], document["seed"]) == ("CPU", script.SEED)
    rows = {(row["types"], row["name"]): row for row in document["rows"]}
    assert list(rows) == [(kind, name) for kind in script.TYPES for name in names]
    for (kind, name), row in rows.items():
        assert row["us"]["ours"] > 0 and len(row["samples_us"]["ours"]) == 3
        assert ("batch" in row["us"]) == ("x" in name)
        if kind == "bf16":
            assert f"{kind}, torch/ours: mean " in result.stdout


@pytest.mark.skipif("torch.cuda.is_available()", reason="needs a machine without a GPU")
def test_needs_a_gpu():
    result = run()
    assert result.returncode == 2 and "PyTorch finds no GPU; use one, or --tiny" in result.stderr


def test_cases(script):
    cases = script.all_cases()
    assert len(cases) == 20 and cases == script.all_cases()
    assert [name for name, (_, n, k) in cases.items() if n % 16 or k % 16] == []


@pytest.mark.parametrize("kind", ["bf16", "e4m3", "e4m3-block"])
@pytest.mark.parametrize("value", [0, float("nan")])
@pytest.mark.parametrize("row", [0, 3, 16])
def test_wrong_results_are_found(script, kind, value, row):
    operands = script.Operands(kind, ([3, 0, 5, 9], 32, 64), "cpu")
    ours = operands.ways()["ours"]
    operands.check(ours)

    def wrong(copy):
        d = ours(copy).clone()
        d[row] = value
        return d

    with pytest.raises(ArithmeticError, match="is wrong"):
        operands.check(wrong)
