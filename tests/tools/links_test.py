#!/usr/bin/env python3
"""Checks the links of all Markdown files: the file must exist, and have the section.

The argument is the root of the tree.
"""

import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = re.compile(r"^[a-z]+:")  # https:, mailto:
NOT_OURS = {"build", ".git", ".venv"}


def anchor(title: str) -> str:
    """The fragment that GitHub gives a section."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def anchors(document: pathlib.Path) -> set[str]:
    text = FENCED.sub("", document.read_text(encoding="utf-8"))
    return {anchor(title.strip()) for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def wrong_links(document: pathlib.Path) -> list[str]:
    wrong = []
    for link in LINK.findall(FENCED.sub("", document.read_text(encoding="utf-8"))):
        path, _, fragment = link.partition("#")
        target = document.parent / path if path else document
        if ELSEWHERE.match(link):
            continue
        if not target.exists():
            wrong.append(f"{document}: there is no {target}")
        elif fragment and fragment not in anchors(target):
            wrong.append(f"{document}: {target} has no section #{fragment}")
    return wrong


def main() -> None:
    root = pathlib.Path(sys.argv[1])
    documents = [
        file for file in root.rglob("*.md") if not NOT_OURS & set(file.relative_to(root).parts)
    ]
    assert len(documents) > 10, "the documents are elsewhere"
    wrong = [line for document in sorted(documents) for line in wrong_links(document)]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"the links of {len(documents)} documents lead somewhere")


if __name__ == "__main__":
    main()
