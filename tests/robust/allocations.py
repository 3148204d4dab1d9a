# SPDX-License-Identifier: BSD-3-Clause
"""PROGRAM SOURCE LIBRARY WORK MOST JOBS [NAME...]: fails the allocations of small_runs.py in turn, about
MOST of each run and evenly spread, each one alone and again with all that follow it.

Whatever fails, the run must end with code 4 and a line about memory, or with its usual code and the
usual words; in both cases each file that it leaves must be, byte for byte, the one that it leaves when
nothing fails."""
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import small_runs

# Measured, so different in every run; and a checkpoint that could not be written is a note.
VOLATILE = {"warnings", "notes", "started", "times_s", "peak_memory_bytes", "peak_host_bytes", "seconds",
            "seconds_sss", "seconds_mc", "uuid",
            "latency_median_ms", "latency_99_percent_ms", "frames_per_s"}
# Not ours to mend: when HDF5 can't allocate, it crashes in some places and tells another reason in others.
# Of runs in which it was HDF5 only the files are looked at. (fail_alloc.c has what else is left out.)
CRASHES = "libhdf5"
SHOWN = int(os.environ.get("ALLOCATIONS_SHOW", "3"))  # failures of each run, with the calls that led there
FIGURE = re.compile(rb"\d[0-9.e+]* (?:s|ms|us|KiB|MiB|GiB)\b|\d{4}-\d\d-\d\dT[0-9:]+Z")


def steady(value):
    if isinstance(value, dict):
        return {k: steady(v) for k, v in value.items() if k not in VOLATILE}
    return [steady(v) for v in value] if isinstance(value, list) else value


def content(data):
    """What of a file or of stdout must come out the same."""
    if data[:1] in b"{[":
        try:
            return steady(json.loads(data))
        except ValueError:
            pass
    if data[:8] == b"\x89HDF\r\n\x1a\n":    # a random identifier, and times
        return len(data)
    return FIGURE.sub(b"#", data)


def files(folder):
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = content(f.read())
    return found


class Test:
    def __init__(self, program, library, work, run):
        self.program, self.work, self.run = program, work, run
        self.environment = dict(os.environ, LD_PRELOAD=library)
        self.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0"
        folder, log = self.folder("whole"), os.path.join(work, run.name + ".count")
        code, self.out, self.err = self.start(folder, FAIL_ALLOC_LOG=log)
        if code != run.code:
            sys.exit(f"{run.name}: exit code {code}, expected {run.code}: {self.err.decode()}")
        self.files, self.out = files(folder), content(self.out)
        with open(log) as f:
            self.n = int(f.read())

    def folder(self, name):
        path = os.path.join(self.work, f"{self.run.name}.{name}")
        os.makedirs(path)
        return path

    def start(self, folder, **variables):
        return self.run.start(self.program, folder, {**self.environment, **variables})

    def is_checkpoint(self, path):
        """A run that was interrupted may leave one, which must be whole, and the frames that it had
        finished, or the coarse images before them, which --resume checks one by one."""
        return path.endswith((".frames", ".rounds")) or path.endswith(".ckpt") and subprocess.run([self.program, "info", path],
                                                         capture_output=True).returncode == 0

    def wrong_end(self, code, out, err):
        """What must not be of exit code and words, or None."""
        last = (err.decode(errors="replace").splitlines() or [""])[-1]
        if code == 4:
            return None if "memory" in last else f"exit code 4, but the last line is '{last}'"
        if code != self.run.code:
            return f"exit code {code}: {last}"
        same = self.run.varies or content(out) == self.out
        return None if same else f"exit code {code}, but other words on stdout"

    def wrong_files(self, folder, code, crashes):
        found = files(folder)
        if code == self.run.code and set(found) != set(self.files):
            return f"exit code {code}, but files {sorted(found)}, expected {sorted(self.files)}"
        for name, value in found.items():
            if name in self.files:
                if not self.run.varies and value != self.files[name]:
                    return f"exit code {code}, and {name} is another"
            elif not (crashes and name.endswith(".tmp")) and not self.is_checkpoint(os.path.join(folder, name)):
                return f"exit code {code}, and left {name}"
        return None

    def fail(self, at, rest):
        folder = self.folder(f"{at}{'+' * rest}")
        log = folder + ".log"
        variables = {"FAIL_ALLOC_AT": str(at), "FAIL_ALLOC_LOG": log}
        if rest:
            variables["FAIL_ALLOC_REST"] = "1"
        code, out, err = self.start(folder, **variables)
        calls = ""
        if os.path.exists(log):
            with open(log) as f:
                calls = f.read()
            os.remove(log)
        crashes = CRASHES in calls and code != self.run.code
        wrong = None if crashes else self.wrong_end(code, out, err)
        wrong = wrong or self.wrong_files(folder, code, crashes)
        shutil.rmtree(folder)
        if not wrong:
            return None
        which = f"allocation {at} of {self.n}{' and all after it' * rest}"
        return f"{self.run.name}: {which}: {wrong}\n{calls}"


def main():
    program, source, library, work = map(os.path.abspath, sys.argv[1:5])
    most, jobs, names = int(sys.argv[5]), int(sys.argv[6]), sys.argv[7:]
    inputs = os.path.join(work, "in")
    small_runs.make_inputs(inputs)
    tried = wrong = 0
    for number, run in enumerate(small_runs.runs(inputs, source)):
        if names and not run.kept and run.name not in names:
            continue
        test = Test(program, library, work, run)
        whole = os.path.join(work, run.name + ".whole")
        if run.kept:
            small_runs.keep(whole, inputs)
        if names and run.name not in names:
            continue
        # another first one in each run, so that what all runs share is sampled more finely
        step = max(1, test.n // most)
        tries = [(at, rest) for at in range(1 + number % step, test.n + 1, step) for rest in (0, 1)]
        with ThreadPoolExecutor(jobs) as pool:
            found = [f for f in pool.map(lambda t: test.fail(*t), tries) if f]
        print(f"{run.name:16} {test.n:5} allocations, {len(tries):5} runs, {len(found):4} wrong", flush=True)
        print(*found[:SHOWN], sep="\n", end="", flush=True)
        tried += len(tries)
        wrong += len(found)
    print(f"{tried} runs with failed allocations, {wrong} wrong")
    sys.exit(1 if wrong or not tried else 0)


if __name__ == "__main__":
    main()
