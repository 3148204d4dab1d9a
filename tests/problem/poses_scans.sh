#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Whole scans of objects that move, from simulate to the image: point sources land where the object has them; a rod over a
# bed that steps or glides is even; maps that stay attenuate as maps that move the other way.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >ring.yaml <<'END'
kind: cylinder
name: scans ring
radius_mm: 120
rings: 12
ring_pitch_mm: 5
crystals_per_ring: 120
crystal_mm: [5.9, 4.8, 15]
min_crystal_distance: 20
tof: {fwhm_ps: 300}
time: {coincidence_ns: 4}
END
n=$(size 12000 4000)
rod=$(size 200000 20000) # with 400000 the limit below is 1 %
cat >common.py <<'END'
import math, sys
import nibabel, numpy as np
def save(path, a, voxel, centre=(0, 0, 0)):
    affine = np.diag(list(voxel) + [1.])
    for k in range(3): affine[k, 3] = centre[k] - .5 * (a.shape[k] - 1) * voxel[k]
    nibabel.save(nibabel.Nifti1Image(a.astype("f4"), affine), path)
def load(path):
    i = nibabel.load(path)
    return np.asarray(i.dataobj, float), i.affine
def centroid(path, near, reach=8):
    a, m = load(path)
    x = np.stack(np.meshgrid(*[np.arange(n) for n in a.shape], indexing="ij"), -1) * np.diag(m)[:3] + m[:3, 3]
    w = a * (np.abs(x - near).max(-1) < reach)
    return (x * w[..., None]).sum((0, 1, 2)) / w.sum()
END
export PYTHONPATH=$work:$PYTHONPATH
check inputs <<'END'
from common import *
# two point sources in the middle of voxels of 4 mm
a = np.zeros((61, 61, 61)); points = np.array([(22., -18., 10.), (-14., 22., -14.)])
for p in points: a[tuple((p + 30).astype(int))] = 1
save("points.nii", a, (1, 1, 1))
np.save("points.npy", points)
c, s = math.cos(math.radians(20)), math.sin(math.radians(20)) # half of 40 degrees
axis = np.array([.48, .64, .6])
open("far.csv", "w").write("time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n0,%.15g,%.15g,%.15g,%.15g,40,-43,10\n" % (c, *(s * axis)))
open("poses.csv", "w").write("# rule: step\ntime_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n0,.98,.1,0,.05,4,-3,2\n17,.97,-.1,.15,0,-5,6,-3\n41,1,0,.1,-.2,2,5,6\n")
open("bed.csv", "w").write("time_s,z_mm\n0,-8\n60,10\n")
open("gantry.csv", "w").write("# rule: step\ntime_s,angle_deg\n0,0\n25,31\n50,77\n")
open("steps.csv", "w").write("# rule: step\ntime_s,z_mm\n" + "".join("%d,%d\n" % (12 * k, 30 * (k - 2)) for k in range(5)))
open("glide.csv", "w").write("time_s,z_mm\n0,-60\n60,60\n")
x = np.stack(np.meshgrid(np.arange(16) - 7.5, np.arange(16) - 7.5, indexing="ij"), -1)
disc = np.hypot(x[..., 0], x[..., 1]) < 5
save("rod.nii", np.repeat(disc[..., None], 50, 2), (4, 4, 5))
box = np.zeros((20, 20, 12)); box[4:15, 7:17, 2:9] = .01
save("mu.nii", box, (6, 6, 6))
END

# ---- 40 degrees and 60 mm: points land where they are in the object ----
run simulate ring.yaml points.nii --poses far.csv --duration-s 60 --counts "$n" -o far.Cdh
grid=(--grid "18,18,18" --voxel 4 --sens-budget 0 --sens-error 0.1 --iterations 6 --threads 2)
run recon ray --events far.Cdh --poses far.csv "${grid[@]}" -o slice.nii
run recon ray --events far.Cdh --poses far.csv "${grid[@]}" --tof-fwhm-ps 0 -o plain.nii
run recon ray --events far.Cdh --poses far.csv "${grid[@]}" --projector joseph -o joseph.nii

# ---- poses, bed and gantry at once, each with rows of its own ----
all=(--poses poses.csv --bed bed.csv --gantry gantry.csv)
run simulate ring.yaml points.nii "${all[@]}" --duration-s 60 --counts "$n" -o all.Cdh
run recon ray --events all.Cdh "${all[@]}" "${grid[@]}" -o all.nii
check 'points' <<'END'
from common import *
for name in "slice", "plain", "joseph", "all":
    for p in np.load("points.npy"):
        off = np.abs(centroid(name + ".nii", p) - p).max()
        print(name, p, "%.3f mm" % off)
        if not off < .4: sys.exit("%s: a point is %.2f mm, more than a tenth of a voxel, from %s" % (name, off, p))
END

# ---- a uniform rod over five steps of a bed, and over one that glides ----
for bed in steps glide; do
	run simulate ring.yaml rod.nii --bed $bed.csv --duration-s 60 --counts "$rod" -o $bed.Cdh
	run recon ray --events $bed.Cdh --scanner ring.yaml --bed $bed.csv --grid 16,16,50 --voxel 4,4,5 --iterations 4 --sens-budget 1000000 -o $bed.nii
done
ROD=$rod check 'the rod' <<'END'
import json, os
from common import *
for name in "steps", "glide":
    a, m = load(name + ".nii")
    z = m[2, 3] + 5 * np.arange(50)
    profile = a.sum((0, 1))
    inside = np.abs(z) < 60 - 6 # the travel less a ring's pitch at either end
    p = profile[inside]
    noise = p.std() / p.mean()
    slope = np.polyfit(z[inside], p / p.mean(), 1)[0] * 120
    wave = max(abs(p[i:i + 5].mean() / p.mean() - 1) for i in range(0, len(p) - 4))
    print(name, "planes %.2f %%, slope %.2f %%, five planes %.2f %%" % (100 * noise, 100 * slope, 100 * wave))
    limit = .01 * (400000 / float(os.environ["ROD"])) ** .5
    if not (wave < limit and abs(slope) < limit): sys.exit("%s: the rod is uneven" % name)
r = json.load(open("glide.json"))["results"]["sensitivity"]
if r["way"] != "by rings" or r["pieces"] < 33: sys.exit(str(r))
END

# ---- a map that stays with the scanner is a map of the object that is moved the other way ----
cat >map.py <<'END'
from common import *
z = [float(x) for x in open("far.csv").read().split("\n")[1].split(",")]
w, x, y, k = z[1:5]
R = np.array([[1 - 2 * (y * y + k * k), 2 * (x * y - w * k), 2 * (x * k + w * y)], [2 * (x * y + w * k), 1 - 2 * (x * x + k * k), 2 * (y * k - w * x)],
              [2 * (x * k - w * y), 2 * (y * k + w * x), 1 - 2 * (x * x + y * y)]])
g = np.stack(np.meshgrid(*[(np.arange(n) - (n - 1) / 2) * 3 for n in (80, 80, 80)], indexing="ij"), -1)
a, m = load("mu.nii")
i = (g @ R.T + z[5:8] - m[:3, 3]) / 6
i = np.rint(i).astype(int)
ok = ((i >= 0) & (i < a.shape)).all(-1)
i[~ok] = 0
save("turned.nii", np.where(ok, a[i[..., 0], i[..., 1], i[..., 2]], 0), (3, 3, 3))
END
"$PYTHON" map.py
one=(--events far.Cdh --poses far.csv --grid "18,18,18" --voxel 4 --sens-budget 0 --sens-error 0.1 --iterations 2)
run recon ray "${one[@]}" --mu-fixed mu.nii -o fixed.nii
run recon ray "${one[@]}" --mu turned.nii -o turned-map.nii
run recon ray "${one[@]}" -o no-map.nii
check 'maps' <<'END'
from common import *
a, b, n = (load(x + ".nii")[0] for x in ("fixed", "turned-map", "no-map"))
far = np.sqrt(((a - b) ** 2).sum() / (a ** 2).sum())
effect = np.sqrt(((a - n) ** 2).sum() / (a ** 2).sum())
print("maps %.3f %%, without %.1f %%" % (100 * far, 100 * effect))
if not far < .01 or not effect > .05: sys.exit("a map that stays is not the map moved back: %g, without %g" % (far, effect))
END
echo "all passed"
