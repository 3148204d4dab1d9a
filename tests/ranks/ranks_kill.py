# SPDX-License-Identifier: BSD-3-Clause
"""Kills one rank of `mpirun isotome recon` and goes on with --resume and another number of ranks: the image must be
that of the unbroken run of one process.

    ranks_kill.py KILLS [SEED [METHOD]]     so many at random moments, over the methods of kill.py that resume;
                                            those that write events of their own are for one process

Works in the current folder; ISOTOME is the program."""
import os
import random
import sys
import time

import kill


def kill_one(case, rng):
    """Starts a run and kills one of its ranks; what was done, in words."""
    ranks = rng.randint(2, 4)
    victim = rng.randrange(ranks)
    job = kill.start(case.again(), ranks)
    began = time.monotonic()
    while not kill.pid_of(victim) and job.poll() is None and time.monotonic() - began < kill.LONGEST_S:
        time.sleep(.005)
    wait_s = rng.uniform(0, 1.2 * case.seconds + .4)
    time.sleep(wait_s)
    what = "killed" if kill.kill_process(kill.pid_of(victim)) else "ended"
    job.communicate(timeout=kill.LONGEST_S)
    return "rank %d of %d %s after %.2f s" % (victim, ranks, what, wait_s)


def finish(case, rng):
    """What is wrong with the run that goes on; "" if nothing is."""
    ranks = rng.randint(1, 4)
    code, err = kill.isotome(case.again(), ranks)
    if code != 0:
        return "%d ranks can't go on: %s" % (ranks, err)
    return case.difference()


def main():
    kills, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = random.Random(seed)
    kill.make_inputs()
    names = [n for n in kill.CASES if "scratch" not in n and kill.ranks_of(n) == 1 and
             (len(sys.argv) < 4 or sys.argv[3] in n)]
    rng.shuffle(names)
    bad = done = 0
    while done < kills:
        name = names[done % len(names)]
        case = kill.Case(name, kill.CASES[name])
        if not case.resumes:
            names.remove(name)
            continue
        what = kill_one(case, rng)
        wrong = finish(case, rng)
        print("%-14s %s  %s" % (name, what, wrong), flush=True)
        bad += wrong != ""
        done += 1
        for file in os.listdir("."):
            if file in case.outputs or file.startswith("part.") or file.startswith(".isotome"):
                os.remove(file)
    sys.exit("%d of %d kills" % (bad, kills) if bad else 0)


if __name__ == "__main__":
    main()
