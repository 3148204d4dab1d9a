#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a live page costs, and how often it is updated.

    live.py ISOTOME [--events N] [--rate E] [--repeat R] [--clients C] [--apart] [--device NAME] [--folder DIR]

Follows a pipe of strip events (model strip), then reconstructs a ring by MLEM, each R times without a page, with one
that nobody opens, and with C clients that ask as the page does. Prints seconds by the records, the median and the least of
them, and seconds of processors, which a busy machine changes less; events a second, and what a client got a second. The
order of the three changes from round to round. With --rate the pipe brings E events a second, as a scanner would, else
as many as are taken. With --apart the clients and the pipe have the last two processors for themselves, the runs the
others: a browser is mostly on another machine.
"""
import argparse
import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "live"))
import client  # noqa: E402

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
EVERY_S = .35  # as live.js
EVENT_BYTES = 12  # of strips: three floats
OTHERS = set()  # processors of clients and pipe alone, with --apart


def step_aside():
    """Puts this thread on the processors of clients and pipe."""
    if OTHERS:
        os.sched_setaffinity(0, OTHERS)


class Viewer(threading.Thread):
    """Asks as the page does, and counts what is new."""

    def __init__(self, run):
        super().__init__(daemon=True)
        self.run_of, self.states, self.images, self.bytes = run, 0, 0, 0

    def run(self):
        step_aside()
        c, version = self.run_of.connect(), 0
        first = None
        try:
            while True:
                s = self.run_of.state(c)
                if s["iterations"]["updates"] and first is None:
                    first = time.monotonic()
                if s["image"] > version:
                    status, _, body = self.run_of.ask(f"image?after={version}", connection=c)
                    self.images += status == 200 and first is not None
                    self.bytes += len(body)
                    version = s["image"]
                self.states += first is not None
                self.seconds = time.monotonic() - (first or time.monotonic())
                if s["ended"]:
                    return
                time.sleep(EVERY_S)
        except (OSError, SystemExit, client.http.client.HTTPException):
            pass


def feed(data, out, rate):
    """Writes a file into a pipe, rate events a second, a hundredth of a second at a time; as fast as the pipe takes it
    where rate is 0."""
    step_aside()
    piece = int(rate / 100) * EVENT_BYTES or 1 << 20
    began, sent = time.monotonic(), 0
    with open(data, "rb") as events, os.fdopen(out, "wb", buffering=0) as pipe:
        while block := memoryview(events.read(piece)):
            while block:
                n = pipe.write(block)
                block, sent = block[n:], sent + n
            if rate:
                time.sleep(max(0, began + sent / EVENT_BYTES / rate - time.monotonic()))


def pipe_of(data, rate):
    """The end to read of a pipe that another process fills."""
    end, start = os.pipe()
    multiprocessing.get_context("fork").Process(target=feed, args=(data, start, rate), daemon=True).start()
    os.close(start)
    return end


def run_once(program, words, out, kind, clients, data, rate):
    """The record of one run, and its viewers. kind: plain, unseen or seen."""
    stdin = pipe_of(data, rate) if data else subprocess.DEVNULL
    words = [*words, "--force", "-o", out]
    viewers = []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if kind == "plain":
        subprocess.run([program, "recon", *words, "-q"], stdin=stdin, check=True)
    else:
        r = client.Run(program, *words, stdin=stdin)
        viewers = [Viewer(r) for _ in range(clients if kind == "seen" else 0)]
        for v in viewers:
            v.start()
        client.require(r.wait(3600) == 0, "".join(r.lines))
        for v in viewers:
            v.join(5)
    if data:
        os.close(stdin)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(out + ".json") as f:
        return json.load(f), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, viewers


def compare(program, name, words, repeat, clients, folder, seconds, data=None, rate=0):
    kinds, last = ["plain", "unseen", "seen"], []
    took, busy = {k: [] for k in kinds}, {k: [] for k in kinds}
    for i in range(repeat):
        for k in kinds[i % 3:] + kinds[:i % 3]:
            record, cpu, viewers = run_once(program, words, os.path.join(folder, f"{name}-{k}.npy"), k, clients, data,
                                            rate)
            took[k].append(seconds(record))
            busy[k].append(cpu)
            last = viewers or last
    images = {k: open(os.path.join(folder, f"{name}-{k}.npy"), "rb").read() for k in kinds}
    client.require(len(set(images.values())) == 1, "the images differ")
    print(f"{name}: the same image {3 * repeat} times")
    least = min(took["plain"])
    for k in kinds:
        print(f"  {k:7} median {statistics.median(took[k]):8.3f} s, least {min(took[k]):8.3f} s "
              f"({100 * (min(took[k]) / least - 1):+.2f} %)")
    for k in kinds:
        print(f"  {k:7} processors: median {statistics.median(busy[k]):8.3f} s, least {min(busy[k]):8.3f} s "
              f"({100 * (min(busy[k]) / min(busy['plain']) - 1):+.2f} %)")
    for v in last[:1]:
        print(f"  a client got {v.states / v.seconds:.2f} states and {v.images / v.seconds:.2f} images a second")
    return min(took["seen"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--events", type=float, default=6e6, help="of strips, through the pipe")
    p.add_argument("--rate", type=float, default=0, help="of the pipe, events a second")
    p.add_argument("--apart", action="store_true", help="processors of their own for clients and pipe")
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--clients", type=int, default=3)
    p.add_argument("--iterations", type=int, default=10, help="of the ring")
    p.add_argument("--folder", help="to work in")
    p.add_argument("--kernel", default="gauss", help="of strips")
    p.add_argument("--device", default="auto", help="of the runs")
    a = p.parse_args()
    folder = a.folder or tempfile.mkdtemp()
    program = os.path.realpath(a.program)
    strips = os.path.join(SOURCE, "examples/scanners/bialas2015.yaml")
    ring = os.path.join(SOURCE, "examples/scanners/clinical-ring.yaml")
    events, scan, truth = (os.path.join(folder, f) for f in ("strips.f32", "ring.lmdT", "truth.nii"))

    def make(path, *words):
        if not os.path.exists(path):
            subprocess.run([program, *words, "-q"], check=True)

    if a.apart:
        mine = sorted(os.sched_getaffinity(0))
        if len(mine) < 4:
            p.error(f"--apart wants four processors, not {len(mine)}")
        OTHERS.update(mine[-2:])
        os.sched_setaffinity(0, mine[:-2])
    make(events, "simulate", strips, "ellipses", "--counts", str(a.events), "-o", events)
    make(truth, "phantom", "spheres", "-o", truth)
    make(scan, "simulate", ring, truth, "--counts", "1e6", "-o", scan)
    follow = ["strip", "--follow", "--events", "-", "--scanner", strips, "--kernel", a.kernel,
              "--device", a.device]
    took = compare(program, "follow", follow, a.repeat, a.clients, folder,
                   lambda r: r["results"]["follow"]["seconds"], events, a.rate)
    print(f"  {a.events / took:.3g} events a second, with clients")
    ray = ["ray", "--events", scan, "--scanner", ring, "--grid", "79,62,49", "--voxel", "4", "--sens", "none",
           "--iterations", str(a.iterations), "--device", a.device]
    compare(program, "ray", ray, a.repeat, a.clients, folder, lambda r: r["times_s"]["reconstruct"])


if __name__ == "__main__":
    main()
