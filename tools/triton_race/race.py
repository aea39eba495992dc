"""Check every arm, then sample all of them in turn: one row of the results."""
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from triton_race.kind import Kind

SAMPLE_US = 2000  # so that the events' resolution does not show
PROBE_LAUNCHES = 16
MOST_LAUNCHES = 1024
SEED = 1


@dataclass
class Entrant:
    """An arm whose result was right."""
    arm: object
    error: float  # the worst of its result, over the bound
    probe_us: float
    samples_us: list[float] = field(default_factory=list)


def quantile(values: list[float], fraction: float) -> float:
    ordered = sorted(values)
    position = fraction * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def launches_for(fastest_us: float, copies: int) -> int:
    """All copies have their turn: then none of it is in the cache when the next sample begins."""
    return max(min(int(SAMPLE_US / max(fastest_us, 0.1)), MOST_LAUNCHES), copies)


def sentence_of(error: BaseException) -> str:
    """With what came before it: the end of a broken capture fails too, and says less."""
    sentences = []
    while error is not None:
        sentences.insert(0, f"{type(error).__name__}: {' '.join(str(error).split())}"[:400])
        error = error.__context__
    return "; then ".join(sentences)


def admit(gpu, make_arm: Callable, sets: list, expected, slack: float) -> Entrant:
    """What is checked is what a graph has computed."""
    arm = make_arm()
    arm.launch(0)
    gpu.synchronize()
    probe = gpu.graph(arm.launch, len(sets), PROBE_LAUNCHES)
    probe.sample_us()
    gpu.poison(sets[0])
    probe_us = probe.sample_us()
    error = gpu.worst_error(sets[0], expected, slack)
    if not error <= 1:
        raise ArithmeticError(f"the result is wrong: {error:.3g} times the error bound")
    return Entrant(arm, error, probe_us)


def run_rounds(gpu, entrants: list[Entrant], copies: int, rounds: int, rest_ms: float) -> None:
    launches = launches_for(min(entrant.probe_us for entrant in entrants), copies)
    racing = [(entrant, gpu.graph(entrant.arm.launch, copies, launches)) for entrant in entrants]
    order = random.Random(SEED)
    for is_counted in [False] + rounds * [True]:  # a graph's first replay is slower
        order.shuffle(racing)
        for entrant, graph in racing:
            time.sleep(rest_ms / 1e3)
            us = graph.sample_us()
            if is_counted:
                entrant.samples_us.append(us)


def arm_json(entrant: Entrant, size: int) -> dict:
    median_us = quantile(entrant.samples_us, 0.5)
    return {"arm": entrant.arm.name, "kernel": entrant.arm.kernel() or None, "median_us": median_us, "p20_us": quantile(entrant.samples_us, 0.2),
            "p80_us": quantile(entrant.samples_us, 0.8), "tflops": 2 * size**3 / median_us * 1e-6, "of_limit": None,
            "clock_mhz": None, "max_error": entrant.error}


def row_json(kind: Kind, size: int) -> dict:
    """A row without a result; the fields are those of `tunedgemm bench --json`."""
    return {"name": "", "types": kind.types, "layout": kind.layout, "epilogue": "", "m": size, "n": size, "k": size,
            "batch": 1, "problem": kind.problem_text(size), "kernel": "", "failure": None, "remarks": [], "arms": []}


def race(gpu, make_arms: Callable[[Kind, list], dict], kind: Kind, size: int, rounds: int, rest_ms: float) -> dict:
    """The row. An arm that fails is left out, and a remark says why; without ours, the shape has failed."""
    row, entrants = row_json(kind, size), []
    sets = gpu.operands(kind, size)
    expected = gpu.expected(sets[0])
    for name, make_arm in make_arms(kind, sets).items():
        try:
            entrants.append(admit(gpu, make_arm, sets, expected, kind.slack(size)))
        except Exception as error:  # whatever it is, the others can race
            row["remarks"].append(f"no {name}: {sentence_of(error)}")
            if name == "tuned":
                row["failure"] = sentence_of(error)
    if entrants:
        run_rounds(gpu, entrants, len(sets), rounds, rest_ms)
    for entrant in entrants:
        row["arms"].append(arm_json(entrant, size))
        if entrant.arm.name == "tuned":
            row["kernel"] = entrant.arm.kernel()
        elif kernel := entrant.arm.kernel():
            row["remarks"].append(f"{entrant.arm.name} runs {kernel}")
    return row
