#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lines of code of examples/python/extensions, as the table of docs/python.md: --write it, or --check it.

A line counts if code stands on it: not what is blank, comment or docstring. Imports count, and so does each
line of a statement that takes several. `effort.py FILE...` prints the lines of any files.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER, PAGE = ROOT / "examples" / "python" / "extensions", ROOT / "docs" / "python.md"
BEGIN, END = "<!-- effort.py -->\n", "<!-- end -->\n"
BLANK = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
BLANK |= {tokenize.ENDMARKER}
EXTENSIONS = {
    "baseline": "baseline MLEM (Algorithm 1)",
    "sensitivity": "+ sensitivity",
    "osem": "+ ordered subsets",
    "attenuation": "+ attenuation (eqs. 6, 7)",
    "tof": "+ time of flight",
    "median": "+ median filter between iterations",
    "all_combined": "all of them together",
}


def docstring_lines(text):
    found = set()
    for node in ast.walk(ast.parse(text)):
        has_one = isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
        if has_one and ast.get_docstring(node) is not None:
            found |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return found


def code(path):
    """The lines of a file that hold code."""
    text, found = Path(path).read_text(), set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in BLANK:
            found |= set(range(token.start[0], token.end[0] + 1))
    lines = text.splitlines()
    return [lines[number - 1] for number in sorted(found - docstring_lines(text))]


def table():
    found = {name: code(FOLDER / f"{name}.py") for name in EXTENSIONS}
    yield "| Python on Isotome's operators | lines | of these new or changed |"
    yield "| --- | --- | --- |"
    for name, title in EXTENSIONS.items():
        new = Counter(found[name]) - Counter(found["baseline"])
        link = f"[{title}](../examples/python/extensions/{name}.py)"
        yield f"| {link} | {len(found[name])} | {'' if name == 'baseline' else sum(new.values())} |"


def main():
    if sys.argv[1:] in (["--write"], ["--check"]):
        text = PAGE.read_text()
        head, rest = text.split(BEGIN)
        tail = rest.split(END)[1]
        wanted = head + BEGIN + "\n".join(table()) + "\n" + END + tail
        if sys.argv[1] == "--write":
            PAGE.write_text(wanted)
        elif text != wanted:
            sys.exit("docs/python.md: the table of lines is not current: scripts/effort.py --write")
    elif sys.argv[1:]:
        for path in sys.argv[1:]:
            print(len(code(path)), path)
    else:
        sys.exit(f"usage: {sys.argv[0]} --write|--check|FILE...")


if __name__ == "__main__":
    main()
