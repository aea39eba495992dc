"""Check every contender, then sample all of them in interleaved rounds: one row of the results."""
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
class CheckedContender:
    """A contender whose result was right."""
    contender: object
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
    """All copies are used: then none of it is in the cache when the next sample begins."""
    return max(min(int(SAMPLE_US / max(fastest_us, 0.1)), MOST_LAUNCHES), copies)


def sentence_of(error: BaseException) -> str:
    """With what came before it: the end of a broken capture fails too, and says less."""
    sentences = []
    while error is not None:
        sentences.insert(0, f"{type(error).__name__}: {' '.join(str(error).split())}"[:400])
        error = error.__context__
    return "; then ".join(sentences)


def admit(gpu, make_contender: Callable, sets: list, expected, slack: float) -> CheckedContender:
    """What is checked is what a graph has computed."""
    contender = make_contender()
    contender.launch(0)
    gpu.synchronize()
    probe = gpu.graph(contender.launch, len(sets), PROBE_LAUNCHES)
    probe.sample_us()
    gpu.poison(sets[0])
    probe_us = probe.sample_us()
    error = gpu.worst_error(sets[0], expected, slack)
    if not error <= 1:
        raise ArithmeticError(f"the result is wrong: {error:.3g} times the error bound")
    return CheckedContender(contender, error, probe_us)


def run_rounds(gpu, contenders: list[CheckedContender], copies: int, rounds: int, cool_down_ms: float) -> None:
    launches = launches_for(min(checked.probe_us for checked in contenders), copies)
    racing = [(checked, gpu.graph(checked.contender.launch, copies, launches)) for checked in contenders]
    order = random.Random(SEED)
    for is_counted in [False] + rounds * [True]:  # a graph's first replay is slower
        order.shuffle(racing)
        for checked, graph in racing:
            time.sleep(cool_down_ms / 1e3)
            us = graph.sample_us()
            if is_counted:
                checked.samples_us.append(us)


def contender_json(checked: CheckedContender, size: int) -> dict:
    median_us = quantile(checked.samples_us, 0.5)
    return {"contender": checked.contender.name, "kernel": checked.contender.kernel() or None, "median_us": median_us, "p20_us": quantile(checked.samples_us, 0.2),
            "p80_us": quantile(checked.samples_us, 0.8), "tflops": 2 * size**3 / median_us * 1e-6, "of_roofline": None,
            "clock_mhz": None, "max_error": checked.error}


def row_json(kind: Kind, size: int) -> dict:
    """A row without a result; the fields are those of `tunedgemm bench --json`."""
    return {"name": "", "types": kind.types, "layout": kind.layout, "epilogue": "", "m": size, "n": size, "k": size,
            "batch": 1, "problem": kind.problem_text(size), "kernel": "", "failure": None, "remarks": [], "contenders": []}


def race(gpu, make_contenders: Callable[[Kind, list], dict], kind: Kind, size: int, rounds: int, cool_down_ms: float) -> dict:
    """The row. A contender that fails is left out, and a remark says why; without ours, the shape has failed."""
    row, contenders = row_json(kind, size), []
    sets = gpu.operands(kind, size)
    expected = gpu.expected(sets[0])
    for name, make_contender in make_contenders(kind, sets).items():
        try:
            contenders.append(admit(gpu, make_contender, sets, expected, kind.slack(size)))
        except Exception as error:  # whatever it is, the others can race
            row["remarks"].append(f"no {name}: {sentence_of(error)}")
            if name == "tuned":
                row["failure"] = sentence_of(error)
    if contenders:
        run_rounds(gpu, contenders, len(sets), rounds, cool_down_ms)
    for checked in contenders:
        row["contenders"].append(contender_json(checked, size))
        if checked.contender.name == "tuned":
            row["kernel"] = checked.contender.kernel()
        elif kernel := checked.contender.kernel():
            row["remarks"].append(f"{checked.contender.name} runs {kernel}")
    return row
