#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Puts small faults into a copy of the code, one at a time, and sees whether a test finds them.

    tests/mutation/run.py [--list] [--jobs N] [--build FOLDER] [NAME...]

Each fault of faults.py is a text that stands in exactly one place of the folder named with it, and what
takes its place. The copy is built, what the fault changes only, and the tests named with the fault run
in turn until one fails: the fault is found. At the end stand those that no test found, and the share
of those found, which must be 95 % at least. By hand, not in CI: an hour on two cores.

NAME...: these faults only, or all whose name begins so. --list: only looks whether each text stands in
its place. --jobs N: copies at work side by side. --build FOLDER: where copies are kept for the next run
(default: a temporary folder, removed at the end)."""
import argparse
import concurrent.futures
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time

from faults import FAULTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = (".c", ".h", ".cu", ".cuh")
LEAST = 95  # per cent that must be found
MOST_S = 600  # of a test; one that takes longer has found an endless loop


def places(root, fault):
    """Files of the fault's folder that hold its text, once for each time."""
    top = root / fault.where
    files = [top] if top.is_file() else sorted(p for p in top.rglob("*") if p.suffix in SUFFIXES)
    return [p for p in files for _ in range(p.read_text().count(fault.old))]


def check(faults):
    """Those that do not stand in one place: the code has moved on, and the list must follow."""
    bad = 0
    for f in faults:
        found = places(ROOT, f)
        if len(found) != 1:
            bad += 1
            print(f"{f.name}: stands in {len(found)} places under {f.where}, must be in one: {f.old!r}")
    names = [f.name for f in FAULTS]
    for name in sorted({n for n in names if names.count(n) > 1}):
        bad += 1
        print(f"{name}: two faults have this name")
    return bad


class Copy:
    """A tree of its own, with a build folder of its own."""

    def __init__(self, folder):
        self.root = folder / "tree"
        self.build = folder / "build"
        self.sync()
        more = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        self.command("cmake", "-S", self.root, "-B", self.build, "-DCMAKE_BUILD_TYPE=Release", "-DISO_CUDA=OFF",
                     "-DISO_TESTS_DOUBLE=OFF", *more, must=True)

    def sync(self):
        """The files of git, changed or not, and those it would add; same ones keep their time."""
        listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                                capture_output=True).stdout.decode().split("\0")
        wanted = {name for name in listed if name and (ROOT / name).is_file()}
        for name in wanted:
            old, new = self.root / name, ROOT / name
            if not old.exists() or old.read_bytes() != new.read_bytes():
                old.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(new, old)
        for old in list(self.root.rglob("*")):
            if old.is_file() and str(old.relative_to(self.root)) not in wanted:
                old.unlink()

    def command(self, *words, must=False, limit=None):
        environment = dict(os.environ, CCACHE_BASEDIR=str(self.root), CCACHE_NOHASHDIR="1")
        done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=environment, text=True, errors="replace", timeout=limit)
        if must and done.returncode:
            sys.exit(done.stdout[-4000:])
        return done

    def tests_for(self, fault):
        """Those named; "any" stands for all that ctest has, programs first."""
        if "any" not in fault.tests:
            return fault.tests
        listed = self.command("ctest", "--test-dir", self.build, "-N").stdout.split()
        every = [w for w in listed if w.startswith(("test_", "cmd_"))]
        named = [t for t in fault.tests if t != "any"]
        return named + sorted((t for t in every if t not in named), reverse=True)

    def make(self, tests):
        """Builds what the tests need; what the compiler says, if it fails."""
        targets = set()
        for t in tests:
            targets |= {"isotome_program", "isotome-bench", "kill_at", "fast_clock", "fail_alloc"} \
                if t.startswith("cmd_") else {re.sub(r"^(test_ranks_.*)_\d+$", r"\1", t)}  # a program, for several numbers of ranks
        done = self.command("cmake", "--build", self.build, "-j", 2, "--target", *sorted(targets))
        return done.stdout if done.returncode else ""

    def passes(self, test):
        done = self.command("ctest", "--test-dir", self.build, "--no-tests=error", "--timeout", MOST_S, "-R",
                            f"^{test}$")
        return done.returncode == 0 and "Skipped" not in done.stdout

    def run(self, fault):
        """The test that finds the fault, "" if none does; or None, with the compiler's words."""
        path = places(self.root, fault)[0]
        text = path.read_text()
        path.write_text(text.replace(fault.old, fault.new))
        try:
            for test in self.tests_for(fault):
                words = self.make([test])
                if words:
                    return None, words
                if not self.passes(test):
                    return test, ""
            return "", ""
        finally:
            path.write_text(text)


def try_all(faults, folder, jobs):
    """(fault, found, words, seconds) as they come. A copy serves one fault at a time."""
    free = queue.Queue()
    for i in range(jobs):
        free.put(Copy(folder / str(i)))

    def one(fault):
        begin, copy = time.monotonic(), free.get()
        try:
            return fault, *copy.run(fault), time.monotonic() - begin
        finally:
            free.put(copy)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for future in concurrent.futures.as_completed([pool.submit(one, f) for f in faults]):
            yield future.result()


def sound(faults, folder):
    """Tests that fail without a fault find nothing."""
    copy = Copy(folder / "0")
    tests = sorted({t for f in faults for t in f.tests if t != "any"})
    words = copy.make(tests)
    if words:
        sys.exit(f"the code does not build without a fault:\n{words[-4000:]}")
    bad = [t for t in tests if not copy.passes(t)]
    if bad:
        sys.exit("tests that fail, or are skipped, without a fault: " + ", ".join(bad))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--trust", action="store_true", help="do not run the tests without a fault first")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    faults = [f for f in FAULTS if not args.names or any(f.name.startswith(n) for n in args.names)]
    if args.list:
        for f in faults:
            print(f"{f.name:24} {f.where:20} {f.why}; {', '.join(f.tests)}")
    if check(faults):
        sys.exit("the code has moved on: put the list right")
    if args.list or not faults:
        sys.exit(0 if faults else "no fault of that name")

    folder = args.build.resolve() if args.build else pathlib.Path(tempfile.mkdtemp(prefix="isotome-mutation-"))
    survived, broken = [], []
    try:
        if not args.trust:
            sound(faults, folder)
        for fault, found, words, seconds in try_all(faults, folder, args.jobs):
            result = f"found by {found}" if found else "does not build" if found is None else "SURVIVED"
            print(f"{fault.name:24} {seconds:5.0f} s  {result}", flush=True)
            if found is None:
                broken.append(fault.name)
                print(words[-1500:])
            elif not found:
                survived.append(fault)
    finally:
        if not args.build:
            shutil.rmtree(folder, ignore_errors=True)
    for f in survived:
        print(f"survived: {f.name} ({f.where}): {f.why}")
    if broken:
        print("do not build, and show nothing: " + ", ".join(broken))
    counted = len(faults) - len(broken)
    share = 100 * (counted - len(survived)) / max(counted, 1)
    print(f"{counted - len(survived)} of {counted} faults found, {share:.0f} %; at least {LEAST} % must be")
    sys.exit(bool(broken) or share < LEAST)


if __name__ == "__main__":
    main()
