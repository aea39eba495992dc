#!/usr/bin/env python3
"""Prints the reference of the Python package as a page for Doxygen: python_reference.py FOLDER

FOLDER is runtime/python. The page has the docstrings of the names in each __all__, and those of the
classes that module.cpp binds."""

import ast
import pathlib
import re
import sys
import textwrap
from collections.abc import Iterator

Section = tuple[str, str]  # heading, text


def of_nodes(nodes: list[ast.stmt], prefix: str, public: list[str] | None) -> Iterator[Section]:
    """The documented definitions; of a class (public is None) all without an underscore."""
    for node in nodes:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if found := re.match(r"(\w+) = _View\('\w+', (.*)\)$", ast.unparse(node)):  # cache.py
                yield f"{prefix}.{found[1]}", ast.literal_eval(found[2])
        elif node.name in public if public is not None else node.name[0] != "_":
            call = f"({ast.unparse(node.args)})" if isinstance(node, ast.FunctionDef) else ""
            if text := ast.get_docstring(node):
                call = textwrap.fill(node.name + call, 100, subsequent_indent="    ")
                yield f"{prefix}.{node.name}", f"{call}\n\n{text}"
            if isinstance(node, ast.ClassDef):
                yield from of_nodes(node.body, f"{prefix}.{node.name}", None)


def of_package(folder: pathlib.Path) -> Iterator[Section]:
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in folder.rglob("*.py")}
    for file, tree in sorted(trees.items()):
        parts = file.relative_to(folder.parent).with_suffix("").parts
        module = ".".join(part for part in parts if part[0] != "_")
        for source in (tree, trees[file.with_name("__init__.py")]):
            if found := re.search(r"(?m)^__all__ = (\[.*\])", ast.unparse(source)):
                if source is tree:
                    yield module, ast.get_docstring(tree) or ""
                yield from of_nodes(tree.body, module, ast.literal_eval(found[1]))
                break


def of_bindings(source: str) -> Iterator[Section]:
    """The first and the last text of each .def() are its name and its meaning."""
    for name, body in re.findall(r"nb::class_<(Context|Plan)>\((.*?);\n\n", source, re.DOTALL):
        for part in re.split(r"\n      \.def", body):
            texts = re.findall(r'"(?:[^"\\]|\\.|"\s+")*"', part)
            member, text = (ast.literal_eval(f"({each})") for each in (texts[0], texts[-1]))
            if " " in text and (member[:2] != "__" or member == "__init__"):
                yield f"tunedgemm.{name}.{member}".replace(f"{name}.{name}", name), text


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    print("# The Python package {#page_python_reference}")
    bindings = of_bindings((folder / "module.cpp").read_text(encoding="utf-8"))
    for heading, text in [*of_package(folder / "tunedgemm"), *bindings]:
        print(f"\n## {heading}\n\n    " + text.replace("\n", "\n    "))


if __name__ == "__main__":
    main()
