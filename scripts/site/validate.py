#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the page of validation from what the tests and the papers' studies find: scripts/validate.sh calls it.

    validate.py BUILD [--scale tiny|small|full|none] [-o PAGE] [PROGRAM...]

Test programs print a line for each comparison where ISO_TEST_RESULTS=1 (`told` of tests/test.h); cmocka's lines around it
name the test, and say whether it passed or was skipped. Of each test the page has the comparison that came closest to
its bound. PROGRAM...: these test programs alone. Fails if a test does.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import validate_papers

ROOT = Path(__file__).resolve().parents[2]
#: Folder of tests -> title, what its comparisons are about.
PARTS = {
    "model": ("Models", "Forward and back projection, EM steps and images against reference vectors of independent programs "
              "(`tests/data`), values worked by hand, adjoints, subsets, whole matrices; on CUDA also against the CPU."),
    "algo": ("Algorithms", "MLEM, OSEM, least squares, penalised likelihood, total variation, filters and kernels: images and "
             "costs of independent programs, conditions of the optimum, invariants of each step."),
    "physics": ("Physics and simulation", "Cross sections, photon transport, decays, randoms, closed forms of sound: laws, moments "
                "and published values."),
    "scatter": ("Scatter", "Expected scatter against an independent Monte Carlo: pulls are differences over their standard error."),
    "image": ("Phantoms and measures", "Volumes, widths, contrasts and profiles whose value is known."),
    "core": ("Operators and transforms", "Fourier transforms, vectors, fixed point, grids, random numbers."),
}
STATE = re.compile(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] (\w+)")
#: Of the lines that measure something between two others, millions in some programs, leaves the one nearest to its bound,
#: with their number before it.
NEAREST = """
function tell() { if (n) print n, nearest; n = 0; worst = -1 }
BEGIN { worst = -1 }
/measured [^ ]+ [^ ]+ [^ ]+$/ {
    n++
    share = $NF > 0 ? $(NF - 1) / $NF : ($(NF - 1) == 0 ? 0 : 1e300)
    if (share > worst) { worst = share; nearest = "measured " $(NF - 1) " " $NF }
    next
}
{ tell(); print }
END { tell() }
"""
MEASURED = re.compile(r"^(\d+) measured (\S+) (\S+)$")


class Test:
    """Comparisons of one test of one program: how many, and the one nearest to its bound."""

    def __init__(self):
        self.state, self.n, self.worst = None, 0, None

    def add(self, n, found, bound):
        self.n += n
        share = found / bound if bound > 0 else (0 if found == 0 else float("inf"))
        if self.worst is None or share > self.worst[0]:
            self.worst = (share, found, bound)


def run(build, program):
    """{test: Test} of a program, in the order in which they ran."""
    folder = build / "tests" / f"of_{program}"
    folder.mkdir(exist_ok=True)
    words = dict(os.environ, ISO_TEST_RESULTS="1", CMOCKA_MESSAGE_OUTPUT="stdout", OMP_WAIT_POLICY="passive")
    with subprocess.Popen([build / "tests" / program], cwd=folder, env=words, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as test:
        lines = subprocess.run(["awk", NEAREST], stdin=test.stdout, stdout=subprocess.PIPE, text=True, errors="replace", check=True)
    tests, now = {}, None
    for line in lines.stdout.split("\n"):
        state, value = STATE.search(line), MEASURED.search(line)
        if state:
            now = tests.setdefault(state[2], Test())
            if state[1] != "RUN":
                now.state = state[1]
        elif value and now:
            now.add(int(value[1]), float(value[2]), float(value[3]))
    if test.returncode:
        failed = [name for name, t in tests.items() if t.state == "FAILED"]
        sys.exit(f"{program} failed: {', '.join(failed) or 'exit code ' + str(test.returncode)}")
    return tests


def run_all(build, programs):
    """{program: its tests}, of those that were built; a quarter of the cores' number side by side."""
    built = [p for p in programs if (build / "tests" / p).exists()]
    with ThreadPoolExecutor(max(1, os.cpu_count() // 4)) as pool:
        return dict(zip(built, pool.map(lambda p: run(build, p), built)))


# ---- what a test is about: the comment above its function ----


def sentence(comment):
    text = " ".join(comment.split())
    return re.split(r"(?<=[.;:])\s", text + " ", maxsplit=1)[0].rstrip(" .;:")


def about(source, name):
    """The first sentence of the comment above a test, or above the check that it runs; else its name in words."""
    of = re.search(rf"^CUDA_TEST\({name}, (\w+)\)", source, re.M)
    for function in (name, of[1] if of else name):
        found = re.search(rf"/\*((?:(?!\*/).)*)\*/\nstatic void {function}\(", source, re.S)
        if found and "----" not in found[1]:
            return sentence(found[1])
    return name.replace("_", " ")


def escaped(text):
    return re.sub(r"([|*_<\[\]])", r"\\\1", text)


# ---- the page ----


def cell(test):
    if test is None:
        return ""
    if test.state == "SKIPPED":
        return "not measured here"
    if test.worst is None:
        return ""
    return f"{test.worst[1]:.2g} of {test.worst[2]:.2g}"


def columns(double):
    return ["CPU, float", "CPU, double", "CUDA"] if double else ["CPU", "CUDA"]


def rows(source, single, double):
    """Of a program: tests on the CPU with those of the same name on CUDA beside them; double: None, or the same program's."""
    for name, test in single.items():
        if name.startswith("cuda_") and name[5:] in single:
            continue
        on_cuda = test if name.startswith("cuda_") else single.get("cuda_" + name)
        on_cpu = None if name.startswith("cuda_") else test
        of_double = (double or {}).get(name)
        measured = [t for t in (on_cpu, on_cuda, of_double) if t and (t.worst or t.state == "SKIPPED")]
        if not measured or not any(t.worst for t in measured) and not name.startswith("cuda_"):
            continue
        n = max(t.n for t in measured)
        cells = [cell(on_cpu), cell(of_double), cell(on_cuda)] if double is not None else [cell(on_cpu), cell(on_cuda)]
        yield " | ".join([f"| {escaped(about(source, name))}", str(n or ""), *cells]) + " |"


def part(build, folder, wanted):
    title, words = PARTS[folder]
    found, plain = [], 0
    paths = [p for p in sorted((ROOT / "tests" / folder).glob("test_*.c")) if not wanted or p.stem in wanted]
    tests = run_all(build, [p.stem + of for p in paths for of in ("", "_double")])
    for path in (p for p in paths if p.stem in tests):
        single, double = tests[path.stem], tests.get(path.stem + "_double")
        lines = list(rows(path.read_text(), single, double))
        plain += sum(t.state == "OK" and not t.n for t in single.values())
        if lines:
            head = ["what", "comparisons", *columns(double)]
            found += [f"### {path.stem}\n", f"| {' | '.join(head)} |", "| --- " * len(head) + "|", *lines, ""]
    if found:
        yield f"## {title}\n"
        yield words + (f" Besides, {plain} tests of these programs passed that compare bits, messages or order." if plain else "") + "\n"
        yield from found


def machine():
    """Kind of processor and GPU, in words."""
    lines = subprocess.run(["lscpu"], capture_output=True, text=True).stdout.split("\n")
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("Model name")]
    cpu = f"{os.cpu_count()} cores of {models[0] if models else os.uname().machine} ({os.uname().machine})"
    try:
        gpu = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True)
        name = gpu.stdout.split("\n")[0].strip()
    except FileNotFoundError:
        name = ""
    return cpu + (f", one {name}" if name else ", no GPU: columns of CUDA are not measured here")


def page(build, scale, wanted):
    flags = "" if scale == "small" else f" --scale {scale}"
    yield "# Validation\n"
    yield ("What Isotome computes, beside what it should be. One command makes this page, on any machine, with its GPU if "
           f"there is one:\n\n<!-- not run: it makes this page, and takes long -->\n\n```sh\nscripts/validate.sh{flags}\n```\n")
    yield f"Measured on {machine()}.\n"
    yield ("A cell reads *found of allowed*: of all comparisons of a test, the one that came nearest to its bound. Bounds are in "
           "the tests, with their reasons; a test fails where one is passed, so every figure here is below it. The unit is "
           "that of the quantity, or a share of its norm. `scripts/test-all.sh` runs all of this, and much that has no figure."
           + (" Double storage is a build of the library for tests alone, held to the tolerances of the vectors in double."
              if any((build / "tests").glob("test_*_double")) else "") + "\n")
    for folder in PARTS:
        yield from part(build, folder, wanted)
    if scale != "none":
        with tempfile.TemporaryDirectory() as folder:
            yield from validate_papers.sections(build / "isotome", scale, Path(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--scale", default="small", choices=("tiny", "small", "full", "none"))
    parser.add_argument("-o", dest="out", type=Path, default=ROOT / "docs" / "validation.md")
    parser.add_argument("program", nargs="*")
    args = parser.parse_intermixed_args()
    text = "\n".join(page(args.build.resolve(), args.scale, args.program)).rstrip() + "\n"
    if "| what |" not in text:
        sys.exit(f"{args.build}: no test program there measured anything")
    args.out.write_text(text)


if __name__ == "__main__":
    main()
