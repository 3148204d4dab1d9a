# SPDX-License-Identifier: BSD-3-Clause
"""Runs the commands of the documentation as a reader would, page by page.

    blocks.py SOURCE PROGRAM --list             every block of commands: page:line, and why it is not run
    blocks.py SOURCE PROGRAM --run [PAGE...]    runs the blocks of these pages of docs/, or of all

Commands stand in fenced blocks of the kind `sh`. All of a page run in one shell, in a folder of their own, in which
examples/, tests/ and scripts/ are those of the source. A block that can't be run has a comment before it that says
why: <!-- not run: needs a GPU -->. Commands in any other kind of block are an error: nobody would run them.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MARK = re.compile(r"<!-- not run: (.+?) -->")
COMMAND = re.compile(r"^\s*(\$ )?(isotome|mpirun|srun|pip install|cmake|bash scripts/\S+) ")
SEEN = ("examples", "tests", "scripts", "CMakeLists.txt")


class Block:
    def __init__(self, page, line, kind, text, reason):
        self.page, self.line, self.kind, self.text, self.reason = page, line, kind, text, reason

    def __str__(self):
        return f"docs/{self.page}:{self.line}"


def blocks(page, text):
    """Every fenced or indented block; the kind of the latter is "indented"."""
    lines, reason, i = text.split("\n"), None, 0
    while i < len(lines):
        fence = re.match(r"( *)```(\S*)", lines[i])
        mark = MARK.search(lines[i])
        end = i
        if fence:
            end = next(j for j in range(i + 1, len(lines)) if lines[j].strip() == "```")
            body = [line[len(fence[1]):] for line in lines[i + 1:end]]
            yield Block(page, i + 1, fence[2] or "plain", "\n".join(body), reason)
        elif lines[i].startswith("    ") and (i == 0 or not lines[i - 1].strip()):
            while end + 1 < len(lines) and (lines[end + 1].startswith("    ") or not lines[end + 1].strip()):
                end += 1
            yield Block(page, i + 1, "indented", "\n".join(lines[i:end + 1]), reason)
        if mark:
            reason = mark[1]
        elif lines[i].strip():
            reason = None
        i = end + 1


def all_blocks(source):
    docs = Path(source, "docs")
    for path in sorted(docs.rglob("*.md")):
        yield from blocks(str(path.relative_to(docs)), path.read_text())


def faults(found):
    """What a reader would run and this program would not."""
    for b in found:
        hidden = b.kind not in ("sh", "text", "c", "python") and any(map(COMMAND.match, b.text.split("\n")))
        if hidden:
            yield f"{b}: commands in a block of the kind '{b.kind}': make it ```sh"
        if b.kind == "sh" and not b.text.strip():
            yield f"{b}: an empty block"
        if b.kind in ("bash", "shell", "console"):
            yield f"{b}: a block of the kind '{b.kind}': make it ```sh"


def script(found):
    """One shell for a page: it says which block begins, so that a failure has a place."""
    yield "set -euo pipefail"
    for b in found:
        yield f"echo '== {b}'\n{b.text}"


def processor_time():
    """Of the children that have ended, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_page(source, program, page, found):
    """0, or 1 with what the page printed."""
    with tempfile.TemporaryDirectory() as folder:
        for name in SEEN:
            os.symlink(Path(source, name).resolve(), Path(folder, name))
        os.mkdir(Path(folder, ".bin"))
        os.symlink(Path(program).resolve(), Path(folder, ".bin", "isotome"))
        os.symlink(sys.executable, Path(folder, ".bin", "python3"))
        where = dict(os.environ, PATH=f"{folder}/.bin:{os.environ['PATH']}",
                     OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        begin, worked, log = time.monotonic(), processor_time(), Path(folder, ".log")
        with open(log, "w") as out:
            done = subprocess.run(["bash", "-c", "\n".join(script(found))], cwd=folder, env=where,
                                  stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        took = f"{time.monotonic() - begin:7.1f} s, of processors {processor_time() - worked:7.1f} s"
        print(f"{'passed' if done.returncode == 0 else 'FAILED':6} {took}  docs/{page}", flush=True)
        if done.returncode:
            print(log.read_text()[-4000:])
        return int(done.returncode != 0)


def main():
    if len(sys.argv) < 4 or sys.argv[3] not in ("--list", "--run"):
        sys.exit(__doc__)
    source, program, pages = sys.argv[1], sys.argv[2], sys.argv[4:]
    found = list(all_blocks(source))
    bad = list(faults(found))
    if bad:
        sys.exit("\n".join(bad))
    commands = [b for b in found if b.kind == "sh"]
    if sys.argv[3] == "--list":
        for b in commands:
            print(f"{b}: {'not run: ' + b.reason if b.reason else 'run'}")
        return
    named = {b.page for b in found}
    unknown = [p for p in pages if p not in named]
    if unknown:
        sys.exit(f"no page docs/{unknown[0]} with a block")
    to_run = {p: [b for b in commands if b.page == p and not b.reason] for p in pages or sorted(named)}
    sys.exit(sum(run_page(source, program, p, of) for p, of in to_run.items() if of) > 0)


main()
