#!/usr/bin/env python3
"""Writes measured results into a document, between its markers.

    update_readme.py headline tools/gallery README.md                the README's first figures
    update_readme.py output tools/gallery README.md                  what tune-all prints
    update_readme.py models tools/gallery README.md                  steps of models in PyTorch
    update_readme.py gallery tools/gallery tools/gallery/README.md   all results of gallery.sh

The first argument names the markers: <!-- begin gallery --> and <!-- end gallery -->. The script
replaces the text between them, so that no number is typed by hand.
"""

import json
import math
import pathlib
import statistics
import sys
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "plot"))

from plot_model_step import read as read_model_step

# A speedup this many times as large or as small as the median is an outlier.
OUTLIER = 1.5
MODELS = ("mixtral", "qwen3_moe")
RIVALS = {"bf16": "torch._grouped_mm", "e4m3": "torch._scaled_grouped_mm"}


def time_text(us: float) -> str:
    for limit, unit, scale in ((1e3, "us", 1), (1e6, "ms", 1e3)):
        if us < limit:
            return f"{us / scale:#.3g} {unit}".replace(". ", " ")
    return f"{us / 1e6:#.3g} s"


def number(value: float) -> str:
    """Three significant digits, but a thousand or more without a fraction or an exponent."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def load(file: pathlib.Path, program: str, check: Callable[[dict], object]) -> dict:
    """Reads a file that `program` wrote; `check` fails if a field that is shown is missing."""
    try:
        run = json.loads(file.read_text(encoding="utf-8"))
        check(run)
    except OSError as error:
        raise SystemExit(f"update_readme.py: {file} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:  # a JSONDecodeError is a ValueError
        raise SystemExit(
            f"update_readme.py: {file} is not what {program} writes: {error!r}"
        ) from error
    return run


def read_run(file: pathlib.Path, *of_contenders: str) -> dict:
    """Reads a file of bench or ladder; `of_contenders` are fields of each contender."""

    def check(run: dict) -> None:
        for row in run["rows"]:
            row["m"] + row["n"] + row["k"] + row["batch"], row["remarks"]
            row["name"] + row["types"] + row["layout"] + row["epilogue"]
            for contender in row["contenders"]:
                contender["contender"] + "", contender["median_us"] + 0
                [contender[field] for field in of_contenders]
        run["device"] + run["compiler"] + run["driver"] + run["began_at"]
        run["vendor"], run["rounds"], run["cool_down_ms"]

    return load(file, "`tunedgemm bench --json`", check)


def contender_us(row: dict, theirs: str) -> float | None:
    """The time of the vendor's default ("default") or of its fastest proposal ("best")."""
    times = [
        contender["median_us"]
        for contender in row["contenders"]
        if contender["kernel"] is None
        and (theirs == "best" or contender["contender"].endswith(" 0"))
    ]
    return min(times, default=None)


def tuned(row: dict) -> dict:
    return next(contender for contender in row["contenders"] if contender["contender"] == "tuned")


def mean_text(ratios: dict[int | str, float], name: str) -> str:
    """The geometric mean and the minimum of our speedups, given by size or layer."""
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    least = min(ratios, key=lambda of: ratios[of])
    spread = f"geometric mean; least {ratios[least]:.2f}, at {least}"
    return f"{mean:.2f} times as fast as {name} ({spread})"


def median_text(ratios: dict[int | str, float], rows: list[dict]) -> str:
    """The median and the range of our speedups. Names each speedup far from the median, with the
    number of the vendor's proposals that were left out."""
    median = statistics.median(ratios.values())
    outliers = {
        of: ratio for of, ratio in ratios.items() if not 1 / OUTLIER < ratio / median < OUTLIER
    }
    usual = [ratio for of, ratio in ratios.items() if of not in outliers]
    text = (
        f"**{median:.2f}** ({min(usual):.2f} to {max(usual):.2f} in {len(usual)} of {len(ratios)}"
    )
    for of, ratio in outliers.items():
        text += f"; {ratio:.2f}, an outlier, for {of}"
        if count := left_out(rows).get(str(of)):
            text += f", where {count} of its proposals were left out as wrong"
    return text + ")"


def ratios_over(rows: list[dict], theirs: str) -> dict[int | str, float]:
    """Our speedup over the vendor's kernel by name, or by size without one; omits rows for which
    the vendor has no kernel."""
    return {
        row["name"] or row["m"]: contender_us(row, theirs) / tuned(row)["median_us"]
        for row in rows
        if contender_us(row, theirs)
    }


def back_to_back(row: dict) -> dict:
    """The row with its back-to-back contenders; none if they were not measured."""
    return {**row, "contenders": row.get("back_to_back", [])}


def means_text(rows: list[dict]) -> str:
    parts = []
    for measured, theirs, name in (
        (rows, "best", "the best of cuBLASLt's proposals"),
        (rows, "default", "its default"),
        ([back_to_back(row) for row in rows], "best", "the best with back-to-back launches"),
    ):
        ratios = ratios_over([row for row in measured if row["contenders"]], theirs)
        if not ratios:
            continue
        parts.append(mean_text(ratios, name))
    return ", ".join(parts) or "nothing to compare with"


def roofline_text(contender: dict) -> str:
    return f"{contender['of_roofline']:.2f}" if contender.get("of_roofline") else "-"


def types_table(rows: list[dict]) -> list[str]:
    lines = [
        (
            "| M = N = K | types | time | TFLOP/s | of the roofline | cuBLASLt's best | x best | x "
            "default | x best, back to back |"
        ),
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        if not row["contenders"]:
            continue
        ours, flops = tuned(row), 2e-6 * row["m"] * row["n"] * row["k"]
        us, best, default = (
            ours["median_us"],
            contender_us(row, "best"),
            contender_us(row, "default"),
        )
        theirs = (
            f"{flops / best:,.0f} | {best / us:.2f} | {default / us:.2f}" if best else "- | - | -"
        )
        other = back_to_back(row)
        other_best = contender_us(other, "best")
        theirs += f" | {other_best / tuned(other)['median_us']:.2f}" if other_best else " | -"
        lines.append(
            f"| {row['m']} | {row['types']} {row['layout']} | {time_text(us)} | {flops / us:,.0f} "
            f"| {roofline_text(ours)} | {theirs} |"
        )
    return lines


def layers_table(rows: list[dict]) -> list[str]:
    lines = [
        "| layer | M x N x K | types | time | TFLOP/s | of the roofline | x best | x default |",
        "|---|---|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        ours, best, default = tuned(row), contender_us(row, "best"), contender_us(row, "default")
        us = ours["median_us"]
        batch = f"{row['batch']} of " if row["batch"] > 1 else ""
        shape = (
            f"{batch}{row['m']}x{row['n']}x{row['k']} {row['layout']} {row['epilogue']}".rstrip()
        )
        theirs = f"{best / us:.2f} | {default / us:.2f}" if best else "- | -"
        lines.append(
            f"| {row['name']} | {shape} | {row['types']} | {time_text(us)} | "
            f"{number(ours['tflops'])} | {roofline_text(ours)} | {theirs} |"
        )
    return lines


def left_out(rows: list[dict]) -> dict[str, int]:
    """The rows that lack proposals of the vendor, because their errors exceed the bound."""
    counts = {
        row["name"]: sum("wrong result" in remark for remark in row.get("remarks", []))
        for row in rows
    }
    return {name: count for name, count in counts.items() if count}


def left_out_text(rows: list[dict]) -> str:
    counts = ", ".join(f"{count} for {name}" for name, count in left_out(rows).items())
    text = f" Proposals of cuBLASLt whose errors exceed the bound are left out: {counts}."
    return text if counts else ""


def rounds_text(run: dict) -> str:
    return f"{run['rounds']} rounds, {run['cool_down_ms']} ms of cool-down before each sample"


def read_grouped(file: pathlib.Path) -> dict:
    """Reads the results of tools/measure/bench_grouped.py."""

    def check(run: dict) -> None:
        for row in run["rows"]:
            row["name"] + row["types"], row["us"]["ours"] + row["tflops"], len(row["rows"])
        run["device"] + run["versions"]

    return load(file, "bench_grouped.py --json", check)


def grouped_ratios(run: dict) -> dict[str, dict[int | str, float]]:
    """Our speedups over PyTorch's grouped products, by type."""
    ratios: dict[str, dict[int | str, float]] = {}
    for row in run["rows"]:
        if row["types"] in RIVALS and "torch" in row["us"]:
            speedup = row["us"]["torch"] / row["us"]["ours"]
            ratios.setdefault(row["types"], {})[row["name"]] = speedup
    return ratios


def grouped_means_text(run: dict) -> str:
    parts = [
        f"{types} {mean_text(ratios, RIVALS[types])} over {len(ratios)} divisions of rows"
        for types, ratios in grouped_ratios(run).items()
    ]
    return ", ".join(parts) or "nothing to compare with"


def grouped_lines(folder: pathlib.Path) -> list[str]:
    run = read_grouped(folder / "grouped.json")
    lines = [
        "| division | groups | rows | N x K | types | time | TFLOP/s | x PyTorch | x batch |",
        "|---|--:|--:|--:|---|--:|--:|--:|--:|",
    ]
    for row in run["rows"]:
        us, rows = row["us"], row["rows"]
        ratios = " | ".join(
            f"{us[other] / us['ours']:.2f}" if other in us else "-" for other in ("torch", "batch")
        )
        division = "equal" if len(set(rows)) == 1 else row["name"]
        lines.append(
            f"| {division} | {len(rows)} | {sum(rows):,} | {row['n']} x {row['k']} | "
            f"{row['types']} | {time_text(us['ours'])} | {number(row['tflops'])} | {ratios} |"
        )
    return [
        *lines,
        "",
        (
            f"`{command_of(folder, 'grouped')}`, on an {device_text(run)}, {run['versions']}, "
            f"{run['rounds']} rounds, launches in a CUDA graph and cold inputs: "
            f"{grouped_means_text(run)}. The batch is ours, of three dimensions, "
            "where all groups have one size. e4m3 has scales of rows and columns; e4m3-block those "
            "of 1 x 128 and 128 x 128 elements, which PyTorch has no grouped product for."
        ),
        "",
    ]


def step_ratios(run: dict) -> dict[int | str, float]:
    return {row["name"]: row["speedup"] for row in run["rows"]}


def models(folder: pathlib.Path, root: pathlib.Path) -> str:
    place = folder.resolve().relative_to(root).as_posix()
    parts = []
    for name in ("models", *(f"model_step_{model}" for model in MODELS)):
        if not (folder / f"{name}.json").is_file():
            continue
        run = read_model_step(folder / f"{name}.json")
        command = command_of(folder, name)
        speedups = f"{median_text(step_ratios(run), [])} times as fast"
        if "model" in run:
            command = f"python3 tools/examples/python/model_step.py {run['model']}"
            tokens, ratios = zip(*step_ratios(run).items())
            texts = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            speedups = f"{', '.join(tokens)} tokens: {texts} times as fast"
        parts.append(
            f"`{command}`: {run['subject']}, random weights, on an {device_text(run)}; {speedups}, "
            "the best way with this library beside the best without.\n\n"
            f"![Speedups of {run['subject']} in PyTorch]({place}/{name}.svg)"
        )
    return "\n\n".join(parts)


def device_text(run: dict) -> str:
    """With the day, if the file has it."""
    return ", ".join(filter(None, (run["device"], run.get("began_at", "").split(" ")[0])))


def command_of(folder: pathlib.Path, part: str) -> str:
    """The command that measured a part."""
    lines = (folder / "commands.txt").read_text(encoding="utf-8").splitlines()
    return (
        dict(line.split(": ", 1) for line in lines)
        .get(part, "")
        .split(" --json")[0]
        .split(" | ")[0]
    )


def output(folder: pathlib.Path, root: pathlib.Path) -> str:
    text = (folder / "output.txt").read_text(encoding="utf-8").rstrip()
    return f"```text\n$ {command_of(folder, 'output')}\n{text}\n```"


def headline(folder: pathlib.Path, root: pathlib.Path) -> str:
    place = folder.resolve().relative_to(root).as_posix()
    rows = []
    for part, what, against, read, ratios_of in HEADLINE:
        if not (folder / f"{part}.json").is_file():
            continue
        run = read(folder / f"{part}.json")
        texts = (
            f"{types} {median_text(ratios, run['rows'])}".strip()
            for types, ratios in ratios_of(run).items()
            if ratios
        )
        rows.append(
            f"| {what} | {against} | {'; '.join(texts) or '-'} | {device_text(run)} | "
            f"`{command_of(folder, part)}` |"
        )
    return "\n".join(
        [
            "| what | against | times as fast: median (range) | measured on | by |",
            "|---|---|---|---|---|",
            *rows,
            "",
            f"[All results, and how they were measured]({place}/README.md).",
            "",
            f"![TFLOP/s over size, ours and cuBLASLt's]({place}/squares.svg)",
        ]
    )


# The rows of the README's first table: the file, what it measures, against what, its reader,
# and the speedups by type.
HEADLINE = (
    (
        "layers",
        "layers of well-known networks",
        "the fastest of the eight kernels that cuBLASLt proposes",
        lambda file: read_run(file, "kernel", "tflops"),
        lambda run: {"": ratios_over(run["rows"], "best")},
    ),
    ("grouped", "grouped products", "PyTorch's grouped products", read_grouped, grouped_ratios),
    (
        "models",
        "steps of whole models in PyTorch",
        "the best way without this library",
        read_model_step,
        lambda run: {"": step_ratios(run)},
    ),
)


def gallery(folder: pathlib.Path, root: pathlib.Path) -> str:
    runs = squares, _, types, layers = [
        read_run(folder / f"{name}.json", "kernel", "tflops")
        for name in ("squares", "ladder", "types", "layers")
    ]
    if len({run["device"] for run in runs}) != 1:
        raise SystemExit(f"update_readme.py: the files in {folder} come from different devices")
    speedups = median_text(ratios_over(layers["rows"], "best"), layers["rows"])
    days = " and ".join(sorted({run["began_at"].split(" ")[0] for run in runs}))
    place = folder.resolve().relative_to(root).as_posix()
    return "\n".join(
        [
            (
                f"Measured by the commands shown, on an {squares['device']}, "
                f"{squares['compiler']}, driver {squares['driver']}, {squares['vendor']}, {days}. "
                "Inputs are random and cold, contenders are timed in interleaved rounds, and times "
                "are medians. A small kernel runs before each launch, as other kernels do in a "
                "program, and its own time is subtracted. Back-to-back launches have no kernel in "
                "between and overlap. The GPU's clock differs from command to command: compare "
                "figures of one command."
            ),
            "",
            f"![TFLOP/s over size, ours and cuBLASLt's]({place}/squares.svg)",
            "",
            (
                f"`{command_of(folder, 'squares')}` ({rounds_text(squares)}): "
                f"{means_text(squares['rows'])}."
            ),
            "",
            *layers_table(layers["rows"]),
            "",
            (
                f"`{command_of(folder, 'layers')}` ({rounds_text(layers)}): "
                f"layers of well-known networks, {speedups} times as fast as the best of "
                "cuBLASLt's proposals (median). cuBLASLt takes no part where it fuses no such "
                "activation."
                f"{left_out_text(layers['rows'])}"
            ),
            "",
            *types_table(types["rows"]),
            "",
            f"`{command_of(folder, 'types')}` ({rounds_text(types)}).",
            "",
            *grouped_lines(folder),
            f"![A dot for each kernel, from the naive loop to the tuned one]({place}/ladder.svg)",
            "",
            (
                f"`{command_of(folder, 'ladder')}`: every kernel of the library on one "
                "problem, each checked against a double-precision reference."
            ),
            "",
            f"![The order in which tiles are computed]({place}/order.svg)",
            "",
            (
                "`tunedgemm order 1152 1152 1152 --types f16 --compare`: the tiles of D that run "
                "at the same time, and the bytes they read."
            ),
        ]
    )


CONTENTS = {"headline": headline, "output": output, "models": models, "gallery": gallery}


def replaced(text: str, name: str, content: str) -> str:
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise SystemExit(
            f"update_readme.py: the markers {begin} and {end} must each appear once, in this order"
        )
    head, rest = text.split(begin)
    return f"{head}{begin}\n{content}\n{end}{rest.split(end)[1]}"


def main() -> None:
    if len(sys.argv) != 4 or sys.argv[1] not in CONTENTS:
        raise SystemExit(
            f"usage: tools/ci/update_readme.py {'|'.join(CONTENTS)} FOLDER DOCUMENT.md"
        )
    document = pathlib.Path(sys.argv[3])
    content = CONTENTS[sys.argv[1]](pathlib.Path(sys.argv[2]), document.resolve().parent)
    document.write_text(
        replaced(document.read_text(encoding="utf-8"), sys.argv[1], content), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
