#!/usr/bin/env python3
"""Draws what the tuner saw for one problem: a panel for each knob, a point for each candidate.

    tunedgemm landscape 4096 4096 4096 --types f16 --json landscape.json
    tools/plot_landscape.py landscape.json -o landscape          landscape.png and landscape.svg

Finalists are filled, screened candidates hollow; what was rejected stands above, with its reason. The
winner is the star, and its ties have a ring. Needs matplotlib (Debian: python3-matplotlib).
"""
import json
import pathlib

from drawing import fail, load_pyplot, parse_command_line, save

# Colours that differ for colour-blind eyes too (Okabe and Ito).
COLOURS = {"finalist": "#0072B2", "screened": "#8C8C8C", "rejected": "#D55E00", "winner": "#E69F00"}


def read(path: pathlib.Path) -> dict:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        for trial in document["trials"]:
            trial["config"], trial["median_us"], trial["rejected"], trial["final_round"], trial["text"]
        document["device"], document["types"], document["winner"], document["ties"]
    except OSError as error:
        raise fail(f"{path} cannot be read: {error.strerror}", error) from error
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise fail(f"{path} is not what `tunedgemm landscape --json` writes: {error!r}", error) from error
    if not any(is_timed(trial) for trial in document["trials"]):
        raise fail(f"{path} has no candidate that was timed")
    return document


def is_timed(trial: dict) -> bool:
    return trial["median_us"] is not None and trial["rejected"] is None


def main_family(document: dict) -> str:
    """The winner's, or the family with most candidates: knobs of others mean something else."""
    if document["winner"]:
        return document["winner"].split(" ")[0]
    families = [trial["family"] for trial in document["trials"]]
    return max(set(families), key=families.count)


def values_of(trials: list[dict], knob: str) -> list[int]:
    return sorted({trial["config"][knob] for trial in trials})


def draw_panel(axes, trials: list[dict], knob: str, document: dict, top: float) -> None:
    values = values_of(trials, knob)
    place = {value: index for index, value in enumerate(values)}
    seen = {}  # points of one value stand beside each other rather than upon each other

    def x_of(trial: dict) -> float:
        value = trial["config"][knob]
        seen[value] = seen.get(value, 0) + 1
        return place[value] + ((seen[value] * 7) % 11 - 5) * 0.045

    kinds = {"finalist": [], "screened": [], "rejected": []}
    for trial in trials:
        timed = is_timed(trial)
        kind = "rejected" if not timed else "finalist" if trial["final_round"] else "screened"
        kinds[kind].append((x_of(trial), trial["median_us"] if timed else top, trial["text"]))
    for kind, points in kinds.items():
        colour = COLOURS[kind]
        axes.scatter([x for x, _, _ in points], [y for _, y, _ in points], s=26, label=kind, zorder=3,
                     marker="x" if kind == "rejected" else "o", color=colour if kind != "screened" else "none",
                     edgecolors=None if kind == "rejected" else colour, linewidths=1.1)
    for kind, texts, marker, size in (("tie", document["ties"], "o", 90), ("winner", [document["winner"]], "*", 170)):
        points = [(x, y) for points in kinds.values() for x, y, text in points if text in texts]
        axes.scatter([x for x, _ in points], [y for _, y in points], s=size, marker=marker, label=kind, zorder=4,
                     color=COLOURS["winner"] if kind == "winner" else "none", edgecolors="#222222", linewidths=1)
    axes.set_xticks(range(len(values)), [str(value) for value in values])
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.set_xlabel(knob)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def draw(document: dict, prefix: str) -> None:
    pyplot = load_pyplot()
    family = main_family(document)
    trials = [trial for trial in document["trials"] if trial["family"] == family]
    knobs = [knob for knob in trials[0]["config"] if len(values_of(trials, knob)) > 1]
    if not knobs:
        raise fail(f"all candidates of {family} have the same config: there is nothing to compare")
    times = [trial["median_us"] for trial in trials if is_timed(trial)]
    if not times:
        raise fail(f"no candidate of {family} was timed")
    top = max(times) * 1.06

    columns = min(len(knobs), 3)
    lines = -(-len(knobs) // columns)
    width, height = 1.2 + 4.4 * columns, 1.1 + 3.4 * lines  # inches
    figure, axes = pyplot.subplots(lines, columns, figsize=(width, height), squeeze=False, sharey=True,
                                   layout="constrained")
    for cell, knob in zip(axes.flat, knobs):
        draw_panel(cell, trials, knob, document, top)
    for cell in list(axes.flat)[len(knobs):]:
        cell.set_visible(False)
    for row in axes:
        row[0].set_ylabel("median time (µs)")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
    left = 0.2 / width
    shape = f"{document['m']} × {document['n']} × {document['k']}"
    reasons = [trial["rejected"] for trial in trials if trial["rejected"]]
    counts = ", ".join(f"{reasons.count(reason)} {reason}" for reason in dict.fromkeys(reasons)) or "none"
    figure.text(left, 1 - 0.15 / height, f"{family}: {shape}, {document['types']} {document['layout']} on "
                f"{document['device']}", fontsize=14, fontweight="bold", va="top")
    day = document.get("tuned_at", "").split(" ")[0]
    figure.text(left, 1 - 0.48 / height, f"{day + ', ' if day else ''}{document['compiler']}; {len(trials)} candidates; "
                f"rejected: {counts}", fontsize=10, color="#555555", va="top")
    figure.get_layout_engine().set(rect=(0, 0.35 / height, 1, 1 - 1.1 / height))
    save(figure, prefix)


def main() -> None:
    file, prefix = parse_command_line(__doc__, "landscape", "what tunedgemm landscape --json wrote")
    draw(read(file), prefix)


if __name__ == "__main__":
    main()
