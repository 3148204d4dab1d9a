#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A batch of images through isotome.torch against as many calls: time and peak memory, forward and back.

    PYTHONPATH=python ISOTOME_LIBRARY=build python3 python/bench/batch.py
    ... python/bench/batch.py --device cuda        tensors and operator on the GPU; adds torch's gradcheck there

Each way runs in a process of its own, so that its peak is its own. Forward is P(x) without a graph; back is P(x) and the
gradient of its sum of squares. Times are the least of three, memory is what the process grew by, with its images and data;
on CUDA the most that the device had in use.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np


def problem_lines(n):
    random = np.random.default_rng(1)
    a = random.uniform(0, 2 * np.pi, n)
    b = a + np.pi + random.uniform(-0.6, 0.6, n)
    z = random.uniform(-100, 100, (2, n))
    ends = [330 * np.cos(a), 330 * np.sin(a), z[0], 330 * np.cos(b), 330 * np.sin(b), z[1], 0 * a]
    return np.stack(ends, axis=1).astype(np.float32)


def measure(of, way, direction):
    import torch

    import isotome

    torch.manual_seed(1)
    torch.set_num_threads(of.threads)
    context = isotome.Context(of.device, threads=of.threads)
    lines = problem_lines(of.lines)
    A = isotome.ray(lines, grid=of.grid, voxel=of.voxel, projector=of.projector, sens="none", context=context).operator()
    P = isotome.torch.Projector(A)
    on_gpu = of.device != "cpu"
    P(torch.zeros(A.in_shape, device=of.device))

    def used():
        if not on_gpu:
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        return (total - free) / 2**20

    before = used()
    x = torch.rand(of.images, *A.in_shape, device=of.device)

    def run(images):
        if direction == "forward":
            with torch.no_grad():
                return P(images)
        images = images.detach().requires_grad_()
        P(images).square().sum().backward()
        return images.grad

    def all_of_it():
        result = run(x) if way == "batch" else torch.stack([run(one) for one in x])
        if on_gpu:
            torch.cuda.synchronize()
        return result

    made, times = all_of_it(), []
    peak = used()
    for _ in range(3):
        begin = time.perf_counter()
        all_of_it()
        times.append(time.perf_counter() - begin)
    return {"seconds": min(times), "MiB": peak - before, "sum": float(made.double().sum())}


def gradcheck(device):
    import torch

    import isotome

    A = isotome.ray(problem_lines(300), grid=(16, 12, 8), voxel=12, sens="none", context=isotome.Context(device)).operator()
    P = isotome.torch.Projector(A)
    x = torch.randn(2, *A.in_shape, dtype=torch.float64, device=device, requires_grad=True)
    most = 1e-5 * float(P(x.detach()).norm())
    return torch.autograd.gradcheck(P, (x,), eps=1.0, atol=most, rtol=1e-5, fast_mode=True, check_forward_ad=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=8)
    parser.add_argument("--lines", type=int, default=500000)
    parser.add_argument("--grid", type=int, nargs=3, default=(128, 128, 64))
    parser.add_argument("--voxel", type=float, default=3)
    parser.add_argument("--projector", default="slice")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    of = parser.parse_args()
    if of.one:
        print(json.dumps(measure(of, *of.one)))
        return
    print(f"{of.images} images, {of.lines} lines, {of.grid} voxels, {of.projector}, {of.device}, {of.threads} threads")
    print("| | one by one, s | batch, s | batch over one by one | one by one, MiB | batch, MiB |\n|" + " --- |" * 6)
    for direction in ("forward", "back"):
        found = {}
        for way in ("each", "batch"):
            words = [sys.executable, __file__, *sys.argv[1:], "--one", way, direction]
            run = subprocess.run(words, env={**os.environ, "OMP_NUM_THREADS": str(of.threads)}, capture_output=True, text=True)
            if run.returncode:
                sys.exit(run.stderr)
            found[way] = json.loads(run.stdout.splitlines()[-1])
        each, batch = found["each"], found["batch"]
        assert abs(each["sum"] - batch["sum"]) <= 1e-6 * abs(each["sum"]), (each, batch)
        print(
            f"| {direction} | {each['seconds']:.3f} | {batch['seconds']:.3f} | {batch['seconds'] / each['seconds']:.2f} "
            f"| {each['MiB']:.0f} | {batch['MiB']:.0f} |"
        )
    print("gradcheck:", gradcheck(of.device))


if __name__ == "__main__":
    main()
