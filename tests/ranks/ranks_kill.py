# SPDX-License-Identifier: BSD-3-Clause
"""Kills one rank of `mpirun isotome recon` and goes on with --resume and another number of ranks: the image must be
that of the unbroken run of one process.

    ranks_kill.py KILLS [SEED [METHOD]]     so many at random moments, over the methods of kill.py that resume;
                                            those that write events of their own are for one process

Works in the current folder; ISOTOME is the program."""
import os
import random
import signal
import subprocess
import sys
import time

import kill

MPIRUN = "mpirun -q --allow-run-as-root --oversubscribe --bind-to none -n".split()
TELL = 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$@"'  # the number of each process, which stays that of the program
LONGEST_S = 120
# ranks share no memory with mpirun, which otherwise may wait for a lock in it that the killed one held (PMIx 4.2)
ENVIRONMENT = {**os.environ, "PMIX_MCA_gds": "hash"}


def start(ranks, line):
    return subprocess.Popen([*MPIRUN, str(ranks), "bash", "-c", TELL, "-", kill.PROGRAM, *line.split()],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


def read_pid(rank):
    try:
        return int(open("pid.%d" % rank).read() or 0)
    except FileNotFoundError:
        return 0


def kill_one(case, rng):
    """Starts a run and kills one of its ranks; what was done, in words."""
    ranks = rng.randint(2, 4)
    victim = rng.randrange(ranks)
    for rank in range(4):
        if os.path.exists("pid.%d" % rank):
            os.remove("pid.%d" % rank)
    job = start(ranks, case.again())
    began = time.monotonic()
    while not read_pid(victim) and job.poll() is None and time.monotonic() - began < LONGEST_S:
        time.sleep(.005)
    wait_s = rng.uniform(0, 1.2 * case.seconds + .4)
    time.sleep(wait_s)
    try:
        os.kill(read_pid(victim), signal.SIGKILL)
        what = "killed"
    except ProcessLookupError:
        what = "ended"
    job.communicate(timeout=LONGEST_S)
    return "rank %d of %d %s after %.2f s" % (victim, ranks, what, wait_s)


def finish(case, rng):
    """What is wrong with the run that goes on; "" if nothing is."""
    ranks = rng.randint(1, 4)
    more = " --force" if os.path.exists("part.nii") else ""
    job = start(ranks, case.again(more))
    err = job.communicate(timeout=LONGEST_S)[1]
    if job.returncode != 0:
        return "%d ranks can't go on: %s" % (ranks, err.strip())
    return case.difference()


def main():
    kills, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = random.Random(seed)
    kill.make_inputs()
    names = [n for n in kill.CASES if "scratch" not in n and (len(sys.argv) < 4 or sys.argv[3] in n)]
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
            if file.startswith("part.") or file.startswith(".isotome"):
                os.remove(file)
    sys.exit("%d of %d kills" % (bad, kills) if bad else 0)


if __name__ == "__main__":
    main()
