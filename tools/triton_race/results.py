"""What is told: the files that `tunedgemm bench` writes too, a table, and how much faster ours is."""
import csv
import json
import math
import pathlib
from collections.abc import Iterator

COLUMNS = ("device vendor began_at rest_ms name types layout epilogue m n k batch arm median_us p20_us p80_us tflops "
           "of_limit clock_mhz max_error kernel").split()
OTHERS = {"triton": "triton", "cublas": "cuBLAS"}  # arm and how people call it


def arm_of(row: dict, name: str) -> dict | None:
    return next((arm for arm in row["arms"] if arm["arm"] == name), None)


def ratio(row: dict, other: str) -> float | None:
    """How many times as fast as the other arm ours is."""
    ours, theirs = arm_of(row, "tuned"), arm_of(row, other)
    return theirs["median_us"] / ours["median_us"] if ours and theirs else None


class ResultFiles:
    """CSV and JSON, complete after every row. Raises OSError where a file cannot be written."""

    def __init__(self, run: dict, csv_path: pathlib.Path | None, json_path: pathlib.Path | None):
        self._run, self._csv_path, self._json_path, self._rows = run, csv_path, json_path, []
        if csv_path:
            self._write_csv("w", [COLUMNS])
        self._write_json()

    def add(self, row: dict) -> None:
        self._rows.append(row)
        if self._csv_path:
            self._write_csv("a", [self._csv_cells(row, arm) for arm in row["arms"]])
        self._write_json()

    def _csv_cells(self, row: dict, arm: dict) -> list:
        known = self._run | row | arm | {"kernel": arm["kernel"] or ""}
        return [known[column] for column in COLUMNS]

    def _write_csv(self, mode: str, lines: list) -> None:
        with self._csv_path.open(mode, newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)

    def _write_json(self) -> None:
        if self._json_path:
            head = json.dumps(self._run, indent=1, ensure_ascii=False).removesuffix("\n}")
            rows = ",".join("\n  " + json.dumps(row, ensure_ascii=False) for row in self._rows)
            self._json_path.write_text(f'{head},\n "rows": [{rows}\n ]\n}}\n', encoding="utf-8")


def tflops_text(arm: dict | None) -> str:
    return f"{arm['tflops']:.4g}" if arm else "-"


def ratio_text(value: float | None) -> str:
    return f"{value:.2f}x" if value else "-"


def result_text(row: dict) -> str:
    """Of one shape, on one line."""
    ours = arm_of(row, "tuned")
    if ours is None:
        return f"no result: {row['failure']}"
    against = [f", {ratio_text(ratio(row, arm))} {name}" for arm, name in OTHERS.items() if ratio(row, arm)]
    return f"{tflops_text(ours)} TFLOP/s" + "".join(against)


def table_lines(rows: list[dict]) -> Iterator[str]:
    names = list(OTHERS.values())
    cells = [["size", "types", "tuned TFLOP/s", *names, *(f"tuned/{name}" for name in names)]]
    for row in rows:
        arms = [tflops_text(arm_of(row, arm)) for arm in ("tuned", *OTHERS)]
        cells.append([str(row["m"]), row["types"], *arms, *(ratio_text(ratio(row, arm)) for arm in OTHERS)])
    widths = [max(map(len, column)) for column in zip(*cells)]
    for line in cells:
        yield "  ".join(cell.ljust(width) if index == 1 else cell.rjust(width)
                        for index, (cell, width) in enumerate(zip(line, widths)))


def mean_lines(rows: list[dict]) -> Iterator[str]:
    """For all rows of a type: the geometric mean, and the least with its size."""
    for types in dict.fromkeys(row["types"] for row in rows):
        for arm, name in OTHERS.items():
            ratios = [(found, row["m"]) for row in rows if row["types"] == types and (found := ratio(row, arm))]
            if ratios:
                mean = math.exp(sum(math.log(found) for found, _ in ratios) / len(ratios))
                least, size = min(ratios)
                yield (f"{types}, tuned over {name}: geometric mean {mean:.3f}x over {len(ratios)} "
                       f"{'size' if len(ratios) == 1 else 'sizes'}, least {least:.3f}x at {size}")
