#!/usr/bin/env python3
"""Puts small random faults into the C++ sources and says which of them the tests notice.

    tools/mutate.py --count 40 --seed 7 --layers cache,tuner
    tools/mutate.py --self-test

A fault is one change of one line: a constant off by one, < for <=, && for ||, + for -, swapped arguments, another
enumerator, an inverted condition, a removed statement, an early return. Comments, texts, what is logged, assertions
and the preprocessor's lines are left alone. The places are drawn from the layers in turn, the kind before the place.
What does not compile, as CI compiles, is drawn anew.

Nothing is changed but a copy of the tracked files in build/mutate (--folder). A faulty program may do anything: it runs
with time and processes of its own, and may write to that folder and a /tmp of its own alone (unshare of util-linux).
For each fault the layer's test program runs, and then, unless --own is given, those of the layers above; a test that
fails must fail twice. Verdicts are kept in build/mutate/verdicts.jsonl: the same command, given again, goes on where
it ended; --retry runs the survivors once more, after tests were written. Ctrl-C ends it, and keeps what is known.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Each with its test program; a fault in one may be noticed by it and those behind it.
PROGRAMS = {
    "kernel_templates": "kernel_templates_tests",
    "cache": "cache_tests",
    "tuner": "tuner_tests",
    "runtime": "runtime_tests",
    "tools": "tools_tests",
}
EXCEPT = "tools/examples/"
TAGS = "~[nvrtc]~[gpu]~[slow]"

HIDDEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
    r"|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE)
# Their arguments change what people read, or nothing at all.
UNCHANGED_CALL = re.compile(r"\b(?:log_warning|log_info|static_assert|assert|reserve)\(")
ENUM = re.compile(r"\benum class (\w+)[^{;]*\{(.*?)\}", re.DOTALL)
NAME = r"[A-Za-z_][\w.]*"
BLOCK_BEGINS = re.compile(r"\) (?:const )?(?:noexcept )?\{\n")
STATEMENT = re.compile(
    rf"(?<=[;{{}}]\n)( *)({NAME}(?:(?:->|::){NAME}|\[\w+\])*(?:\(| [-+*/|&]?= )[^\n;{{}}]*;|continue;|break;|\+\+{NAME};)"
    r"(?=\n)")
OPERATORS = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == "}
LOGIC = {" && ": " || ", " || ": " && "}
ARITHMETIC = {" + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " += ": " -= ", " -= ": " += "}


@dataclasses.dataclass(frozen=True)
class Fault:
    path: str
    line: int
    begin: int
    end: int
    text: str
    diff: str

    def key(self) -> str:
        return f"{self.path}:{self.line}: {self.diff}"


def spaces(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def visible(text: str) -> str:
    """The text with spaces where nothing is to be changed."""
    text = HIDDEN.sub(lambda match: spaces(match.group()), text)
    for match in list(UNCHANGED_CALL.finditer(text)):
        depth, end = 1, match.end()
        while depth > 0 and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = text[: match.start()] + spaces(text[match.start() : end]) + text[end:]
    return text


def closing(text: str, begin: int) -> int:
    """Where the parenthesis that is open at `begin` closes, or the line ends."""
    depth = 1
    for at in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0 or text[at] == "\n":
            return at
    return len(text)


def enumerators(root: pathlib.Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in root.rglob("*.h"):
        if path.relative_to(root).parts[0] in PROGRAMS:
            for name, body in ENUM.findall(visible(path.read_text(encoding="utf-8"))):
                found.setdefault(name, []).extend(re.findall(r"\bk[A-Z]\w*", body))
    return found


def places(text: str, enums: dict[str, list[str]]) -> dict[str, list[tuple[int, int, str]]]:
    """By kind: begin, end, and what may stand there instead."""
    code = visible(text)
    found: dict[str, list[tuple[int, int, str]]] = {}

    def add(kind: str, begin: int, end: int, instead: str) -> None:
        found.setdefault(kind, []).append((begin, end, instead))

    for match in re.finditer(r"(?<![\w.'])\d+(?![\w.'])", code):
        value = int(match.group())
        for other in (value + 1, value - 1):
            if other >= 0:
                add("constant", *match.span(), str(other))
    for kind, table in (("comparison", OPERATORS), ("logic", LOGIC), ("arithmetic", ARITHMETIC)):
        for match in re.finditer("|".join(map(re.escape, table)), code):
            if code[match.start() - 1] not in "(,\n ":
                add(kind, *match.span(), table[match.group()])
    for match in re.finditer(r"\b(?:true|false)\b", code):
        add("truth", *match.span(), "false" if match.group() == "true" else "true")
    for match in re.finditer(r"\b(\w+)::(k[A-Z]\w*)", code):
        for other in enums.get(match[1], []):
            if other != match[2]:
                add("enumerator", *match.span(2), other)
    for match in re.finditer(rf"[({{,] ?({NAME}), ({NAME})(?=[,)}}])", code):
        if match[1] != match[2]:
            add("swapped", match.start(1), match.end(2), f"{match[2]}, {match[1]}")
    for match in re.finditer(r"\b(?:if|while) \(", code):
        end = closing(code, match.end())
        condition = text[match.end() : end]
        if end < len(code) and code[end] == ")" and ";" not in condition:
            add("inverted", match.end(), end, f"!({condition})")
    for match in STATEMENT.finditer(code):
        add("removed", *match.span(2), ";")
    for match in BLOCK_BEGINS.finditer(code):
        for early in ("return; ", "return {}; ", "return true; "):
            add("returned", match.end(), match.end(), early)
    return found


def fault(path: str, text: str, place: tuple[int, int, str]) -> Fault:
    begin, end, instead = place
    line_begin = text.rfind("\n", 0, begin) + 1
    line_end = text.find("\n", end)
    old = f"[-{text[begin:end]}-]" if begin < end else ""
    diff = text[line_begin:begin] + old + "{+" + instead + "+}" + text[end:line_end]
    return Fault(path, text.count("\n", 0, begin) + 1, begin, end,
                 text[:begin] + instead + text[end:], " ".join(diff.split()))


class Faults:
    """All faults of some folder, drawn in an order that its name and the seed decide."""

    def __init__(self, root: pathlib.Path, where: str, seed: int) -> None:
        self.root = root
        self.random = random.Random(f"{seed} {where}")
        self.places: dict[str, list[tuple[str, tuple[int, int, str]]]] = {}
        enums = enumerators(root)
        for path in sorted((root / where).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix in (".cpp", ".cc") and not name.startswith(EXCEPT):
                for kind, some in places(path.read_text(encoding="utf-8"), enums).items():
                    self.places.setdefault(kind, []).extend((name, place) for place in some)

    def draw(self) -> Fault | None:
        kinds = sorted(kind for kind, some in self.places.items() if some)
        if not kinds:
            return None
        some = self.places[self.random.choice(kinds)]
        path, place = some.pop(self.random.randrange(len(some)))
        return fault(path, (self.root / path).read_text(encoding="utf-8"), place)


def copy_tree(root: pathlib.Path, to: pathlib.Path) -> None:
    """Only what differs is written, so that only that is built again."""
    names = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    tracked = {name for name in names.split("\0") if (root / name).is_file()}
    for path in list(to.rglob("*")):
        name = path.relative_to(to).as_posix()
        if path.is_file() and name not in tracked and not name.startswith("build/"):
            path.unlink()
    for name in tracked:
        source, copy = root / name, to / name
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)


class Scratch:
    """The copy, its build, and its test programs."""

    def __init__(self, folder: pathlib.Path, jobs: int) -> None:
        self.tree, self.jobs = folder / "tree", jobs
        # As in every tree, so that ccache finds what was compiled in another one.
        self.build_folder = self.tree / "build/dev"
        self.usual_s: dict[str, float] = {}

    def configure(self) -> None:
        self.tree.mkdir(parents=True, exist_ok=True)
        copy_tree(ROOT, self.tree)
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        command = ["cmake", "--preset", "dev", *launcher]
        subprocess.run(command, check=True, cwd=self.tree, stdout=subprocess.DEVNULL)

    def build(self, program: str) -> str:
        """What the compiler says if it fails, else nothing."""
        done = subprocess.run(["cmake", "--build", self.build_folder, f"-j{self.jobs}", "--target", program],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.stdout or "no compiler" if done.returncode != 0 else ""

    def run(self, program: str, limit_s: float, *arguments: str) -> tuple[bool, str]:
        """Whether all passed, and else the first case that did not."""
        path = next(self.build_folder.joinpath("tests").rglob(program))
        jail = ('mount --bind "$0" "$0" && mount -t tmpfs tmpfs /tmp && mount -o remount,bind,ro / && '
                'cd "$0" && exec "$@"')
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        command = ["unshare", *user, "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                   "sh", "-c", jail, str(self.build_folder), str(path), "--abort", *arguments]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              start_new_session=True, env=os.environ | {"TMPDIR": "/tmp"}) as running:
            try:
                output = running.communicate(timeout=limit_s)[0].decode(errors="replace")
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                return False, f"{program}: longer than {limit_s:.0f} s"
            except KeyboardInterrupt:
                os.killpg(running.pid, signal.SIGKILL)
                raise
        if running.returncode == 0:
            return True, ""
        case = re.search(r"^-{79}\n(.*?)\n-{79}$", output, re.DOTALL | re.MULTILINE)
        return False, case[1].split("\n")[0] if case else f"{program}: exit status {running.returncode}"

    def measure(self, programs: list[str]) -> None:
        for program in programs:
            if said := self.build(program):
                raise SystemExit(f"{program} is not built, without a fault:\n{said}")
            begin = time.monotonic()
            passed, first = self.run(program, 3600, TAGS)
            if not passed:
                raise SystemExit(f"{program} fails without a fault: {first}")
            self.usual_s[program] = time.monotonic() - begin

    def judge(self, drawn: Fault, programs: list[str]) -> str | None:
        """The test that notices the fault, nothing if none does; None if it does not compile."""
        path = self.tree / drawn.path
        right = path.read_text(encoding="utf-8")
        path.write_text(drawn.text, encoding="utf-8")
        try:
            for program in programs:
                if self.build(program):
                    return None
                limit_s = 30 + 3 * self.usual_s[program]
                passed, first = self.run(program, limit_s, TAGS)
                # By chance, on a busy machine, a test fails once.
                if not passed and not self.run(program, limit_s, TAGS)[0]:
                    return first
            return ""
        finally:
            path.write_text(right, encoding="utf-8")


def programs_of(path: str, own: bool) -> list[str]:
    programs = list(PROGRAMS.values())
    # A kernel is a text to its layer. The runtime's tests compile and run it.
    first = programs.index("runtime_tests" if path.endswith(".cc") else PROGRAMS[path.split("/")[0]])
    return programs[first : first + 1] if own else programs[first:]


def summary(verdicts: dict[str, dict[str, str]]) -> str:
    lines = []
    for layer in [*PROGRAMS, ""]:
        some = [one for one in verdicts.values() if one["by"] is not None and one["fault"].startswith(layer)]
        if some:
            noticed = sum(one["by"] != "" for one in some)
            lines.append(f"{layer or 'all':18}{noticed:4} of{len(some):4} noticed  {100 * noticed / len(some):3.0f} %")
    return "\n".join(lines)


def mutate(options: argparse.Namespace) -> None:
    folder = options.folder.resolve()
    scratch = Scratch(folder, options.jobs)
    scratch.configure()
    wheres = options.layers.split(",")
    print(f"seed {options.seed}", flush=True)
    record = folder / "verdicts.jsonl"
    known = {}
    if record.is_file():
        known = {one["fault"]: one for one in map(json.loads, record.read_text(encoding="utf-8").splitlines())}
    drawers = [Faults(scratch.tree, where, options.seed) for where in wheres]
    paths = {path for drawer in drawers for some in drawer.places.values() for path, _ in some}
    scratch.measure(sorted({program for path in paths for program in programs_of(path, options.own)}))
    verdicts: dict[str, dict[str, str]] = {}
    compiled = 0
    try:
        while compiled < options.count and drawers:
            drawer = drawers[compiled % len(drawers)]
            drawn = drawer.draw()
            if drawn is None:
                drawers.remove(drawer)
                continue
            one = known.get(drawn.key())
            if one is None or (options.retry and one["by"] == ""):
                one = {"fault": drawn.key(), "by": scratch.judge(drawn, programs_of(drawn.path, options.own))}
                with record.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(one) + "\n")
            if one["by"] is None:
                continue
            compiled += 1
            verdicts[drawn.key()] = one
            print(f"{compiled:4}  {'noticed ' if one['by'] else 'SURVIVED'}  {one['fault']}"
                  + (f"\n                by {one['by']}" if one["by"] else ""), flush=True)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on")
    print(summary(verdicts))


def self_test() -> int:
    text = """#include <a> // 1 < 2
// if (a < 3) return;
bool f(int a, int b) {
  log_warning("1 < 2" + text(4 < 5));
  if (a < 10 && g(a, b)) {
    count = a + b;
    h(Kind::kOne);
  }
  return true;
}
"""
    wanted = {
        "constant": ["if (a < [-10-]{+11+} && g(a, b)) {", "if (a < [-10-]{+9+} && g(a, b)) {"],
        "comparison": ["if (a[- < -]{+ <= +}10 && g(a, b)) {"],
        "logic": ["if (a < 10[- && -]{+ || +}g(a, b)) {"],
        "arithmetic": ["count = a[- + -]{+ - +}b;"],
        "truth": ["return [-true-]{+false+};"],
        "enumerator": ["h(Kind::[-kOne-]{+kTwo+});"],
        "swapped": ["if (a < 10 && g([-a, b-]{+b, a+})) {"],
        "inverted": ["if ([-a < 10 && g(a, b)-]{+!(a < 10 && g(a, b))+}) {"],
        "removed": ["[-count = a + b;-]{+;+}", "[-h(Kind::kOne);-]{+;+}"],
        "returned": [f"{{+return{value}; +}} {line}" for line in ("log_warning(\"1 < 2\" + text(4 < 5));", "count = a + b;")
                     for value in ("", " {}", " true")],
    }
    found = {kind: sorted(fault("a.cpp", text, place).diff for place in some)
             for kind, some in places(text, {"Kind": ["kOne", "kTwo"]}).items()}
    for kind in sorted(found | wanted):
        if found.get(kind, []) != sorted(wanted.get(kind, [])):
            print(f"{kind}: found {found.get(kind)}, wanted {wanted.get(kind)}")
            return 1
    first, second = (Faults(ROOT, "cache", 7) for _ in range(2))
    drawn = [one for one in (first.draw() for _ in range(50)) if one]
    if [second.draw() for _ in range(50)] != drawn or len({one.key() for one in drawn}) != 50:
        print("the same seed draws other faults, or one of them twice")
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="faults that compile (20)")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the draw (random, printed)")
    parser.add_argument("--layers", default=",".join(PROGRAMS), help="or folders, such as cache,runtime/host (all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilers at a time (all processors)")
    parser.add_argument("--own", action="store_true", help="only the tests of the fault's own layer")
    parser.add_argument("--retry", action="store_true", help="run the survivors that are known again")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/mutate", help="for copy and build")
    parser.add_argument("--self-test", action="store_true", help="draws, and builds nothing")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    mutate(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
