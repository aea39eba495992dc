"""What the tests of the scripts that draw share."""
import subprocess
import sys
import unittest

PYTHONS = (sys.executable, "/usr/bin/python3")  # Debian's matplotlib is in Debian's Python


def has_matplotlib(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", "import matplotlib"], capture_output=True).returncode == 0
    except OSError:
        return False


PYTHON = next(filter(has_matplotlib, PYTHONS), None)


def main() -> None:
    """Runs the tests of the program, or skips them (77) where no Python has matplotlib."""
    if PYTHON is None:
        print("skipped: no Python has matplotlib (Debian: apt-get install python3-matplotlib)")
        sys.exit(77)
    unittest.main()
