#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long it takes from a file of traces to the first image, all in all.

    first_image.py ISOTOME [--side N] [--samples N] [--grid NX,NY,NZ] [--iterations N] [--repeats R] [--folder DIR]
                   [-- OPTION ...]

Writes a planar array of N x N points 102.4 mm wide, 25.5 mm above the centre of the image, and its traces of small
spheres (speed 1.5 mm/us, 40 MHz). Then runs `isotome recon svoxel` on them R times, with the options behind --, and
prints the wall time of each run and when each part of it began, by what the run prints with --verbose: the device is
there, the data are made, iterations begin, the image is written. Two more moments: the image stands there under its name,
and the process closes its streams; what follows is the system that takes back what the process had. Every run writes a
new file. For comparison: seconds that CUDA alone takes to open a device in a new process, and to close it again. It
needs nothing but Python.
"""
import argparse
import array
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

WIDTH, ABOVE = 102.4, 25.5  # mm
SPEED, MHZ = 1.5, 40
PARTS = [("device", "device"), ("data", "stage: data"), ("iterations", "stage: reconstruct"), ("cg 0", "cg  0/"),
         ("cg end", "100 %"), ("writing", "writing")]  # what a line has where a part begins
OPEN = """
import ctypes, sys, time
cuda, p, t = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), [time.perf_counter()]
def call(name, *arguments):
    assert getattr(cuda, name)(*arguments) == 0, name
    t.append(time.perf_counter())
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(p), 0)
call("cuCtxSetCurrent", p)
call("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(1 << 29))
said = "cuInit %.3f s, context %.3f s" % (t[1] - t[0], t[2] - t[1])
if len(sys.argv) > 1:
    call("cuDevicePrimaryCtxReset_v2", 0)
    said += ", reset %.3f s" % (t[-1] - t[-2])
print(said, flush=True)
"""


def write_npy(path, kind, code, shape, values):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode())
        array.array(code, values).tofile(f)


def spheres():
    """Centre, radius, amplitude of each, mm."""
    r = random.Random(39)
    return [([r.uniform(-8, 8), r.uniform(-8, 8), r.uniform(-4, 4)], r.uniform(.3, 1), r.uniform(.5, 1.5))
            for _ in range(12)]


def trace(at, samples, heard):
    """A sphere is heard as a (d - c t)/(2 d) where |d - c t| is below its radius."""
    y = [0.] * samples
    for centre, radius, amplitude in heard:
        d = math.dist(at, centre)
        first, last = math.ceil((d - radius) / SPEED * MHZ), math.floor((d + radius) / SPEED * MHZ)
        for k in range(max(first, 0), min(last + 1, samples)):
            y[k] += amplitude * (d - SPEED * k / MHZ) / (2 * d)
    return y


def make_inputs(folder, side, samples):
    place = [(i - (side - 1) / 2) * WIDTH / side for i in range(side)]
    at = [(x, y, ABOVE) for y in place for x in place]
    heard = spheres()
    values = array.array("f")

    for p in at:
        values.extend(trace(p, samples, heard))
    write_npy(os.path.join(folder, "traces.npy"), "<f4", "f", (len(at), samples), values)
    write_npy(os.path.join(folder, "places.npy"), "<f8", "d", (len(at), 3), [v for p in at for v in p])
    write_npy(os.path.join(folder, "normals.npy"), "<f8", "d", (len(at), 3), [0., 0., -1.] * len(at))
    with open(os.path.join(folder, "planar.yaml"), "w") as f:
        f.write("kind: transducers\nname: planar\npositions: places.npy\nnormals: normals.npy\n"
                f"speed_mm_per_us: {SPEED}\nsampling_mhz: {MHZ}\nfirst_sample_us: 0\nsamples: {samples}\n"
                "grueneisen: 1\n")


def wait_for(path, at, start):
    """Notes when a file stands there."""
    while "end" not in at and not os.path.exists(path):
        time.sleep(.001)
    at["image"] = time.perf_counter() - start


def run(command, image):
    """Seconds of the whole run, and at which each part began, from the start."""
    start, at = time.perf_counter(), {}
    watch = threading.Thread(target=wait_for, args=(image, at, start))
    watch.start()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as p:
        said = ""
        for line in p.stderr:
            said += line
            for name, words in PARTS:
                if words in line:
                    at.setdefault(name, time.perf_counter() - start)
        at["end"] = time.perf_counter() - start
    wall = time.perf_counter() - start
    watch.join()
    if p.returncode:
        sys.exit(said)
    return wall, dict(sorted(at.items(), key=lambda v: v[1]))


def cuda_alone():
    """What CUDA takes to open, and to close by itself or with the process, in words."""
    for how in [], ["reset"]:
        with subprocess.Popen([sys.executable, "-c", OPEN, *how], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as p:
            said = p.stdout.readline().strip()
            start = time.perf_counter()
        if p.returncode:
            yield "not on this machine"
            return
        yield f"{said}, end of the process {time.perf_counter() - start:.3f} s"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("isotome")
    p.add_argument("--side", type=int, default=32)
    p.add_argument("--samples", type=int, default=4096)
    p.add_argument("--grid", default="256,256,128")
    p.add_argument("--iterations", type=int, default=20)
    p.add_argument("--repeats", type=int, default=5)
    p.add_argument("--folder", help="for the files; default: one that goes again")
    words = sys.argv[1:] + ["--"]
    a = p.parse_args(words[:words.index("--")])
    more = words[words.index("--") + 1:-1]
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        make_inputs(folder, a.side, a.samples)
        command = [a.isotome, "recon", "svoxel", os.path.join(folder, "traces.npy"), "--scanner",
                   os.path.join(folder, "planar.yaml"), "--grid", a.grid, "--voxel", "0.1", "--fmax-mhz", "10",
                   "--iterations", str(a.iterations), "--verbose", *more, "-o"]
        walls = []
        for i in range(a.repeats):
            image = os.path.join(folder, f"x{i}.nii")
            wall, at = run([*command, image], image)
            walls.append(wall)
            with open(image[:-4] + ".json") as f:
                record = json.load(f)
            print(f"run {i + 1}: {wall:.3f} s; begins at", ", ".join(f"{k} {v:.3f}" for k, v in at.items()),
                  "; record", record["times_s"], flush=True)
        print(record["device"], f"median {statistics.median(walls):.3f} s, least {min(walls):.3f} s")
    for said in cuda_alone():
        print("CUDA alone:", said)


main()
