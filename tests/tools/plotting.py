"""Code shared by the tests of the plot scripts."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PYTHONS = (sys.executable, "/usr/bin/python3")  # Debian's matplotlib is in Debian's Python


def has_matplotlib(python: str) -> bool:
    try:
        return (
            subprocess.run([python, "-c", "import matplotlib"], capture_output=True).returncode == 0
        )
    except OSError:
        return False


PYTHON = next(filter(has_matplotlib, PYTHONS), None)


class DrawingTest(unittest.TestCase):
    """A folder for each test, and a call of the script with given contents."""

    script: pathlib.Path

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def draw(self, content: str) -> subprocess.CompletedProcess:
        file = self.folder / "results.json"
        file.write_text(content, encoding="utf-8")
        return subprocess.run(
            [PYTHON, str(self.script), str(file), "-o", str(self.folder / "picture")],
            capture_output=True,
            text=True,
        )

    def assert_refused(self, content: str, sentence: str) -> None:
        result = self.draw(content)
        self.assertEqual(result.returncode, 1, content)
        self.assertIn(sentence, result.stderr)
        self.assertNotIn("Traceback", result.stderr)


def main() -> None:
    """Runs the tests, or skips them (77) if no Python has matplotlib."""
    if PYTHON is None:
        print("skipped: no Python has matplotlib (Debian: apt-get install python3-matplotlib)")
        sys.exit(77)
    unittest.main()
