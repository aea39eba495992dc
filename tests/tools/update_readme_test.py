#!/usr/bin/env python3
"""Tests that tools/ci/update_readme.py writes only between the markers, with the same result each
time."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "ci" / "update_readme.py"
README = "before\n<!-- begin gallery -->\nreplaced\n<!-- end gallery -->\nafter\n"


class UpdateReadme(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.readme = pathlib.Path(folder.name, "README.md")
        self.readme.write_text(README, encoding="utf-8")
        self.folder = self.write_gallery()

    def update(self, marker="gallery"):
        command = [sys.executable, str(SCRIPT), marker, str(self.folder), str(self.readme)]
        return subprocess.run(command, capture_output=True, text=True)

    def write_gallery(self) -> pathlib.Path:
        def row(size: int, ours: float, theirs: list[float], name="", epilogue="", batch=1) -> dict:
            contenders = [
                {
                    "contender": "tuned",
                    "kernel": "wgmma stages=4",
                    "median_us": ours,
                    "of_roofline": 0.5,
                    "tflops": 1234.5,
                }
            ]
            contenders += [
                {"contender": f"cublaslt {place}", "kernel": None, "median_us": us, "tflops": 1}
                for place, us in enumerate(theirs)
            ]
            return {
                "name": name,
                "m": size,
                "n": size,
                "k": size,
                "batch": batch,
                "types": "f16→f16",
                "layout": "nn",
                "epilogue": epilogue,
                "contenders": contenders,
                "remarks": ["cublaslt 3: wrong result: got 1, expected 2"] if epilogue else [],
            }

        folder = self.readme.parent / "gallery"
        folder.mkdir()
        document = {
            "device": "A GPU",
            "compiler": "nvrtc 13.0",
            "driver": "580",
            "vendor": "cuBLASLt 13.1.0",
            "began_at": "2026-01-02 03:04:05",
            "rounds": 7,
            "cool_down_ms": 20,
            "rows": [row(1000, 4, [8, 4]), row(2000, 8, [8, 9])],
        }
        for name in ("squares", "ladder", "types"):
            (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
        layers = [
            row(64, 4, [8, 6], "a layer"),
            row(32, 4, [], "a fused layer", "bias/col relu", 3),
        ]
        (folder / "layers.json").write_text(
            json.dumps(document | {"rows": layers}), encoding="utf-8"
        )
        commands = [
            f"{part}: tunedgemm {part} --json gallery/{part}.json"
            for part in ("squares", "types", "layers", "ladder", "grouped", "models")
        ]
        (folder / "commands.txt").write_text("\n".join(commands), encoding="utf-8")
        steps = {
            "model": "a model",
            "blocks": 2,
            "device": "A GPU",
            "pytorch": "3.0",
            "rows": [{"tokens": 8, "us": {"eager": 6, "eager + patch": 5}}],
        }
        for name in ("mixtral", "qwen3_moe"):
            (folder / f"model_step_{name}.json").write_text(json.dumps(steps), encoding="utf-8")
        group = {"n": 64, "k": 32, "types": "bf16", "tflops": 1.5}
        groups = [
            group | {"name": "8x4", "rows": [4] * 8, "us": {"ours": 2, "torch": 3, "batch": 1}},
            group | {"name": "odd", "rows": [1, 1500], "us": {"ours": 2}, "types": "e4m3-block"},
        ]
        run = {"device": "A GPU", "versions": "PyTorch 3", "rounds": 5, "rows": groups}
        (folder / "grouped.json").write_text(json.dumps(run), encoding="utf-8")
        return folder

    def test_output_follows_its_command(self):
        self.readme.write_text("<!-- begin output -->\n<!-- end output -->\n", encoding="utf-8")
        (self.folder / "commands.txt").write_text("output: tune-all x.csv | grep x > o.txt\n")
        (self.folder / "output.txt").write_text("64x32x64  4.27 us\n\n", encoding="utf-8")
        self.assertEqual(self.update("output").returncode, 0)
        self.assertIn(
            "```text\n$ tune-all x.csv\n64x32x64  4.27 us\n```\n",
            self.readme.read_text(encoding="utf-8"),
        )

    def test_writes_between_the_markers(self):
        self.assertEqual(self.update().returncode, 0)
        text = self.readme.read_text(encoding="utf-8")
        self.assertTrue(text.startswith("before\n<!-- begin gallery -->\nMeasured by"))
        self.assertTrue(text.endswith("<!-- end gallery -->\nafter\n"))
        self.assertNotIn("replaced", text)
        self.assertEqual(self.update().returncode, 0)
        self.assertEqual(text, self.readme.read_text(encoding="utf-8"))

    def test_writes_the_gallery_results(self):
        result = self.update()
        self.assertEqual(result.returncode, 0, result.stderr)
        text = self.readme.read_text(encoding="utf-8")
        for part in (
            "A GPU, nvrtc 13.0, driver 580, cuBLASLt 13.1.0, 2026-01-02",
            "ladder.svg)",
            "1.00 times as fast as the best",
            "1.41 times as fast as its default",
            "least 1.00, at 2000)",
            "7 rounds, 20 ms",
            "| 1000 | f16→f16 nn | 4.00 us | 500 | 0.50 | 500 | 1.00 | 2.00 |",
            "| a layer | 64x64x64 nn | f16→f16 | 4.00 us | 1,234 | 0.50 | 1.50 | 2.00 |",
            (
                "| a fused layer | 3 of 32x32x32 nn bias/col relu | f16→f16 | 4.00 us | 1,234 | "
                "0.50 | - | - |"
            ),
            "the bound are left out: 1 for a fused layer.",
            "| equal | 8 | 32 | 64 x 32 | bf16 | 2.00 us | 1.5 | 1.50 | 0.50 |",
            "| odd | 2 | 1,501 | 64 x 32 | e4m3-block | 2.00 us | 1.5 | - | - |",
            "bf16 1.50 times as fast as torch._grouped_mm (geometric mean; least 1.50, at 8x4)",
            "**1.50** (1.50 to 1.50 in 1 of 1) times as fast as the best of cuBLASLt's proposals (",
        ):
            self.assertIn(part, text)

    def headline(self) -> str:
        self.readme.write_text(README.replace("gallery", "headline"), encoding="utf-8")
        result = self.update("headline")
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.readme.read_text(encoding="utf-8")

    def write_models(self) -> None:
        us = {"graph": [12, 9], "graph + tuned": [6, 8], "eager": [5000, 5000]}
        rows = [{"model": "bert", "tokens": tokens, "us": us} for tokens in (1, 32)]
        rows.append({"model": "vit", "tokens": 1, "us": us | {"graph + tuned": [3, 3]}})
        run = {"device": "A GPU", "pytorch": "3.0", "pairs": 2, "began_at": "2026-01-03 01:02:03"}
        (self.folder / "models.json").write_text(json.dumps(run | {"rows": rows}), encoding="utf-8")

    def test_writes_the_headline(self):
        text = self.headline()
        for part in (
            (
                "| layers of well-known networks | the fastest of the eight kernels that cuBLASLt "
                "proposes | **1.50** (1.50 to 1.50 in 1 of 1) | A GPU, 2026-01-02 | `tunedgemm "
                "layers` |\n"
            ),
            "| bf16 **1.50** (1.50 to 1.50 in 1 of 1) | A GPU | `tunedgemm grouped` |\n\n[All",
            "squares.svg)",
        ):
            self.assertIn(part, text)
        self.assertNotIn("whole models", text)
        self.write_models()
        self.assertIn(
            "| steps of whole models in PyTorch | the best way without this library | **1.50** "
            "(1.50 to 1.50 in 2 of 3; 3.00, an outlier, for vit, 1 tokens) | A GPU, 2026-01-03 | "
            "`tunedgemm models` |\n",
            self.headline(),
        )
        (self.folder / "layers.json").unlink()
        self.assertNotIn("layers", self.headline())

    def test_the_headline_names_outliers(self):
        layers = json.loads((self.folder / "layers.json").read_text(encoding="utf-8"))
        usual = layers["rows"][0]
        vendor = usual["contenders"][2] | {"median_us": 24}
        remarks = [
            "cublaslt 3: wrong result: got 1, expected 2",
            "cublaslt 4: wrong result: got 1, expected 2",
        ]
        layers["rows"] += [
            usual | {"name": "another"},
            usual
            | {
                "name": "the largest",
                "contenders": [usual["contenders"][0], vendor],
                "remarks": remarks,
            },
        ]
        (self.folder / "layers.json").write_text(json.dumps(layers), encoding="utf-8")
        self.assertIn(
            "| **1.50** (1.50 to 1.50 in 2 of 3; 6.00, an outlier, for the largest, where 2 of its "
            "proposals were left out as wrong) |",
            self.headline(),
        )

    def test_writes_the_models(self):
        self.readme.write_text(README.replace("gallery", "models"), encoding="utf-8")
        self.write_models()
        (self.folder / "model_step_qwen3_moe.json").unlink()
        self.assertEqual(self.update("models").returncode, 0)
        text = self.readme.read_text(encoding="utf-8")
        for part in (
            "`tunedgemm models`: whole models, random weights, on an A GPU, 2026-01-03; **1.50** (",
            "gallery/models.svg)",
            "2 blocks of a model, random weights, on an A GPU; 8 tokens: 1.20 times as fast, the",
            "model_step_mixtral.svg)",
        ):
            self.assertIn(part, text)
        self.assertNotIn("qwen3_moe", text)
        (self.folder / "model_step_mixtral.json").write_text("{}", encoding="utf-8")
        result = self.update("models")
        self.assertEqual(result.returncode, 1)
        self.assertIn("update_readme.py: ", result.stderr)
        self.assertIn(
            "model_step_mixtral.json is not what model_step.py --json writes", result.stderr
        )
        self.assertEqual(self.readme.read_text(encoding="utf-8"), text)

    def test_a_file_that_cannot_be_used_is_named(self):
        good = (self.folder / "types.json").read_text(encoding="utf-8")
        for name, content, sentence in (
            ("types", "{", "JSONDecodeError"),
            ("types", "[]", "TypeError"),
            ("squares", good.replace('"median_us"', '"us"'), "KeyError('median_us')"),
            ("ladder", good.replace('"m": 1000', '"m": "1000"'), "TypeError"),
            ("squares", good.replace("cool_down_ms", "rest"), "KeyError('cool_down_ms')"),
        ):
            with self.subTest(name=name, sentence=sentence):
                (self.folder / f"{name}.json").write_text(content, encoding="utf-8")
                result = self.update()
                self.assertEqual(result.returncode, 1)
                self.assertIn(
                    f"{name}.json is not what `tunedgemm bench --json` writes: {sentence}",
                    result.stderr,
                )
                self.assertNotIn("Traceback", result.stderr)
                (self.folder / f"{name}.json").write_text(good, encoding="utf-8")
        (self.folder / "types.json").unlink()
        self.assertIn("types.json cannot be read: No such file", self.update().stderr)
        self.assertEqual(self.readme.read_text(encoding="utf-8"), README)

    def test_missing_markers_change_nothing(self):
        result = self.update("models")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("begin models", result.stderr)
        self.assertEqual(self.readme.read_text(encoding="utf-8"), README)


if __name__ == "__main__":
    unittest.main()
