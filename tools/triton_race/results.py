"""What is told: the files that `tunedgemm bench` writes too, a table, and how much faster ours is."""
import csv
import json
import math
import pathlib
from collections.abc import Iterator

COLUMNS = ("device vendor began_at cool_down_ms name types layout epilogue m n k batch launches contender median_us p20_us p80_us tflops "
           "of_roofline clock_mhz max_error kernel").split()
OTHERS = {"triton": "triton", "cublas": "cuBLAS"}  # contender and how people call it


def contender_of(row: dict, name: str) -> dict | None:
    return next((contender for contender in row["contenders"] if contender["contender"] == name), None)


def ratio(row: dict, other: str) -> float | None:
    """How many times as fast as the other contender ours is."""
    ours, theirs = contender_of(row, "tuned"), contender_of(row, other)
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
            self._write_csv("a", [self._csv_cells(row, contender) for contender in row["contenders"]])
        self._write_json()

    def _csv_cells(self, row: dict, contender: dict) -> list:
        known = self._run | row | contender | {"launches": "back_to_back", "kernel": contender["kernel"] or ""}
        return [known[column] for column in COLUMNS]

    def _write_csv(self, mode: str, lines: list) -> None:
        with self._csv_path.open(mode, newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)

    def _write_json(self) -> None:
        if self._json_path:
            head = json.dumps(self._run, indent=1, ensure_ascii=False).removesuffix("\n}")
            rows = ",".join("\n  " + json.dumps(row, ensure_ascii=False) for row in self._rows)
            self._json_path.write_text(f'{head},\n "rows": [{rows}\n ]\n}}\n', encoding="utf-8")


def tflops_text(contender: dict | None) -> str:
    return f"{contender['tflops']:.4g}" if contender else "-"


def ratio_text(value: float | None) -> str:
    return f"{value:.2f}x" if value else "-"


def result_text(row: dict) -> str:
    """Of one shape, on one line."""
    ours = contender_of(row, "tuned")
    if ours is None:
        return f"no result: {row['failure']}"
    against = [f", {ratio_text(ratio(row, contender))} {name}" for contender, name in OTHERS.items() if ratio(row, contender)]
    return f"{tflops_text(ours)} TFLOP/s" + "".join(against)


def table_lines(rows: list[dict]) -> Iterator[str]:
    names = list(OTHERS.values())
    cells = [["size", "types", "tuned TFLOP/s", *names, *(f"tuned/{name}" for name in names)]]
    for row in rows:
        contenders = [tflops_text(contender_of(row, contender)) for contender in ("tuned", *OTHERS)]
        cells.append([str(row["m"]), row["types"], *contenders, *(ratio_text(ratio(row, contender)) for contender in OTHERS)])
    widths = [max(map(len, column)) for column in zip(*cells)]
    for line in cells:
        yield "  ".join(cell.ljust(width) if index == 1 else cell.rjust(width)
                        for index, (cell, width) in enumerate(zip(line, widths)))


def mean_lines(rows: list[dict]) -> Iterator[str]:
    """For all rows of a type: the geometric mean, and the least with its size."""
    for types in dict.fromkeys(row["types"] for row in rows):
        for contender, name in OTHERS.items():
            ratios = [(found, row["m"]) for row in rows if row["types"] == types and (found := ratio(row, contender))]
            if ratios:
                mean = math.exp(sum(math.log(found) for found, _ in ratios) / len(ratios))
                least, size = min(ratios)
                yield (f"{types}, tuned over {name}: geometric mean {mean:.3f}x over {len(ratios)} "
                       f"{'size' if len(ratios) == 1 else 'sizes'}, least {least:.3f}x at {size}")
