"""tunedgemm report: report_test.py FOLDER_OF_THE_PROGRAMS.

The page is also opened in chromium at two widths, where a click on a title must sort the rows and
nothing may be wider than the window. Exit status 77: there is no chromium, and all else is right.
"""

import html.parser
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# What a click on "time", and a second one, make of the column, and whether the page fits.
PROBE = """
<script>
const title = [...document.querySelectorAll("th")].find((one) => one.textContent === "time");
const column = () => [...title.closest("table").tBodies[0].rows].map(
    (row) => Number(row.cells[title.cellIndex].dataset.number));
const state = {fits: document.documentElement.scrollWidth <= window.innerWidth};
title.click();
state.up = column();
title.click();
state.down = column();
state.sort = title.ariaSort;
document.title = JSON.stringify(state);
</script>
"""


class Page(html.parser.HTMLParser):
    """The texts of the cells; fails if elements are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.loads: list[str] = []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img"):
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")
        self.loads += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def dom_title(chromium: str, page: pathlib.Path, width: int) -> str:
    dom = subprocess.run(
        [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},900",
         f"--user-data-dir={page.parent / 'profile'}", "--dump-dom", page.as_uri()],
        check=True, capture_output=True, text=True, timeout=120,
    ).stdout  # fmt: skip
    return html.unescape(dom.partition("<title>")[2].partition("</title>")[0])


def main() -> int:
    programs = pathlib.Path(sys.argv[1])
    folder = pathlib.Path(tempfile.mkdtemp())
    environment = dict(os.environ, TUNEDGEMM_CACHE=str(folder / "cache.db"))

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [programs / program, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
        )

    empty = run("tunedgemm", "report", "-o", "empty.html")
    assert empty.returncode == 1, empty
    Page((folder / "empty.html").read_text())

    name = '<b> & "up" 😀'
    (folder / "list.csv").write_text(
        "name,types,layout,m,n,k\n"
        + "".join(f'"{name.replace(chr(34), chr(34) * 2)}",f32,nt,{m},24,32\n' for m in (1, 7, 64))
        + "untuned,f32,nt,8,40,32\n"
    )
    tuned = run("tune-all", "list.csv", "--device", "host", "--rigor", "quick")
    assert tuned.returncode == 0, tuned.stderr
    forgotten = run("tunedgemm", "forget", "8", "40", "32", "--layout", "nt", "--device", "host")
    assert forgotten.returncode == 0, forgotten.stderr

    (folder / "picture.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg"><text>100 %</text></svg>'
    )
    made = run(
        "tunedgemm", "report", "-o", "report.html", "--list", "list.csv", "--picture", "picture.svg"
    )
    assert made.returncode == 0, made.stderr
    text = (folder / "report.html").read_text()
    page = Page(text)
    assert page.cells.count(name) == 3, page.cells
    assert "not tuned: tune-all list.csv" in page.cells, page.cells
    assert all(address.startswith("data:image/svg+xml,%3Csvg%20") for address in page.loads), (
        page.loads
    )
    assert text.count("<circle") == 6
    again = run("tunedgemm", "report", "-o", "report.html")
    assert again.returncode == 0, again.stderr
    (folder / "mine.html").write_text("<!doctype html>\nmine")
    assert run("tunedgemm", "report", "-o", "mine.html").returncode == 2

    markdown = run("tunedgemm", "report", "--markdown").stdout
    assert markdown.startswith("# ") and "| m x n x k |" in markdown and "<svg" not in markdown

    chromium = shutil.which("chromium")
    if chromium is None:
        print("SKIPPED in a browser: there is no chromium")
        return 77
    probed = folder / "probed.html"
    probed.write_text(text.replace("</body>", PROBE + "</body>"))
    for width in (500, 1280):
        state = json.loads(dom_title(chromium, probed, width))
        assert state["fits"], width
        assert len(state["up"]) == 3 and state["up"] == sorted(state["up"]), state
        assert state["down"] == state["up"][::-1] and state["sort"] == "descending", state
    return 0


sys.exit(main())
