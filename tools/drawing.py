"""Code shared by the plot scripts: loading matplotlib, error messages, saving pictures."""
import argparse
import pathlib
import sys


def fail(message: str, cause: Exception | None = None) -> SystemExit:
    stop = SystemExit(f"{sys.argv[0].rsplit('/', 1)[-1]}: {message}")
    stop.__cause__ = cause
    return stop


def load_pyplot():
    """matplotlib.pyplot without a display, set up for reproducible pictures."""
    try:
        import matplotlib
    except ImportError as error:
        raise fail("matplotlib is missing (Debian: apt-get install python3-matplotlib, "
                   f"then /usr/bin/python3 {sys.argv[0]})", error) from error
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"font.size": 11, "svg.fonttype": "none", "svg.hashsalt": "tunedgemm"})
    from matplotlib import pyplot

    return pyplot


def save(figure, prefix: str) -> None:
    """Writes PREFIX.png and PREFIX.svg."""
    for ending, options in ((".png", {"dpi": 150}), (".svg", {"metadata": {"Date": None}})):
        try:
            figure.savefig(prefix + ending, **options)
        except OSError as error:
            raise fail(f"{prefix}{ending} cannot be written: {error.strerror}", error) from error


def parse_command_line(description: str, name: str, meaning: str) -> tuple[pathlib.Path, str]:
    """Parses the command line: the file to draw, and the prefix of its pictures."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(name, type=pathlib.Path, help=meaning)
    parser.add_argument("-o", "--output", required=True, metavar="PREFIX", help="write PREFIX.png and PREFIX.svg")
    arguments = parser.parse_args()
    return getattr(arguments, name), arguments.output
