#!/usr/bin/env python3
"""Tests that tools/ci/packages.sh asks on a terminal before it installs packages."""

import os
import pathlib
import pty
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "ci" / "packages.sh"
INSTALL = f"source {SCRIPT}; install_missing a-package another; echo continued"


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.installed = self.folder / "installed"
        # a-package is installed.
        self.program(
            "dpkg-query",
            'case "$*" in *a-package) echo "install ok installed" ;; *) exit 1 ;; esac',
        )
        self.program("apt-get", f'echo "$@" >>{self.installed}')
        self.program("sudo", '"$@"')
        self.environment = {"PATH": f"{self.folder}:{os.environ['PATH']}"}

    def program(self, name: str, text: str) -> None:
        file = self.folder / name
        file.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        file.chmod(0o755)

    def run_on_terminal(self, answer: str, command: str = INSTALL) -> tuple[int, str]:
        process, terminal = pty.fork()
        if process == 0:
            os.execvpe("bash", ["bash", "-c", command], self.environment)
        os.write(terminal, answer.encode())
        output = b""
        try:
            while part := os.read(terminal, 4096):
                output += part
        except OSError:  # Linux: the other end is closed
            pass
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), output.decode()

    def was_installed(self) -> bool:
        return self.installed.exists() and "another" in self.installed.read_text(encoding="utf-8")

    def test_asks_on_a_terminal(self):
        for answer in ("n\n", "what?\n"):
            with self.subTest(answer=answer):
                status, output = self.run_on_terminal(answer)
                self.assertEqual(status, 1)
                self.assertIn("Missing packages: another. Install them with apt-get? [Y/n]", output)
                self.assertIn("Nothing was installed", output)
                self.assertNotIn("continued", output)
                self.assertFalse(self.was_installed())

    def test_installs_after_a_yes(self):
        for answer in ("\n", "y\n", "Yes\n"):
            with self.subTest(answer=answer):
                self.installed.unlink(missing_ok=True)
                status, output = self.run_on_terminal(answer)
                self.assertEqual(status, 0)
                self.assertTrue(self.was_installed())
                self.assertIn("continued", output)
                self.assertNotIn("a-package", self.installed.read_text(encoding="utf-8"))

    def test_does_not_ask_if_told_or_without_a_terminal(self):
        status, output = self.run_on_terminal("", f"assume_yes=1; {INSTALL}")
        self.assertEqual((status, "Missing" in output, self.was_installed()), (0, False, True))
        self.installed.unlink()
        result = subprocess.run(
            ["bash", "-c", INSTALL],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=self.environment,
        )
        self.assertEqual(
            (result.returncode, "Missing" in result.stdout, self.was_installed()), (0, False, True)
        )

    def test_installs_nothing_if_nothing_is_missing(self):
        status, output = self.run_on_terminal(
            "", f"source {SCRIPT}; install_missing a-package; echo continued"
        )
        self.assertEqual((status, output.strip(), self.was_installed()), (0, "continued", False))


if __name__ == "__main__":
    unittest.main()
