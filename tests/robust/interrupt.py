# SPDX-License-Identifier: BSD-3-Clause
"""Interrupts `isotome` in every stage of a run, by SIGINT, SIGTERM and SIGHUP in turn: as soon as `-v` says that the stage
has begun. What is left must be what docs/promises.md says.

    interrupt.py EVENTS [SECONDS]   with files of so many events. SECONDS: fails where an interrupted run takes
                                    longer to end; only by hand, on an idle machine

Works in the current folder; ISOTOME is the program, SOURCE the folder of the source. A run may have left the stage,
or ended, before the signal comes: then it is repeated, up to TRIES times, and at least ENOUGH of the stages must be
met. Prints for each the seconds from the signal to the end."""
import os
import signal
import subprocess
import sys
import time

import numpy as np

PROGRAM = os.environ["ISOTOME"]
SCANNERS = os.environ["SOURCE"] + "/examples/scanners/"
TRIES = 5
ENOUGH = 0.8  # share of the stages

RAY = "recon ray --events %s --scanner ring.yaml --threads 1 --device cpu -v -o x.nii "
SMALL = "--grid 16,16,8 --voxel 30,30,20 --iterations 1 --sens none --tof-fwhm-ps 0"
LARGE = "--grid 64,64,32 --voxel 8,8,6 --tof-fwhm-ps 0 --iterations 500 "
STRIP = "recon strip --events %s --scanner " + SCANNERS + "bialas2015.yaml --threads 1 --device cpu -v -o x.npy "

# The words that tell of the stage, the run, and what an interrupted one may leave.
CASES = {
    "read lmdT": ("stage: read", RAY % "e.lmdT" + SMALL, ()),
    "read CASToR": ("stage: read", RAY % "e.Cdh" + SMALL, ()),
    "read npy": ("stage: read", RAY % "e.npy" + SMALL, ()),
    "read GATE": ("stage: read", RAY % "g.dat" + SMALL, ()),
    "hash": ("stage: read", RAY % "e.lmdT" + SMALL + " --block 100000", ()),
    "frame": ("stage: factors", RAY % "e.Cdh" + SMALL + " --from-s 0 --to-s 50", ()),
    "factors": ("stage: factors", RAY % "e.lmdT" + LARGE + "--sens none --mu mu.nii", ()),
    "order": ("ordering the data", RAY % "e.lmdT" + LARGE + "--sens none", ()),
    "sensitivity": ("stage: sensitivity", RAY % "few.lmdT" + LARGE, ()),
    "sensitivity with mu": ("stage: sensitivity", RAY % "few.lmdT" + LARGE + "--mu mu.nii", ()),
    "reconstruct": ("mlem", RAY % "e.lmdT" + LARGE + "--sens none", ("x.nii.ckpt",)),
    "reconstruct, streamed": ("mlem", RAY % "e.lmdT" + LARGE + "--sens none --block 100000", ("x.nii.ckpt",)),
    "write": ("writing", (RAY % "few.lmdT").replace("x.nii", "x.nii.gz") +
              "--grid 256 --voxel 2 --iterations 1 --sens none --tof-fwhm-ps 0", ("x.nii.gz.ckpt",)),
    "read strips": ("stage: read", STRIP % "s.f32" + "--method direct", ()),
    "read strips, text": ("stage: read", STRIP % "s.txt" + "--method direct", ()),
    "strips where they came from": ("stage: reconstruct", STRIP % "s.f32" + "--method direct", ()),
    "reconstruct strips": ("mlem", STRIP % "s.f32" + "--iterations 500", ("x.npy.ckpt",)),
    "project": ("stage: project", "project ray x0.nii --events e.lmdT --threads 1 --device cpu -v -o x.npy", ()),
}
SIGNALS = ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129))


def leave(text):
    sys.exit("interrupt: " + text)


def must(line):
    done = subprocess.run([PROGRAM, *line.split()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        leave("isotome %s: exit code %d: %s" % (line, done.returncode, done.stderr.strip()))


def make_inputs(n):
    draw = np.random.default_rng(1)
    with open(SCANNERS + "clinical-ring.yaml") as f:
        open("ring.yaml", "w").write(f.read())
    angle, turn = draw.uniform(0, 2 * np.pi, n), draw.uniform(2.2, 4, n)
    ends = np.zeros((n, 7), np.float32)
    for k, a in ((0, angle), (3, angle + turn)):
        ends[:, k], ends[:, k + 1] = 337 * np.cos(a), 337 * np.sin(a)
        ends[:, k + 2] = draw.uniform(-70, 70, n)
    ends[:, 6] = draw.normal(0, 200, n)
    ends.tofile("e.lmdT")
    ends[:2000].tofile("few.lmdT")
    np.save("e.npy", ends)
    np.savetxt("lines.txt", ends[:1000, :6], "%.6g")
    lines = [line.split() for line in open("lines.txt")]
    block = "".join("0 %d 0 1 2 3 %.19e 0.511 %s 0 1 2 3 4 5 0 0 0 0 0 0 0 %d 0 1 2 3 %.19e 0.511 %s 0 1 2 3 4 5 0 0 0 0 0 0\n"
                    % (i, i / 3e3, " ".join(v[:3]), i, i / 3e3, " ".join(v[3:])) for i, v in enumerate(lines))
    with open("g.dat", "w") as f:
        for _ in range(n // 5000):
            f.write(block)
    strips = np.stack([draw.uniform(-150, 150, n), draw.uniform(-150, 150, n), draw.normal(0, 60, n)], 1)
    strips.astype(np.float32).tofile("s.f32")
    np.savetxt("lines.txt", strips[:1000], "%.9g")
    text = open("lines.txt").read()
    with open("s.txt", "w") as f:
        for _ in range(n // 1000):
            f.write(text)
    os.remove("lines.txt")
    must("convert e.lmdT e.Cdh --scanner ring.yaml -q")
    must("phantom cylinder --grid 64,64,32 --voxel 8,8,6 -o x0.nii --mu mu.nii -q")


class Run:
    """One run, and the signal that it gets once it says the words."""

    def __init__(self, line, words, number):
        self.said, self.after = [], []
        self.hit = False
        self.seconds = 0.0
        run = subprocess.Popen([PROGRAM, *line.split()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for text in run.stderr:
            (self.after if self.hit else self.said).append(text.strip())
            if not self.hit and words in text:
                if words == "mlem":  # as the iterations begin: some of them shall be done
                    time.sleep(0.1)
                sent = time.monotonic()
                run.send_signal(number)
                self.hit = True
        self.code = run.wait()
        if self.hit:
            self.seconds = time.monotonic() - sent

    def left_stage(self):
        return any("stage: " in text or "writing" in text for text in self.after)


def check(name, run, code, left, may_leave):
    """What is wrong; "": nothing."""
    message = ([""] + [text for text in run.after if "isotome" in text])[-1]
    outputs = {"x.nii", "x.nii.gz", "x.npy", "x.json", "x.npy.json"}
    if run.code == 0:
        return "" if outputs & left else "it ended well, and there is no output"
    if run.code != code:
        return "exit code %d, expected %d: %s" % (run.code, code, message)
    if "interrupted" not in message and "stopped" not in message:
        return "does not say that it was interrupted: " + message
    if left - set(may_leave):
        return "left " + " ".join(sorted(left))
    if left and not any(name in message for name in left):
        return "left %s, and does not say so: %s" % (" ".join(sorted(left)), message)
    return ""


def interrupt(name, words, line, may_leave, turn):
    """Whether the stage was met, and how long the end took then; leaves where something is wrong."""
    number, code = SIGNALS[turn % len(SIGNALS)]
    before = set(os.listdir())
    for _ in range(TRIES):
        run = Run(line, words, number)
        left = set(os.listdir()) - before
        wrong = check(name, run, code, left, may_leave)
        if wrong:
            leave("%s: %s" % (name, wrong))
        met = run.code == code and not run.left_stage()
        if met and left:  # the work goes on
            if words == "writing":
                must(line.replace(" -v", " -q") + " --resume")
                left = set(os.listdir()) - before
                if left & set(may_leave):
                    leave("%s: resumed, it left %s" % (name, " ".join(left)))
        for file in left:
            os.remove(file)
        if met:
            return run.seconds
    return None


def main(argv):
    make_inputs(int(float(argv[1])))
    met, slow = 0, []
    for turn, (name, (words, line, may_leave)) in enumerate(CASES.items()):
        seconds = interrupt(name, words, line, may_leave, turn)
        met += seconds is not None
        print("%-28s %s" % (name, "not met" if seconds is None else "%.3f s" % seconds))
        if len(argv) > 2 and seconds is not None and seconds > float(argv[2]):
            slow.append(name)
    print("%d of %d stages were interrupted" % (met, len(CASES)))
    if met < ENOUGH * len(CASES):
        leave("%d of %d stages were met, expected %d" % (met, len(CASES), ENOUGH * len(CASES)))
    if slow:
        leave("too slow to stop: " + ", ".join(slow))


main(sys.argv)
