#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome motion: still scans of a small head in several poses, one behind the other; the poses come back, with the same bytes
# for any number of threads; frames that show something else or nothing; and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >ring.yaml <<END
kind: cylinder
radius_mm: 100
rings: 24
ring_pitch_mm: 5
crystals_per_ring: 120
min_crystal_distance: 30
pair_weight: solid-angle
tof: {fwhm_ps: 300}
END
events=$(size 15000 4000)

"$PYTHON" - <<'END'
import json
import moving

poses = [((0, 0, 0), (0, 0, 0))] * 2 + [((5, -3, 6), (3, -2, 4)), ((-4, 6, -5), (-3, 4, -1)), ((7, 2, -3), (0, 5, 2))]
poses = [moving.pose(*p) for p in poses]
for k, p in enumerate(poses):
    if k != 1:
        moving.paint(f"x{k}.nii", moving.head(.6), p, (40, 44, 40), 2.8, 1)
moving.paint("other.nii", [((20, 20, 20), moving.np.array([15, 15, 15]), 1)], poses[0], (40, 44, 40), 2.8, 1)
json.dump([p.tolist() for p in poses], open("poses.json", "w"))
END
for k in 0 1 2 3 4; do
	run simulate ring.yaml --threads 1 "x$((k == 1 ? 0 : k)).nii" --counts "$events" --exact --duration-s 1 --seed $((k + 1)) -o "f$k.Cdh"
done
run simulate ring.yaml other.nii --counts "$events" --exact --duration-s 1 --seed 9 -o other.Cdh
"$PYTHON" - <<'END'
import moving
import numpy as np

moving.join(["f0", "f1", "f2", "f3", "f4"], "all", 1)
moving.join(["f0", "f1", "other", "f3", "f4"], "with_other", 1)
e = np.fromfile("with_other.Cdf", "<u4").reshape(-1, 4)
e[e[:, 0] >= 3000, 0] += 2000  # nothing happens for two seconds
e.tofile("with_other.Cdf")
e = np.fromfile("all.Cdf", "<u4").reshape(-1, 4)
e[[100, 101], 0] = 90, 80
e.tofile("mixed.Cdf")
open("mixed.Cdh", "w").write(open("all.Cdh").read().replace("all.Cdf", "mixed.Cdf"))
END
set -- --scanner ring.yaml --events-per-frame 0 --smooth 5 --voxel 5 --grid 28,30,24

run motion all.Cdh "$@" --threads 2 --picture poses.svg -o poses.csv
run motion all.Cdh "$@" --threads 1 -o one.csv
same poses.csv one.csv
grep -q 'about z' poses.svg || fail "no curve of the rotation about z"
set -- "$@" --threads 1
run motion with_other.Cdh "$@" --rounds 1 -o with_other.csv
err_has '1 of 7 frames fit the reference badly'
err_has '2 of 7 frames have no events'
run motion all.Cdh "$@" --events-per-frame "$((events * 3 / 2))" --rounds 1 --iterations 1 -o long.npy
run motion all.Cdh "$@" --reference x0.nii --rounds 1 -o given.csv
"$PYTHON" -c 'import moving; moving.paint("nothing.nii", [], moving.pose((0, 0, 0), (0, 0, 0)), (20, 22, 20), 5.6, 1)'
run motion all.Cdh "$@" --mu nothing.nii -o no_matter.csv # the same images, made again in the second round
same poses.csv no_matter.csv

check "poses" "${ISO_TEST_QUICK:-0}" <<'END'
import os

import moving
from checks import *

want = np.array(json.load(open("poses.json")))
quick = sys.argv[1] == "1"
for name in ("poses.csv", "given.csv"):
    times, got = moving.table(name)
    near(name, times, [.5, 1.5, 2.5, 3.5, 4.5], 1e-3)
    for k, (g, w) in enumerate(zip(got, want)):
        centre, mean, worst = moving.errors(g, w, 42)
        if "TELL" in os.environ:
            print(name, k, centre, mean, worst, file=sys.stderr)
        require(quick or mean < 2.5, f"{name}, frame {k}: {mean} mm off, {centre} at the centre, {worst} at worst")
frames = record("poses.csv.json")["results"]["frames"]
require(len(frames) == 5 and all(f["steps"] > 0 and f["known"] for f in frames), f"{frames}")
require(sum(f["events"] for f in frames) == 5 * frames[0]["events"], f"{frames}")
require(quick or min(f["correlation"] for f in frames) > .8, f"{frames}")
times, got = moving.table("with_other.csv")
require(np.isnan(got[2:5]).all() and not np.isnan(got[[0, 1, 5, 6]]).any(), f"{times} {got}")
# frames end with the events of a millisecond
frames = record("long.npy.json")["results"]["frames"]
require(len(frames) == 3 and all(f["to_s"] > f["from_s"] + 1.4 for f in frames), f"{frames}")
require(all(a["to_s"] == b["from_s"] for a, b in zip(frames, frames[1:])), f"{frames}")
require(np.allclose(np.load("long.npy")[:, 0], [.5 * (f["from_s"] + f["to_s"]) for f in frames]), "times of rows")
END

# refused, with nothing written
run convert f0.Cdh no_times.lmdT
expect 2 motion no_times.lmdT --scanner ring.yaml -o bad.csv
err_has 'motion needs the times of events'
expect 3 motion mixed.Cdh "$@" -o bad.csv
err_has 'in the order of their times'
expect 2 motion all.Cdh "$@" -o bad.txt
err_has 'poses are written as .csv'
expect 2 motion all.Cdh "$@" -o bad.yrt.csv
err_has 'no place for frames without a pose'
expect 2 motion all.Cdh "$@" --picture bad.png -o bad.csv
err_has 'must be a .svg'
expect 2 motion all.Cdh "$@" --reference x0.nii --reference-frames 3 -o bad.csv
err_has '--reference is an image'
expect 2 motion all.Cdh "$@" -o poses.csv
err_has 'exists'
"$PYTHON" -c 'import numpy; numpy.save("plain.npy", numpy.ones((4, 4, 4), "f4")); numpy.save("x.npy", numpy.ones((4, 4, 4)))'
expect 3 motion all.Cdh "$@" --reference plain.npy -o bad.csv
err_has 'has no voxel sizes'
[ ! -e bad.csv ] && [ ! -e bad.csv.json ] && [ ! -e bad.txt ] && [ ! -e bad.yrt.csv ] || fail "something was written"
