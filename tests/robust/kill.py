# SPDX-License-Identifier: BSD-3-Clause
"""Kills `isotome recon` and goes on with --resume: the image must be that of the unbroken run.

    kill.py KILLS [SEED [METHOD]]   so many at random moments, over all methods (or those with METHOD
                                    in their name), and one at each step of the commit of an image

Works in the current folder; ISOTOME is the program, KILL_AT the library of tests/robust/kill_at.c.
A run may be killed several times. It fails where a killed run can't be gone on with, where image
or curve differ, and where a finished run leaves anything but its outputs; all kills are carried out
before it says so."""
import json
import os
import random
import subprocess
import sys
import time

PROGRAM = os.environ["ISOTOME"]
MOST_KILLS = 4  # of one run
MOST_TOLD = 20  # failures

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
STRIP = "strip --events s.f32 --scanner strips.yaml --pixel 10 "
SRM = "srm --srm m.srm --data lors.npy "
SOUND = "--data t.npy --scanner array.yaml --grid 12 --voxel 1 --iterations "
CASES = {
    "ray mlem": RAY + "--iterations 16",
    "ray osem": RAY + "--method osem --subsets 4 --iterations 16 --psf 6",
    "ray streamed": RAY + "--method osem --subsets 3 --iterations 6 --stream --block 3000",
    "ray scratch": RAY + "--method osem --subsets 3 --iterations 6 --stream --block 3000 --scratch .",
    "ray frames": RAY + "--iterations 5 --frames 0,10,30,60 --filter gaussian:9",
    "ray scatter": RAY.replace("--sens sens.npy", "--mu mu.nii") + "--iterations 4 --scatter sss --scatter-rounds 2 "
                   "--energy-window 435,650 --energy-resolution 0.11",
    "strip mlem": STRIP + "--iterations 8",
    "strip osem": STRIP + "--method osem --subsets 4 --iterations 8",
    "srm mlem": SRM + "--iterations 12",
    "srm osem": SRM + "--method osem --subsets 4 --subset-rule mod --iterations 8",
    "svoxel cg": "svoxel " + SOUND + "20 --penalty quadratic:1e-3",
    "sradon cg": "sradon " + SOUND + "20",
    "svoxel nonneg": "svoxel " + SOUND + "16 --nonneg",
    "sradon tv": "sradon " + SOUND + "16 --penalty tv:1e-3",
    "ubp fbp": "ubp --data t.npy --scanner array.yaml --grid 24 --voxel 0.5",
}
SAMPLE = ("ray mlem", "ray scratch", "ubp fbp")  # killed within the commit where kills are few


def leave(text):
    sys.exit("kill: " + text)


def isotome(line, **more):
    return subprocess.run([PROGRAM, *line.split()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, **more)


def must(line):
    done = isotome(line)
    if done.returncode != 0:
        leave("isotome %s: exit code %d: %s" % (line, done.returncode, done.stderr.strip()))


def make_inputs():
    for name, text in (("ring.yaml", RING), ("panels.yaml", PANELS), ("strips.yaml", STRIPS),
                       ("array.yaml", ARRAY), ("balls.yaml", BALLS), ("ellipses.txt", "ellipse 0 0 50 60 0 1\n")):
        with open(name, "w") as f:
            f.write(text)
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


class Case:
    """One kind of run: its words, and what the unbroken one gave in how long."""

    def __init__(self, name, line):
        self.name = name
        self.line = "recon %s --device cpu --threads 1 --checkpoint-minutes 0" % line
        self.resumes = isotome(self.line + " -o whole.nii -q --dry-run --resume").returncode == 0
        if not self.resumes:
            self.line = self.line.replace(" --checkpoint-minutes 0", "")
        begin = time.monotonic()
        must(self.line + " -o whole.nii -q --force")
        self.seconds = time.monotonic() - begin
        self.image = open("whole.nii", "rb").read()
        self.curve = curve("whole.json")
        os.remove("whole.nii")
        os.remove("whole.json")

    def again(self, more=""):
        return self.line + " -o part.nii -q" + (" --resume" if self.resumes else "") + more

    def fail(self, text):
        failures.append("%s: %s" % (self.name, text))

    def difference(self):
        """From the unbroken run; "" if there is none."""
        if not os.path.exists("part.nii") or not os.path.exists("part.json"):
            return "no image, or no record"
        if open("part.nii", "rb").read() != self.image:
            return "another image"
        now = curve("part.json")
        return ", ".join("%s: %s, was %s" % (k, now.get(k), self.curve.get(k))
                         for k in {**now, **self.curve} if now.get(k) != self.curve.get(k))

    def finish(self, before):
        """After a kill: the next run ends, or says that all was done; then everything is right."""
        found = sorted(set(os.listdir()) - before)
        done = isotome(self.again())
        if done.returncode != 0 and "exists" in done.stderr and not self.difference():
            done = isotome(self.again(" --force"))
        if done.returncode != 0:
            self.fail("can't go on with %s: exit code %d: %s (%s)" % (
                " ".join(found), done.returncode, done.stderr.strip(), self.difference()))
        elif self.difference():
            self.fail("not as the unbroken run: " + self.difference())
        left = set(os.listdir()) - before
        litter = sorted(left - {"part.nii", "part.json"})
        if litter and done.returncode == 0:
            self.fail("a finished run left " + " ".join(litter))
        for name in left:
            os.remove(name)


def kill_after(line, seconds):
    """True if the run was still going on."""
    run = subprocess.Popen([PROGRAM, *line.split()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        run.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        run.kill()
        run.wait()
        return True


def random_kills(cases, kills, draw):
    """In turn over the cases, each run killed up to MOST_KILLS times and then left to end."""
    done, runs = 0, 0
    before = set(os.listdir())
    while done < kills:
        case = cases[runs % len(cases)]
        for _ in range(draw.randint(1, min(MOST_KILLS if kills > 100 else 2, kills - done))):
            if not kill_after(case.again(), draw.uniform(0, 1.05 * case.seconds)):
                break
            done += 1
        case.finish(before)
        runs += 1
    return done, runs


def commit_kills(case):
    """At every call that names a file, while a run without checkpoints writes its image."""
    before = set(os.listdir())
    line = case.again().replace(" --checkpoint-minutes 0", "")
    environment = {**os.environ, "LD_PRELOAD": os.environ["KILL_AT"]}
    for at in range(1, 1000):
        done = isotome(line, env={**environment, "KILL_AT": str(at)})
        if done.returncode == 0:
            case.finish(before)
            return at - 1
        if done.returncode != -9:
            leave("%s: exit code %d, was to be killed at call %d: %s" % (
                case.name, done.returncode, at, done.stderr))
        case.finish(before)
    leave("no end of calls")


def main(argv):
    kills, seed = int(argv[1]), int(argv[2]) if len(argv) > 2 else 1
    draw = random.Random(seed)
    make_inputs()
    cases = [Case(name, line) for name, line in CASES.items() if len(argv) < 4 or argv[3] in name]
    in_commit = sum(commit_kills(c) for c in cases if kills > 100 or c.name in SAMPLE)
    done, runs = random_kills(cases, kills, draw)
    print("killed at %d random moments in %d runs of %d methods (seed %d), and %d times within a commit; "
          "without checkpoints: %s" % (done, runs, len(cases), seed, in_commit,
                                       ", ".join(c.name for c in cases if not c.resumes)))
    for text in failures[:MOST_TOLD]:
        print(text, file=sys.stderr)
    if failures:
        leave("%d of %d kills ended badly" % (len(failures), done + in_commit))


if __name__ == "__main__":
    main(sys.argv)
