# SPDX-License-Identifier: BSD-3-Clause
"""Small runs of all commands that share their work, by one process and by several: the files must be the same.

    ranks.py PROGRAM SOURCE FOLDER NUMBERS [NAME...]    NUMBERS: of ranks, as "2,3,4"; every second run takes
                                                        the next, with ISO_TEST_FULL=1 each all of them

Runs are those of small_runs.py; in FOLDER, which must be empty."""
import json
import os
import sys

import small_runs

FULL = os.environ.get("ISO_TEST_FULL") == "1"
SHARED = {"simulate", "srm", "norm", "sens", "project", "backproject", "recon"}
MPIRUN = ["mpirun", "-q", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n"]
TIMED = ("_s", "seconds", "seconds_sss", "seconds_mc", "bytes", "ranks", "path", "streamed")    # keys that end so tell of the run, not of the image
DATED = (".hdf5",)    # files that hold the hour at which they were written


def results(path):
    """What a record says of the outcome; {} of a file that is none."""
    def clean(v):
        if isinstance(v, dict):
            return {k: clean(w) for k, w in v.items() if not k.endswith(TIMED)}
        return [clean(w) for w in v] if isinstance(v, list) else v
    record = json.load(open(path))
    return {k: clean(record.get(k)) for k in ("results", "parameters", "warnings")}


def files(folder):
    return sorted(name for name in os.listdir(folder) if not name.startswith(".isotome-"))


def difference(one, several):
    """Between the files of two runs; "" if there is none."""
    if files(one) != files(several):
        return "files %s, of one process %s" % (files(several), files(one))
    for name in files(one):
        a, b = os.path.join(one, name), os.path.join(several, name)
        if name.endswith(".json"):
            if results(a) != results(b):
                return "%s tells otherwise: %s, of one process %s" % (name, results(b), results(a))
        elif not name.endswith(DATED) and open(a, "rb").read() != open(b, "rb").read():
            return name + " differs"
    return ""


def main():
    program, source, work = map(os.path.abspath, sys.argv[1:4])
    numbers = [int(n) for n in sys.argv[4].split(",")]
    inputs = os.path.join(work, "in")
    small_runs.make_inputs(inputs)
    failures = count = 0
    for run in small_runs.runs(inputs, source):
        shared = run.arguments[0] in SHARED and not run.varies and "--follow" not in run.arguments
        chosen = shared and (not sys.argv[5:] or run.name in sys.argv[5:])
        if not run.kept and not chosen:
            continue
        folder = os.path.join(work, run.name)
        os.makedirs(folder)
        code, _, err = run.start(program, folder, os.environ)
        if code != run.code:
            sys.exit("%s: exit code %d: %s" % (run.name, code, err.decode(errors="replace")))
        took = numbers if FULL else [] if count % 2 else [numbers[count // 2 % len(numbers)]]
        for n in took if chosen else []:
            other = os.path.join(work, "%s.%d" % (run.name, n))
            os.makedirs(other)
            code, _, err = run.start(program, other, os.environ, (*MPIRUN, str(n)))
            what = "exit code %d" % code if code != run.code else difference(folder, other)
            print("%-16s %d ranks  %s" % (run.name, n, what), flush=True)
            if what:
                failures += 1
                print(err.decode(errors="replace"))
        count += chosen
        if run.kept:
            small_runs.keep(folder, inputs)
    sys.exit("%d runs differ" % failures if failures else 0)


if __name__ == "__main__":
    main()
