#!/usr/bin/env python3
"""Tests that gallery.sh draws the stored results and updates the README, without a GPU.

Works on a copy of tools/ and of the README. The argument is the program tunedgemm. Skipped (77) if
no Python has matplotlib."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from plotting import PYTHON, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
TUNEDGEMM = sys.argv.pop() if len(sys.argv) > 1 else "tunedgemm"
STEPS = [f"model_step_{model}" for model in ("mixtral", "qwen3_moe")]
PICTURES = ("ladder", *STEPS, "models", "order", "squares")


class Gallery(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for pattern in (
            "ci/*.py",
            "measure/*.sh",
            "plot/*.py",
            "gallery/*.json",
            "gallery/*.txt",
            "gallery/README.md",
        ):
            for file in (ROOT / "tools").glob(pattern):
                target = self.root / file.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
        self.readme = self.root / "README.md"
        shutil.copy(ROOT / "README.md", self.readme)

    def run_gallery(self, *arguments: str) -> subprocess.CompletedProcess:
        environment = os.environ | {
            "TUNEDGEMM": TUNEDGEMM,
            "PYTHON": PYTHON,
            "TUNEDGEMM_CACHE": str(self.root / "cache.db"),
        }
        return subprocess.run(
            ["bash", str(self.root / "tools" / "measure" / "gallery.sh"), *arguments],
            capture_output=True,
            text=True,
            env=environment,
        )

    def test_draws_the_stored_results(self):
        documents = {
            self.readme: "headline",
            self.root / "tools" / "gallery" / "README.md": "gallery",
        }
        texts = {document: document.read_text(encoding="utf-8") for document in documents}
        for document, marker in documents.items():
            begin, end = (
                texts[document].index(f"<!-- {mark} {marker} -->") for mark in ("begin", "end")
            )
            document.write_text(
                texts[document][:begin] + f"<!-- begin {marker} -->\n" + texts[document][end:],
                encoding="utf-8",
            )
        result = self.run_gallery("draw")
        self.assertEqual(result.returncode, 0, result.stderr)
        folder = self.root / "tools" / "gallery"
        self.assertEqual(sorted(file.stem for file in folder.glob("*.svg")), list(PICTURES))
        for picture in PICTURES:
            self.assertIn("<svg", (folder / f"{picture}.svg").read_text(encoding="utf-8"), picture)
        self.assertEqual(list(folder.glob("*.png")), [])
        # The texts match the stored results: no number was typed by hand.
        for document, text in texts.items():
            self.assertEqual(document.read_text(encoding="utf-8"), text)

    def test_reports_errors(self):
        result = self.run_gallery("paint")
        self.assertEqual(
            (result.returncode, result.stderr),
            (2, 'gallery.sh: "paint" is neither draw nor a part of tools/gallery/commands.txt\n'),
        )
        (self.root / "tools" / "gallery" / "ladder.json").write_text("{", encoding="utf-8")
        text = self.readme.read_text(encoding="utf-8")
        result = self.run_gallery("draw")
        self.assertEqual(result.returncode, 1)
        self.assertIn("ladder.json is not what `tunedgemm ladder --json` writes", result.stderr)
        self.assertEqual(self.readme.read_text(encoding="utf-8"), text)

    def test_runs_the_command_of_a_part(self):
        folder = self.root / "tools" / "gallery"
        (folder / "commands.txt").write_text(
            "first: tunedgemm order 8 8 8 --config 'block_m=8 block_n=8 block_k=8' --json a.json\n"
            "second: false\n"
        )
        result = self.run_gallery("first")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((self.root / "a.json").exists())
        self.assertEqual(self.run_gallery("second").returncode, 1)


if __name__ == "__main__":
    main()
