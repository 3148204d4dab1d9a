#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a notebook of each script of examples/python: notebooks.py [FOLDER], by default examples/notebooks.

The docstring of a script becomes the first cell, with the picture that the script draws; comments at the
left margin become cells of text; what stands between them becomes cells of code. Notebooks hold no outputs.
"""

import ast
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "examples" / "python"
PICTURES = "../../docs/pictures/python"  # as a notebook in examples/notebooks sees them


def first_cell(script):
    title, _, rest = ast.get_docstring(ast.parse(script)).partition("\n")
    pictures = re.findall(r'path="(.*?\.png)"', script)
    drawn = "".join(f"\n\n![{picture}]({PICTURES}/{picture})" for picture in pictures)
    return f"# {title.rstrip('.')}\n\n{rest.strip()}{drawn}"


def blocks(lines):
    """(is text, lines) of code and of comments at the left margin, which begin a paragraph."""
    found, text = [], None
    for k, line in enumerate(lines):
        comment = line.startswith("#")
        begins = comment and (k == 0 or not lines[k - 1].strip() or text)
        if found and begins == text:
            found[-1][1].append(line)
        else:
            found.append((begins, [line]))
            text = begins
    return found


def cell(kind, number, source):
    lines = source.splitlines(keepends=True)
    made = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines}
    return {**made, "execution_count": None, "outputs": []} if kind == "code" else made


def notebook(script):
    """The text of a script's notebook."""
    text = script.read_text()
    head = ast.parse(text).body[0]
    cells = [("markdown", first_cell(text))]
    for is_text, lines in blocks(text.splitlines()[head.end_lineno :]):
        source = "\n".join(re.sub("^# ?", "", line) if is_text else line for line in lines).strip("\n")
        if source:
            cells.append(("markdown" if is_text else "code", source))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made = {
        "cells": [cell(kind, number, source) for number, (kind, source) in enumerate(cells)],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "examples" / "notebooks")
    folder.mkdir(parents=True, exist_ok=True)
    for script in sorted(SCRIPTS.glob("*.py")):
        (folder / f"{script.stem}.ipynb").write_text(notebook(script))


main()
