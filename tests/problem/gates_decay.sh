#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Decay with gates, and with poses. Gates of a still object, with dead time and randoms from delayed coincidences: all have the
# mean of the image of all events. An object that is half out of the field for half of the time has the mean of one at rest.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

sed 's/crystals_per_ring: .*/crystals_per_ring: 144/; s/min_crystal_distance: .*/min_crystal_distance: 24/' \
	"$TEST_DATA/warp/ring.yaml" >ring.yaml
cat >common.py <<'END'
import json, math, os, sys
import nibabel, numpy as np
affine = np.diag([4., 4, 4, 1]); affine[:3, 3] = [-54, -54, -22]
x, y, z = np.meshgrid(*(affine[k, 3] + 4 * np.arange(n) for k, n in enumerate((28, 28, 12))), indexing="ij")
body = (x + 6)**2 + y**2 < 38**2
image = lambda path: np.asarray(nibabel.load(path).dataobj).astype(float)
events = lambda path: np.fromfile(path + ".Cdf", [("t", "<u4"), ("tof", "<f4"), ("c1", "<u4"), ("c2", "<u4")])["t"] / 1000
END
export PYTHONPATH=$work:$PYTHONPATH
check inputs <<'END'
from common import *
save = lambda path, a: nibabel.save(nibabel.Nifti1Image(a.astype("f4"), affine), path)
save("f.nii", body * 1.)
save("short.nii", body & (np.abs(z) < 14))
open("gates.csv", "w").write("from_s,to_s,gate\n0,8,0\n8,30,1\n30,44,0\n44,60,2\n") # of uneven ages
open("poses.csv", "w").write("# rule: step\ntime_s,z_mm\n0,0\n30,24\n")
END

# ---- gates of a still object ----
run simulate ring.yaml f.nii --counts "$(size 1e5 1e4)" --duration-s 60 --half-life-s 30 --randoms 0.3 --seed 4 \
	-o e.Cdh --delayed late.Cdh
scan=(--scanner ring.yaml --grid 28,28,12 --voxel 4 --tof-fwhm-ps 0 --duration-s 60 --half-life-s 30)
em=(--iterations 10)
still=("${scan[@]}" "${em[@]}" --events e.Cdh --delayed late.Cdh --live-share 0.8)
run recon ray "${still[@]}" -o all.nii
run recon ray "${still[@]}" --gates gates.csv -o gated.nii
check 'means of the gates' "${ISO_TEST_QUICK:-0}" <<'END'
from common import *
if sys.argv[1] == "1": sys.exit()
t, late = events("e"), events("late")
want = image("all.nii")[body].mean()
of = [[(0, 8), (30, 44)], [(8, 30)], [(44, 60)]]
count = lambda s, g: sum(((s >= a) & (s < b)).sum() for a, b in of[g])
means, sigma = [], []
for g in range(3):
    n, d = count(t, g), count(late, g)
    means.append(image("gated.nii")[..., g][body].mean() / want)
    sigma.append(math.sqrt(n + d) / (n - d))    # of trues, prompts less delayeds
    print("gate %d: %d prompts, %d delayeds, mean %.4f of that of all, sigma %.4f" % (g, n, d, means[g], sigma[g]))
for g in range(3):
    if not abs(means[g] - 1) < 3 * sigma[g]: sys.exit("gate %d is on another scale" % g)
    for h in range(g):
        if not abs(means[g] - means[h]) < 3 * math.hypot(sigma[g], sigma[h]): sys.exit("gates %d and %d differ" % (h, g))
END

# ---- decay and poses ----
sim=(simulate ring.yaml short.nii --counts "$(size 3e5 1e4)" --duration-s 60 --half-life-s 20 --seed 5)
run "${sim[@]}" -o rest.Cdh
run "${sim[@]}" --poses poses.csv -o moved.Cdh
scan=(--scanner ring.yaml --grid 28,28,12 --voxel 4 --tof-fwhm-ps 0 --duration-s 60 --half-life-s 20)
# the scale of the simulation is a number of decays: of both scans the same activity has to come out
run recon ray --events rest.Cdh "${scan[@]}" "${em[@]}" -o rest.nii
run recon ray --events moved.Cdh "${scan[@]}" "${em[@]}" --poses poses.csv -o moved.nii
check 'mean of the body' "${ISO_TEST_QUICK:-0}" <<'END'
from common import *
if sys.argv[1] == "1": sys.exit()
inner = ((x + 6)**2 + y**2 < 34**2) & (np.abs(z) < 8)
def decays(path): return json.load(open(path + ".Cdh.json"))["results"]["events"]["decays"]
a, b = (image(n + ".nii")[inner].mean() / decays(n) for n in ("rest", "moved"))
print("mean of the body: %.4f of that at rest" % (b / a))
if not abs(b / a - 1) < .01: sys.exit("decay and poses do not go together")
END
