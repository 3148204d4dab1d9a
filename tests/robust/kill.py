# SPDX-License-Identifier: BSD-3-Clause
"""Kills `isotome recon` by SIGKILL and goes on with --resume: exit code 0 at once, and the image is that of the
unbroken run; "complete" where it was there already.

    kill.py KILLS [SEED [METHOD]]   so many at random moments, over all methods (or those with METHOD
                                    in their name), and at calls that change names or flush: the last of each
                                    run of SAMPLE, or, where KILLS is above 100, all of every method
    kill.py --random KILLS [SEED [METHOD]]      at random moments alone
    kill.py --calls [METHOD]                    at all such calls alone

Works in the current folder; ISOTOME is the program, KILL_AT the library of tests/robust/kill_at.c. Methods of several
ranks are left out where there is no mpirun. A run may be killed several times. It fails where a killed run can't be
gone on with, where image, curve or another output differ, and where a finished run leaves anything but its outputs;
all kills are carried out before it says so."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

PROGRAM = os.environ["ISOTOME"]
MOST_KILLS = 4  # of one run
MOST_TOLD = 20  # failures
LAST_CALLS = 14  # of a run, where kills are few: the image, and what is cleaned up behind it
LONGEST_S = 120

RING = """kind: cylinder
radius_mm: 120
rings: 6
ring_pitch_mm: 12
crystals_per_ring: 72
min_crystal_distance: 18
pair_weight: solid-angle
"""
PANELS = """kind: panels
crystals: [6, 8]
pitch_mm: [2, 2]
crystal_mm: [2, 2, 10]
gap_mm: 20
layers: 1
material: {formula: LuYSiO5, density: 7}
energy: {resolution: 0.2, window_kev: [250, 750]}
readout: head
voxels_per_pitch: [2, 2]
planes: 8
plane_mm: 2
"""
STRIPS = "kind: strips\nradius_mm: 130\nlength_mm: 300\nsigma_z_mm: 10\nsigma_dl_mm: 40\n"
ARRAY = """kind: transducers
sphere: {radius_mm: 20, rings: 6, views: 8, polar_deg: [30, 150], azimuth_deg: 0}
aperture_mm: [2, 2]
speed_mm_per_us: 1.5
sampling_mhz: 4
first_sample_us: 8
samples: 60
"""
BALLS = "smooth_fwhm_mm: 2\nshapes:\n- {type: sphere, centre_mm: [1, 0, 0], radius_mm: 3, activity: 1}\n"

RAY = "ray --events e.Cdh --sens sens.npy --scanner ring.yaml --grid 24,24,12 --voxel 8,8,6 "
SCATTER = "--scatter sss --energy-window 435,650 --energy-resolution 0.11 "
STRIP = "strip --events s.f32 --scanner strips.yaml --pixel 10 "
SRM = "srm --srm m.srm --data lors.npy "
SOUND = "--data t.npy --scanner array.yaml --grid 12 --voxel 1 --iterations "
CASES = {
    "ray mlem": RAY + "--iterations 16",
    "ray osem": RAY + "--method osem --subsets 4 --iterations 16 --psf 6",
    "ray streamed": RAY + "--method osem --subsets 3 --iterations 6 --stream --block 3000",
    "ray scratch": RAY + "--method osem --subsets 3 --iterations 6 --stream --block 3000 --scratch .",
    "ray frames": RAY + "--iterations 5 --frames 0,10,30,60 --filter gaussian:9",
    "ray scatter": RAY.replace("--sens sens.npy", "--mu mu.nii") + SCATTER + "--iterations 4 --scatter-rounds 2",
    "ray scatter saved": RAY.replace("--sens sens.npy", "--mu mu.nii") + SCATTER + "--iterations 2 "
                         "--scatter-rounds 1 --scatter-save table.h5",
    "ray svrg": RAY + "--method svrg --subsets 4 --iterations 6 --penalty rdp:rel=0.2",
    "ray svrg frames": RAY + "--method svrg --subsets 4 --iterations 4 --penalty rdp:rel=0.2 --frames 0,20,60",
    "ray svrg scatter": RAY.replace("--sens sens.npy", "--mu mu.nii") + SCATTER + "--method svrg --subsets 4 "
                        "--iterations 4 --penalty rdp:rel=0.2 --scatter-rounds 2",
    "ray scatter frames": RAY.replace("--sens sens.npy", "--mu mu.nii") + SCATTER + "--iterations 2 "
                          "--scatter-rounds 1 --frames 0,30,60",
    "strip mlem": STRIP + "--iterations 8",
    "strip osem": STRIP + "--method osem --subsets 4 --iterations 8",
    "srm mlem": SRM + "--iterations 12",
    "srm osem": SRM + "--method osem --subsets 4 --subset-rule mod --iterations 8",
    "svoxel cg": "svoxel " + SOUND + "20 --penalty quadratic:1e-3",
    "sradon cg": "sradon " + SOUND + "20",
    "svoxel nonneg": "svoxel " + SOUND + "16 --nonneg",
    "svoxel nncg": "svoxel " + SOUND + "16 --method nncg --precondition image",
    "sradon tv": "sradon " + SOUND + "16 --penalty tv:1e-3",
    "ubp fbp": "ubp --data t.npy --scanner array.yaml --grid 24 --voxel 0.5",
    "2 ranks osem": RAY + "--method osem --subsets 4 --iterations 8",
    "2 ranks svrg frames": RAY + "--method svrg --subsets 4 --iterations 3 --penalty rdp:rel=0.2 --frames 0,20,60",
    "3 ranks scatter": RAY.replace("--sens sens.npy", "--mu mu.nii") + SCATTER + "--iterations 2 --scatter-rounds 1",
}
SAMPLE = ("ray mlem", "ray svrg frames", "ubp fbp")  # killed at their last calls where kills are few

MPIRUN = "mpirun -q --allow-run-as-root --oversubscribe --bind-to none -n".split()
# the number of each process, which stays that of the program, into a file; the library is for the first rank alone
TELL = ('echo $$ >pids/$OMPI_COMM_WORLD_RANK; [ $OMPI_COMM_WORLD_RANK != 0 ] || export LD_PRELOAD=$FIRST_PRELOAD; '
        'exec "$@"')
# ranks share no memory with mpirun, which otherwise may wait for a lock in it that the killed one held (PMIx 4.2)
RANKS_ENVIRONMENT = {**os.environ, "PMIX_MCA_gds": "hash"}


def leave(text):
    sys.exit("kill: " + text)


def ranks_of(name):
    """Of a case: "2 ranks osem"; 1: one process, without mpirun."""
    words = name.split()
    return int(words[0]) if words[1:2] == ["ranks"] else 1


def start(line, ranks=1, preload="", **more):
    """Of several ranks the numbers of the processes are in pids/."""
    how = dict(stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if ranks == 1:
        environment = {**os.environ, **({"LD_PRELOAD": preload} if preload else {}), **more}
        return subprocess.Popen([PROGRAM, *line.split()], env=environment, **how)
    for name in os.listdir("pids"):
        os.remove("pids/" + name)
    return subprocess.Popen([*MPIRUN, str(ranks), "bash", "-c", TELL, "-", PROGRAM, *line.split()],
                            env={**RANKS_ENVIRONMENT, "FIRST_PRELOAD": preload, **more}, **how)


def isotome(line, ranks=1, preload="", **more):
    """Exit code, and what it said on stderr."""
    job = start(line, ranks, preload, **more)
    err = job.communicate(timeout=LONGEST_S)[1]
    return job.returncode, err.strip()


def kill_process(pid):
    """False: there is none of this number. 0, of a rank that has not told its own, would be the whole group."""
    try:
        if pid > 0:
            os.kill(pid, signal.SIGKILL)
        return pid > 0
    except ProcessLookupError:
        return False


def pid_of(rank):
    try:
        return int(open("pids/%d" % rank).read() or 0)
    except FileNotFoundError:
        return 0


def must(line):
    code, err = isotome(line)
    if code != 0:
        leave("isotome %s: exit code %d: %s" % (line, code, err))


def make_inputs():
    for name, text in (("ring.yaml", RING), ("panels.yaml", PANELS), ("strips.yaml", STRIPS),
                       ("array.yaml", ARRAY), ("balls.yaml", BALLS), ("ellipses.txt", "ellipse 0 0 50 60 0 1\n")):
        with open(name, "w") as f:
            f.write(text)
    os.makedirs("pids", exist_ok=True)
    must("phantom cylinder --grid 20,20,12 --voxel 10,10,6 -o truth.nii --mu mu.nii -q")
    must("simulate ring.yaml truth.nii --counts 20000 --duration-s 60 -o e.Cdh -q")
    must("sens ray --scanner ring.yaml --grid 24,24,12 --voxel 8,8,6 -o sens.npy -q")
    must("simulate strips.yaml ellipses.txt --counts 3000 -o s.f32 -q")
    must("srm panels.yaml --analytic --share 1 -o m.srm -q")
    must("phantom cylinder --grid 12,8,16 --voxel 1,2,1 -o small.nii -q")
    must("simulate panels.yaml small.nii --physics --decays 200000 -o lors.npy -q")
    must("simulate array.yaml balls.yaml -o t.npy -q")


def curve(record):
    """What the record says of the iterations; times and the way there are the run's own."""
    def clean(v):
        if isinstance(v, dict):
            return {k: clean(w) for k, w in v.items()
                    if not (k.endswith("_s") or "resumed" in k or "time" in k or "seconds" in k or "peak" in k or k == "streamed")}
        return [clean(w) for w in v] if isinstance(v, list) else v
    return clean(json.load(open(record))["results"])


failures = []
found_complete = 0  # runs that were


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Case:
    """One kind of run: its words, and what the unbroken one gave in how long."""

    def __init__(self, name, line):
        self.name = name
        self.ranks = ranks_of(name)
        self.line = "recon %s --device cpu --threads 1 --checkpoint-minutes 0" % line
        self.resumes = isotome(self.line + " -o whole.nii -q --dry-run --resume")[0] == 0
        if not self.resumes:
            self.line = self.line.replace(" --checkpoint-minutes 0", "")
        words = line.split()
        self.others = [words[i + 1] for i, w in enumerate(words) if w == "--scatter-save"]
        must(self.line + " -o whole.nii -q --force")  # by one process: ranks give the same
        self.outputs = {"part.nii": read("whole.nii"), **{n: read(n) for n in self.others}}
        self.curve = curve("whole.json")
        for n in ["whole.nii", "whole.json", *self.others]:
            os.remove(n)
        begin = time.monotonic()
        isotome(self.again(), self.ranks)
        self.seconds = time.monotonic() - begin
        for n in ["part.json", *self.outputs]:
            os.remove(n)

    def again(self, more=""):
        return self.line + " -o part.nii" + (" --resume" if self.resumes else "") + more

    def fail(self, text):
        failures.append("%s: %s" % (self.name, text))

    def difference(self):
        """From the unbroken run; "" if there is none."""
        for name in ["part.json", *self.outputs]:
            if not os.path.exists(name):
                return "no " + name
        for name, was in self.outputs.items():
            if read(name) != was:
                return "another " + name
        now = curve("part.json")
        return ", ".join("%s: %s, was %s" % (k, now.get(k), self.curve.get(k))
                         for k in {**now, **self.curve} if now.get(k) != self.curve.get(k))

    def finish(self, before, where):
        """After a kill: the next run ends, or says that all was done; then everything is right."""
        global found_complete
        found = sorted(set(os.listdir()) - before)
        code, err = isotome(self.again(), self.ranks)
        if not self.resumes and code == 2 and "exists" in err and not self.difference():
            code, err = isotome(self.again(" --force"), self.ranks)
        found_complete += "is complete" in err
        if code != 0:
            self.fail("%s: can't go on with %s: exit code %d: %s (%s)" % (
                where, " ".join(found), code, err, self.difference()))
        elif self.difference():
            self.fail("%s: not as the unbroken run: %s" % (where, self.difference()))
        left = set(os.listdir()) - before
        litter = sorted(left - {"part.json", *self.outputs})
        if litter and code == 0:
            self.fail("%s: a finished run left %s" % (where, " ".join(litter)))
        for name in left:
            os.remove(name)


def kill_after(case, seconds, draw):
    """True if the run was still going on. Of several ranks one is killed."""
    run = start(case.again(), case.ranks)
    victim, began = draw.randrange(case.ranks), time.monotonic()
    while case.ranks > 1 and not pid_of(victim) and run.poll() is None and time.monotonic() - began < LONGEST_S:
        time.sleep(.005)
    pid = pid_of(victim) if case.ranks > 1 else run.pid
    try:
        run.wait(seconds)
        going = False
    except subprocess.TimeoutExpired:
        going = kill_process(pid)
    run.communicate(timeout=LONGEST_S)
    return going and run.returncode != 0


def random_kills(cases, kills, draw):
    """In turn over the cases, each run killed up to MOST_KILLS times and then left to end."""
    done, runs = 0, 0
    before = set(os.listdir())
    while done < kills:
        case = cases[runs % len(cases)]
        at = []
        for _ in range(draw.randint(1, min(MOST_KILLS if kills > 100 else 2, kills - done))):
            at.append("%.3f s" % draw.uniform(0, 1.05 * case.seconds))
            if not kill_after(case, float(at[-1][:-2]), draw):
                break
            done += 1
        case.finish(before, "killed after " + ", ".join(at))
        runs += 1
    return done, runs


def calls_of(case, library):
    """That a whole run makes."""
    isotome(case.again(), case.ranks, library, KILL_AT="0", KILL_COUNT=os.path.abspath("pids/count"))
    calls = int(read("pids/count"))
    for name in ["part.json", *case.outputs]:
        os.remove(name)
    return calls


def commit_kills(case, most):
    """At calls that name, unname or flush a file: the last `most` of the first rank."""
    before = set(os.listdir())
    library = os.environ["KILL_AT"]
    calls = calls_of(case, library)
    first = max(1, calls - most + 1)
    for at in range(first, calls + 1):
        code, err = isotome(case.again(), case.ranks, library, KILL_AT=str(at))
        if code not in (-9, 137):
            leave("%s: exit code %d, was to be killed at call %d of %d: %s" % (case.name, code, at, calls, err))
        case.finish(before, "killed at call %d of %d" % (at, calls))
    return calls - first + 1


def main(argv):
    if argv[1] == "--calls":
        argv = [argv[0], "0", "1", *argv[2:]]
    only_random = argv[1] == "--random"
    argv = argv[1:] if only_random else argv
    kills, seed = int(argv[1]), int(argv[2]) if len(argv) > 2 else 1
    draw = random.Random(seed)
    make_inputs()
    have_ranks = shutil.which("mpirun") and os.path.exists(os.path.join(os.path.dirname(PROGRAM), "libisotome_mpi.so"))
    names = [n for n in CASES if (len(argv) < 4 or argv[3] in n) and (have_ranks or ranks_of(n) == 1)]
    if 0 < kills < len(CASES) and not only_random:  # every case takes its time to make
        drawn = draw.sample(names, min(kills, len(names)))
        names = drawn + [n for n in names if n in SAMPLE and n not in drawn]
    cases = [Case(n, CASES[n]) for n in names]
    if only_random:
        at_calls = 0
    elif kills == 0 or kills > 100:
        at_calls = sum(commit_kills(c, 10**6) for c in cases)
    else:
        at_calls = sum(commit_kills(c, LAST_CALLS) for c in cases if c.name in SAMPLE)
    done, runs = random_kills(cases, kills, draw)
    print("killed at %d random moments in %d runs of %d methods (seed %d), and at %d calls; %d were complete; "
          "without checkpoints: %s%s" % (done, runs, len(cases), seed, at_calls, found_complete,
                                         ", ".join(c.name for c in cases if not c.resumes),
                                         "" if have_ranks else "; no ranks here"))
    for text in failures[:MOST_TOLD]:
        print(text, file=sys.stderr)
    if failures:
        leave("%d of %d kills ended badly" % (len(failures), done + at_calls))


if __name__ == "__main__":
    main(sys.argv)
