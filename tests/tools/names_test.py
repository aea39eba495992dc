#!/usr/bin/env python3
"""Checks that the places which list the same names and numbers agree: the C header, the library's
enumerations and their texts, the members of a problem and of its key, and the Python package.

The argument is the root of the tree.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
HEADER = (ROOT / "runtime/include/tunedgemm/tunedgemm.h").read_text(encoding="utf-8")
LAYERS = ("kernel_templates", "cache", "tuner", "runtime")
SOURCES = "\n".join(
    file.read_text(encoding="utf-8")
    for layer in LAYERS
    for file in sorted((ROOT / layer).rglob("*"))
    if file.suffix in (".h", ".cpp")
)
# The library's enumeration for one of the header, the numbers that it lacks (defaults), and those
# that callers cannot choose.
PAIRS = {
    "type": ("DataType", {}, {}),
    "order": ("Order", {}, {}),
    "activation": ("Activation", {}, {}),
    "bias": ("Bias", {}, {}),
    "numerics": ("Numerics", {"default": -1}, {}),
    "policy": ("Policy", {"default": 0}, {}),
    "launch_regime": ("LaunchRegime", {}, {}),
    "plan_origin": ("Origin", {}, {}),
    "rigor": ("Rigor", {"default": 0}, {"model": 0}),
}
UNNAMED = {"plan_origin"}
SHORT = {"row_major": "row", "column_major": "col", "per_row": "row", "per_column": "col"}

wrong: list[str] = []


def check_equal(what: str, left: object, right: object) -> None:
    if left != right:
        wrong.append(f"{what} differ:\n  {left}\n  {right}")


def one(pattern: str, text: str) -> str:
    found = re.findall(pattern, text, re.DOTALL)
    assert len(found) == 1, f"{len(found)} matches of {pattern}"
    return found[0]


def words(enumerator: str) -> str:
    """kGeluTanh -> gelu_tanh, kBF16 -> bf16"""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", enumerator).lower()


def enumerators_of_header(name: str) -> dict[str, int]:
    body = one(rf"typedef enum tunedgemm_{name} TUNEDGEMM_INT32 \{{(.*?)\n\}}", HEADER)
    prefix = f"TUNEDGEMM_{name.upper()}_"
    found = re.findall(r"^  TUNEDGEMM_(\w+) = (-?\d+)", body, re.MULTILINE)
    names = {f"TUNEDGEMM_{name}": int(number) for name, number in found}
    assert all(name.startswith(prefix) for name in names), f"an enumerator lacks {prefix}"
    return {name.removeprefix(prefix).lower(): number for name, number in names.items()}


def enumerators_of_library(name: str) -> dict[str, int]:
    body = one(rf"enum class {name} : [\w:]+ \{{(.*?)\}};", SOURCES)
    return {words(name): int(number) for name, number in re.findall(r"\bk(\w+) = (\d+)", body)}


def texts_of_library(name: str) -> dict[str, str]:
    """The texts of the tables and switches that name enumerators."""
    before = re.findall(rf'\{{"(\w+)", {name}::k(\w+)\}}', SOURCES)
    after = re.findall(rf'(?:\{{|case ){name}::k(\w+)(?:,\s*|:\s*return )"(\w+)"', SOURCES)
    return {words(key): text for text, key in before} | {words(key): text for key, text in after}


def literal(name: str) -> set[str]:
    source = (ROOT / "runtime/python/tunedgemm/_matmul.py").read_text(encoding="utf-8")
    return set(re.findall(r'"(\w+)"', one(rf"\n{name} = Literal\[(.*?)\]", source)))


def check_enumerations() -> None:
    for name, (library, only_header, only_library) in PAIRS.items():
        numbers = enumerators_of_header(name)
        check_equal(
            f"tunedgemm_{name} and {library}",
            numbers | only_library,
            enumerators_of_library(library) | only_header,
        )
        if name not in UNNAMED:
            named = (numbers | only_library).keys() - only_header.keys()
            expected = {key: SHORT.get(key, key) for key in named}
            check_equal(f"the texts of {library}", expected, texts_of_library(library))


def check_activations() -> None:
    """Each activation has its formulas, and Python's documentation names it."""
    names = set(enumerators_of_header("activation"))
    for file in ("common/activation.cuh", "reference/activation.cuh"):
        source = (ROOT / "kernel_templates/cuda" / file).read_text(encoding="utf-8")
        formulas = {words(name) for name in re.findall(r"case Activation::k(\w+):", source)}
        check_equal(f"tunedgemm_activation and the cases of {file}", names, formulas)
    for file in ("_matmul.py", "jax.py"):
        source = (ROOT / "runtime/python/tunedgemm" / file).read_text(encoding="utf-8")
        documented = set(
            re.findall(r'"(\w+)"', one(r"\n    activation: (?:None|\"none\"), (.*?)\.\n", source))
        )
        check_equal(
            f"tunedgemm_activation and the docstring of {file}", names, documented | {"none"}
        )
    source = (ROOT / "tools/measure/draw_shapes.py").read_text(encoding="utf-8")
    drawn = set(re.findall(r'"(\w+)"', one(r"\nACTIVATIONS = \[(.*?)\]", source)))
    check_equal("tunedgemm_activation and those of draw_shapes.py", names, drawn | {"none"})


def check_statuses() -> None:
    texts = re.findall(r'case TUNEDGEMM_STATUS_(\w+):\s*return "([^"]+)"', SOURCES)
    numbers = enumerators_of_header("status")
    expected = {name: name.replace("_", " ") for name in numbers} | {"internal": "internal error"}
    check_equal("the texts of statuses", expected, {name.lower(): text for name, text in texts})


def check_problem() -> None:
    body = one(r"typedef struct tunedgemm_problem \{(.*?)\n\}", HEADER)
    members = set(re.findall(r"^  \w+ (\w+) TUNEDGEMM_", body, re.MULTILINE)) - {"struct_size"}
    assert len(members) > 20, "the members of tunedgemm_problem are written in another way"
    source = (ROOT / "runtime/context/call_key.h").read_text(encoding="utf-8")
    paired = set(re.findall(r'\bpair\("(\w+)", problem\.\1, written\.', source))
    check_equal("tunedgemm_problem and pair_members()", members, paired)


def check_python() -> None:
    for name in ("activation", "numerics", "policy"):
        check_equal(
            f"tunedgemm_{name} and Python's {name.title()}",
            set(enumerators_of_header(name)),
            literal(name.title()),
        )


def main() -> None:
    check_enumerations()
    check_activations()
    check_statuses()
    check_problem()
    check_python()
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"the names of {len(PAIRS)} enumerations agree")


if __name__ == "__main__":
    main()
