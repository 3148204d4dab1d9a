#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# simulate --gates --fields, and one image of all its events: a sphere that moves by up to 15 mm, as sharp as at rest.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

sed 's/crystals_per_ring: .*/crystals_per_ring: 144/; s/min_crystal_distance: .*/min_crystal_distance: 24/' \
	"$TEST_DATA/warp/ring.yaml" >ring.yaml
cat >common.py <<'END'
import sys
import nibabel, numpy as np
affine = np.diag([4., 4, 4, 1]); affine[:3, 3] = [-54, -54, -22]
x, y, z = np.meshgrid(*(affine[k, 3] + 4 * np.arange(n) for k, n in enumerate((28, 28, 12))), indexing="ij")
body = (x + 6)**2 + y**2 < 38**2
ball = (x + 16)**2 + y**2 + z**2 < 11**2
image = lambda path: np.asarray(nibabel.load(path).dataobj)
END
export PYTHONPATH=$work:$PYTHONPATH
check inputs <<'END'
from common import *
save = lambda path, a: nibabel.save(nibabel.Nifti1Image(a.astype("f4"), affine), path)
save("f.nii", body * 1. + 5 * ball)
save("mu.nii", body * .0096)
rows = ["from_s,to_s,gate\n"]
for t in range(0, 60, 6):
    for g, (a, b) in enumerate(((0, 3), (3, 4.5), (4.5, 6))): rows.append("%g,%g,%d\n" % (t + a, t + b, g))
open("gates.csv", "w").writelines(rows)
for g, d in (1, 8), (2, 15): # tissue at x + d in the gate is at x in the image
    u = np.zeros((12, 28, 28, 3), "f4"); u[..., 0] = -d
    np.save("u%d.npy" % g, u)
    np.save("away.npy", u * 0 + [120, 0, 0])
END
counts=$(size 1e5 1e4)
fields=(--gates gates.csv --fields none,u1.npy,u2.npy)
sim=(simulate ring.yaml f.nii --mu mu.nii --counts "$counts" --duration-s 60 --seed 3 --randoms 0.1)
for threads in 1 3; do run "${sim[@]}" "${fields[@]}" --threads $threads -o moved$threads.Cdh; done
same moved1.Cdf moved3.Cdf
run "${sim[@]}" --threads 1 -o still.Cdh
# a gate without activity has no events but randoms: the number of events follows the gate
run "${sim[@]}" --gates gates.csv --fields none,none,away.npy --randoms 0 --counts 5000 -o away.Cdh

scan=(--scanner ring.yaml --grid 28,28,12 --voxel 4 --mu mu.nii --tof-fwhm-ps 0 --threads 1)
em=(--method osem --subsets 6 --iterations 4 --filter gaussian:6)
randoms() { "$PYTHON" -c "import json; print(json.load(open('$1.Cdh.json'))['results']['additive']['randoms_per_pair'])"; }
run recon ray --events still.Cdh "${scan[@]}" "${em[@]}" --additive "$(randoms still)" -o still.nii
run recon ray --events moved1.Cdh "${scan[@]}" "${em[@]}" --additive "$(randoms moved1)" -o blurred.nii
run recon ray --events moved1.Cdh "${scan[@]}" "${em[@]}" --additive "$(randoms moved1)" "${fields[@]}" -o one.nii
run recon ray --events moved1.Cdh "${scan[@]}" "${em[@]}" --additive "$(randoms moved1)" --gates gates.csv -o gated.nii
check 'as sharp as at rest' "${ISO_TEST_QUICK:-0}" <<'END'
from common import *
e = np.fromfile("away.Cdf", [("t", "<u4"), ("tof", "<f4"), ("c1", "<u4"), ("c2", "<u4")])["t"] % 6000 / 1000
if (e > 4.51).any() or not (e < 4.49).sum() > .99 * len(e): sys.exit("events of a gate without activity")
rest = body & ((x + 16)**2 + y**2 > 18**2) & ((x + 6)**2 + y**2 < 30**2) & (np.abs(z) < 18)
contrast = lambda a: a[ball].mean() / a[rest].mean() - 1
still, one, blurred, gated = (image(n + ".nii") for n in ("still", "one", "blurred", "gated"))
print("contrast: still %.3f, one image of all gates %.3f, no gates %.3f" % (contrast(still), contrast(one), contrast(blurred)))
print("body: still %.4f, one %.4f" % (still[rest].mean(), one[rest].mean()))
first = gated[..., 0]
print("gate 0: contrast %.3f, body %.4f" % (contrast(first), first[rest].mean()))
if sys.argv[1] == "1": sys.exit()
if not abs(contrast(one) / contrast(still) - 1) < .07: sys.exit("contrast of the sphere")
if not abs(one[rest].mean() / still[rest].mean() - 1) < .03: sys.exit("mean of the body")
if not contrast(blurred) < .75 * contrast(still): sys.exit("nothing moved")
if not abs(first[rest].mean() / still[rest].mean() - 1) < .06: sys.exit("gate 0 is on another scale")
END

# ---- refused ----
expect 2 "${sim[@]}" --gates gates.csv -o no.Cdh
err_has 'go together'
expect 2 "${sim[@]}" --gates gates.csv --fields none,none -o no.Cdh
err_has 'expected one per gate (3)'
expect 2 "${sim[@]}" "${fields[@]}" --exact -o no.Cdh
err_has '--gates and --exact'
expect 2 simulate ring.yaml f.nii --counts 100 "${fields[@]}" -o no.Cdh
err_has '--gates needs --duration-s'
