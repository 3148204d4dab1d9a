#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the reference of the commands, a page a command, from what the program says of itself.

    commands.py PROGRAM FOLDER     the site has them as commands/

Kinds of a command that have options of their own (recon strip, measure roi) are sections of its page, with what
the sections before them do not say.
"""

import re
import subprocess
import sys
from pathlib import Path

MADE = "Made from the program's own tables by `scripts/commands.py`."
EXAMPLES = "Examples"


def ask(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def candidates(program, *words):
    """(word, what it is) that may follow, without options and files."""
    lines = ask(program, *words, "--help=next:").splitlines()
    return [tuple((line + "\t").split("\t")[:2]) for line in lines if line[:1] not in ("-", "@")]


def kinds(program, command):
    plain = ask(program, command, "--help")
    return [k for k, _ in candidates(program, command) if ask(program, command, k, "--help") != plain]


# ---- what --help says, in parts ----


def parts(text):
    """The words before the usage, the usage, and {title of a section: its lines}."""
    about, rest = text.split("\n\nusage: ", 1)
    usage, *sections = rest.split("\n\n")
    found = {}
    for section in sections:
        title, _, body = section.strip("\n").partition(":\n")
        found[title] = body.split("\n")
    return " ".join(about.split()), " ".join(usage.split()), found


def rows(lines):
    """(option, text) of the lines of a section. Texts go on at column 28; an option may reach beyond it."""
    found = []
    for line in lines:
        if line[:28].strip():
            option, _, text = re.sub("  +", "\n", line.strip(), count=1).partition("\n")
            found.append([option, text])
        else:
            found[-1][1] += " " + line.strip()
    return [(option, text.strip()) for option, text in found]


# ---- Markdown ----


def plain(text):
    """Without Markdown or HTML of its own; options as code."""
    text = re.sub(r"([*_|`\\])", r"\\\1", text).replace("<", "&lt;")
    return re.sub(r"(?<![\w-])--[a-z][a-z0-9-]*", r"`\g<0>`", text)


def table(found):
    yield "| | |"
    yield "| --- | --- |"
    for option, text in found:
        code = option.replace("|", "\\|")
        yield f"| `{code}` | {plain(text)} |"
    yield ""


def sections(found, said, level):
    """Tables of the rows that were not said yet."""
    for title, lines in found.items():
        if title == EXAMPLES:
            continue
        fresh = [row for row in rows(lines) if (title, row) not in said]
        said.update((title, row) for row in fresh)
        if fresh:
            yield f"{'#' * level} {title}\n"
            yield from table(fresh)


def page(program, command, summary):
    about, usage, found = parts(ask(program, command, "--help"))
    said = set()
    yield f"# isotome {command}\n"
    yield f"{summary[:1].upper()}{summary[1:]}. {MADE}\n"
    yield f"{plain(about)}\n"
    yield f"```text\n{usage}\n```\n"
    yield from sections(found, said, 2)
    for kind in kinds(program, command):
        of_kind, _, own = parts(ask(program, command, kind, "--help"))
        yield f"## isotome {command} {kind}\n"
        if of_kind != about:
            yield f"{plain(of_kind)}\n"
        yield from sections(own, said, 3)
    yield "## Examples\n"
    yield "<!-- not run: they name files of your own; tests/site/site.sh looks at their words -->\n"
    yield "```sh\n" + "\n".join(line[2:] for line in found[EXAMPLES]) + "\n```\n"


def index(names):
    yield "# Commands\n"
    yield f"The program `isotome` has one command for each task. {MADE} `isotome COMMAND --help` prints the same text, and so does `man isotome-COMMAND` after an installation.\n"
    yield "| command | |"
    yield "| --- | --- |"
    for name, summary in names:
        yield f"| [{name}]({name}.md) | {plain(summary)} |"
    yield """
## What all have in common

Results go to standard output. Progress and warnings go to standard error. Isotome replaces no file without `--force`. It writes a record, a JSON file, beside each output; `--like` repeats the run from its record. The exit codes stand in [Repeat a run](../howto/repeat.md#exit-codes).
"""


def pages(program):
    """{name of the file: its text}"""
    names = candidates(program)
    made = {"index.md": index(names)}
    made.update({f"{name}.md": page(program, name, summary) for name, summary in names})
    return {name: "\n".join(lines).rstrip() + "\n" for name, lines in made.items()}


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: commands.py PROGRAM FOLDER")
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(sys.argv[1]).items():
        (folder / name).write_text(text)


main()
