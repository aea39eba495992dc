"""Code shared by the plot scripts: loading matplotlib, error messages, saving pictures."""

import argparse
import html
import io
import pathlib
import re
import sys
import textwrap
from typing import Any


def fail(message: str, cause: Exception | None = None) -> SystemExit:
    stop = SystemExit(f"{sys.argv[0].rsplit('/', 1)[-1]}: {message}")
    stop.__cause__ = cause
    return stop


def load_pyplot() -> Any:
    """matplotlib.pyplot without a display, set up for reproducible pictures."""
    try:
        import matplotlib
    except ImportError as error:
        raise fail(
            "matplotlib is missing (Debian: apt-get install python3-matplotlib, then "
            f"/usr/bin/python3 {sys.argv[0]})",
            error,
        ) from error
    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {"font.size": 11, "svg.fonttype": "none", "svg.hashsalt": "tunedgemm"}
    )
    from matplotlib import pyplot

    return pyplot


# The figures' colours of text, lines and background, and their replacements on a dark page.
DARK = {
    "#ffffff": "#0d1117",
    "#000000": "#c9d1d9",
    "#555555": "#9aa4af",
    "#dddddd": "#30363d",
    "#c9d8e8": "#30475f",
    "#e6edf4": "#1f2d3d",
}
DARK_STYLE = "".join(
    f'[style*="{kind}: {light}"] {{{kind}: {dark} !important}}\n'
    for light, dark in DARK.items()
    for kind in ("fill", "stroke")
)


def readable(svg: str, title: str, description: str) -> str:
    """The picture with a title and a description for screen readers, and colours for dark pages."""
    head, rest = svg.split("<svg ", 1)
    attributes, body = rest.split(">", 1)
    body = body.replace(
        "</style>",
        "\ntext {fill: #000000}\n@media (prefers-color-scheme: dark) {\n"
        f"text {{fill: {DARK['#000000']}}}\n{DARK_STYLE}}}\n</style>",
        1,
    )
    return (
        f'{head}<svg role="img" aria-labelledby="title description" {attributes}>\n'
        f' <title id="title">{html.escape(title)}</title>\n'
        f' <desc id="description">{html.escape(description)}</desc>{body}'
    )


def rate_unit(largest_tflops: float) -> tuple[str, float]:
    """The unit that shows rates of up to so many TFLOP/s best, and its number in a TFLOP/s."""
    return ("TFLOP/s", 1) if largest_tflops >= 1 else ("GFLOP/s", 1e3)


def compiler_name(identity: str) -> str:
    """As the command's tables have it: "g++ 12" of "x86_64-linux-gnu-g++-12 130-174 for avx2"."""
    found = re.match(r"\S*?(clang\+\+|clang|[gc]\+\+|icpx)(?:-(\S+))? \S*-", identity)
    return " ".join(filter(None, found.groups())) if found else identity


def add_header(figure: Any, title: str, subtitle: str) -> None:
    """Writes both at the top left, in lines that fit, and leaves the place below to the axes."""
    width, height = figure.get_size_inches()
    top, left = height - 0.15, 0.2 / width
    for text, characters, line_height, style in (
        (title, 8, 0.27, {"fontsize": 14, "fontweight": "bold"}),
        (subtitle, 11.5, 0.2, {"fontsize": 10, "color": "#555555"}),
    ):
        lines = textwrap.wrap(text, int(characters * width))
        figure.text(left, top / height, "\n".join(lines), va="top", **style)
        top -= line_height * len(lines) + 0.05
    figure.get_layout_engine().set(rect=(0, 0, 1, top / height), w_pad=0.12, h_pad=0.1)


def save(figure: Any, prefix: str, title: str, description: str) -> None:
    """Writes PREFIX.png and PREFIX.svg. The title names the picture, the description its result."""
    vectors = io.StringIO()
    figure.savefig(vectors, format="svg", metadata={"Date": None})
    try:
        figure.savefig(prefix + ".png", dpi=150)
        pathlib.Path(prefix + ".svg").write_text(
            readable(vectors.getvalue(), title, description), encoding="utf-8"
        )
    except OSError as error:
        raise fail(f"{error.filename} cannot be written: {error.strerror}", error) from error


def parse_command_line(description: str, name: str, meaning: str) -> tuple[pathlib.Path, str]:
    """Parses the command line: the file to draw, and the prefix of its pictures."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(name, type=pathlib.Path, help=meaning)
    parser.add_argument(
        "-o", "--output", required=True, metavar="PREFIX", help="write PREFIX.png and PREFIX.svg"
    )
    arguments = parser.parse_args()
    return getattr(arguments, name), arguments.output
