#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome measure: every figure against NumPy, --below, and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

# x: a gradient with noise, two peaks, off the origin; truth: without the noise, at half the scale.
"$PYTHON" - <<'END'
import nibabel
import numpy as np
rng = np.random.default_rng(3)
affine = np.diag([2, 2.5, 3, 1])
affine[:3, 3] = -40, -30, 60
index = np.indices((41, 33, 23))
x, y, z = (affine[a, a] * index[a] + affine[a, 3] for a in range(3))

def save(name, v, a=affine):
    image = nibabel.Nifti1Image(np.asarray(v, np.float32), a)
    image.header.set_xyzt_units("mm")
    nibabel.save(image, name)

def bump(cx, cy, cz, fx, fy, fz):
    r = ((x - cx) / fx)**2 + ((y - cy) / fy)**2 + ((z - cz) / fz)**2
    return np.exp(-4 * np.log(2) * r)

truth = 5 + .02 * x - .01 * y + .03 * z
save("x.nii", 2 * truth + rng.normal(0, .3, x.shape))
save("truth.nii", truth)
save("peaks.nii", 1 + 20 * bump(-15.3, 4.1, 90.7, 10, 12.5, 16) + 30 * bump(20, 10, 100, 9, 9, 9))
save("mask.nii", (np.hypot(x, y) < 20) & (z > 70))
save("empty.nii", 0 * x)
save("moved.nii", truth, affine + np.diag([0, 0, .1, 0]))
np.save("x.npy", nibabel.load("x.nii").get_fdata().T)
np.save("small.npy", np.ones((3, 4)))
broken = truth.copy()
broken[3, 2, 1] = np.nan
save("nan.nii", broken)
END

measure() { run measure "$@"; }
json() { # NAME ARGS...: the results as NAME.json
	local name=$1
	shift
	measure "$@" --json
	cp out "$name.json"
}

# ---- regions ----
json roi roi x.nii --sphere hot=-10,5,90,12/3,-4,100,7.5 --box -20,0,-10,10,81,81 \
	--cylinder 0,5,95,14,20/arm=0,5,95,10,30,x --mask mask.nii
measure roi x.nii --sphere hot=-10,5,90,12
out_has 'PSTD %'
out_has 'hot '
check "figures of regions are not NumPy's" <<'END'
from checks import *
v = image("x.nii").astype(float)
x, y, z = centres("x.nii")
want = [("hot", (x + 10)**2 + (y - 5)**2 + (z - 90)**2 <= 144),
        ("sphere 2", (x - 3)**2 + (y + 4)**2 + (z - 100)**2 <= 7.5**2),
        ("cylinder 1", (np.hypot(x, y - 5) <= 14) & (abs(z - 95) <= 10)),
        ("arm", (np.hypot(y - 5, z - 95) <= 10) & (abs(x) <= 15)),
        ("box 1", (x >= -20) & (x <= 0) & (abs(y) <= 10) & (z == 81)),
        ("mask", image("mask.nii") != 0)]
got = record("roi.json")["results"]["regions"]
require([r["name"] for r in got] == [w[0] for w in want], f"names {[r['name'] for r in got]}")
for r, (name, inside) in zip(got, want):
    s = v[inside]
    require(r["voxels"] == s.size > 10, f"{name}: {r['voxels']} voxels, expected {s.size}")
    for key, value in (("volume_mm3", s.size * 15), ("mean", s.mean()), ("std", s.std()),
                       ("pstd_percent", 100 * s.std() / s.mean()), ("min", s.min()),
                       ("max", s.max()), ("sum", s.sum())):
        near(f"{name}: {key}", r[key] / value, 1, 1e-9)
END

# ---- profiles ----
line=(--from "-35.5,-20,65" --to "30,31.5,120")
json line profile x.nii "${line[@]}" --samples 50
json wide profile truth.nii "${line[@]}" --width 8
json usual profile x.nii --from -40,0,90 --to 40,0,90
measure profile x.nii "${line[@]}" --samples 50 -o line.csv
[ ! -s out ] || fail "with -o, the table is on stdout as well"
measure profile x.nii "${line[@]}" --samples 50 -o line.npy
measure profile x.nii "${line[@]}" --samples 50
cp out line.txt
check "profiles are not NumPy's" <<'END'
from checks import *
v = image("x.nii").astype(float)

def trilinear(v, p):
    u = [(p[a] - o) / d for a, (o, d) in enumerate(((-40, 2), (-30, 2.5), (60, 3)))]
    lo = [np.clip(np.floor(c).astype(int), 0, n - 2) for c, n in zip(u, v.shape[::-1])]
    f = [c - i for c, i in zip(u, lo)]
    total = 0
    for corner in np.ndindex(2, 2, 2):
        w = np.prod([f[a] if corner[a] else 1 - f[a] for a in range(3)], axis=0)
        total = total + w * v[lo[2] + corner[2], lo[1] + corner[1], lo[0] + corner[0]]
    return total

a, b = np.array([-35.5, -20, 65]), np.array([30, 31.5, 120])
t = np.linspace(0, 1, 50)[:, None]
p = (a + t * (b - a)).T
want = np.column_stack([t[:, 0] * np.linalg.norm(b - a), *p, trilinear(v, p)])
got = record("line.json")["results"]
near("distance", got["distance_mm"], want[:, 0], 1e-9)
near("value", got["value"], want[:, 4], 1e-9)
near("csv", np.loadtxt("line.csv", delimiter=",", skiprows=1), want, 1e-6)
near("npy", np.load("line.npy"), want, 1e-4)
near("text", np.loadtxt("line.txt", skiprows=1), want, 1e-3)
require(open("line.csv").readline() == "distance_mm,x_mm,y_mm,z_mm,value\n", "head of the csv")
wide = record("wide.json")["results"]
t = np.linspace(0, 1, len(wide["value"]))[:, None]
p = (a + t * (b - a)).T
near("mean over discs of a plane", wide["value"], 5 + .02 * p[0] - .01 * p[1] + .03 * p[2], 1e-5)
usual = record("usual.json")["results"]
require(len(usual["value"]) == 41, f"{len(usual['value'])} samples, expected one a voxel")
near("voxels themselves", usual["value"], v[10, 12], 1e-9)
END

# ---- widths ----
json small fwhm peaks.nii --at -15,5,90 --background 1
json large fwhm peaks.nii --at 20,10,100 --window 40 --background 1
json axis fwhm peaks.nii --at 20,10,100 --background 1 --axis y
check "widths are not those of the Gaussians" <<'END'
from checks import *
for name, at, fwhm in (("small", (-15.3, 4.1, 90.7), (10, 12.5, 16)),
                       ("large", (20, 10, 100), (9, 9, 9))):
    r = record(name + ".json")["results"]
    for axis, c, w in zip("xyz", at, fwhm):
        near(f"{name}: centre {axis}", r[axis]["centre_mm"], c, .2)
        if w >= 10:  # five voxels
            near(f"{name}: FWHM {axis}", r[axis]["fwhm_mm"] / w, 1, .01)
        near(f"{name}: FWHM {axis}", r[axis]["fwhm_mm"] / w, 1, .03)
require(list(record("axis.json")["results"]) == ["y"], "--axis y gives other axes")

# the profile through the highest voxel, by hand
v = image("peaks.nii").astype(float) - 1
x, y, z = centres("peaks.nii")
near_it = np.hypot(np.hypot(x - 20, y - 10), z - 100) < 9
k, j, i = np.unravel_index(np.argmax(np.where(near_it, v, 0)), v.shape)
line, top = v[k, :, i], j
b, c = (line[top + 1] - line[top - 1]) / 2, (line[top + 1] + line[top - 1]) / 2 - line[top]
height = line[top] - b * b / (4 * c)

def crossing(step, level):
    n = top
    while line[n + step] > level:
        n += step
    return n + step * (line[n] - level) / (line[n] - line[n + step])

got = record("axis.json")["results"]["y"]
near("height", got["height"], height, 1e-9 * height)
near("FWHM y", got["fwhm_mm"], 2.5 * (crossing(1, height / 2) - crossing(-1, height / 2)), 1e-9)
near("FWTM y", got["fwtm_mm"], 2.5 * (crossing(1, height / 10) - crossing(-1, height / 10)), 1e-9)
END

# ---- differences and errors ----
json diff diff x.nii truth.nii
json same diff x.nii x.npy
for scale in none sum fit; do
	json "$scale" rmse x.nii truth.nii --scale "$scale" --mask mask.nii
done
json plain rmse x.npy truth.nii
check "differences are not NumPy's" <<'END'
from checks import *
a, b, m = (image(n).astype(float) for n in ("x.nii", "truth.nii", "mask.nii"))
d = record("diff.json")["results"]
for key, want in (("max_abs", abs(a - b).max()), ("mean", (a - b).mean()),
                  ("relative_l2", np.linalg.norm(a - b) / np.linalg.norm(b)),
                  ("diff_percent", 100 * abs(a - b).sum() / abs(b).sum())):
    near(key, d[key] / want, 1, 1e-9)
require(set(record("same.json")["results"].values()) == {0}, "an image differs from itself")

def rmse(name, a, b, k):
    r = record(name + ".json")["results"]
    e = np.sqrt(np.mean((k * a - b)**2))
    require(r["values"] == a.size, f"{name}: {r['values']} values")
    near(f"{name}: scale", r["scale"] / k, 1, 1e-9)
    near(f"{name}: RMSE", r["rmse"] / e, 1, 1e-9)
    near(f"{name}: NRMSE", r["nrmse"] / (e / b.mean()), 1, 1e-9)

rmse("plain", a.ravel(), b.ravel(), 1)
a, b = a[m != 0], b[m != 0]
rmse("none", a, b, 1)
rmse("sum", a, b, b.sum() / a.sum())
rmse("fit", a, b, (a @ b) / (a @ a))
END

# ---- NEMA ----
run phantom spheres --grid 100,80,17 --voxel 3.3,3.3,3 -o spheres.nii
run filter gaussian:6 spheres.nii -o smooth.nii
"$PYTHON" - <<'END'
import nibabel
import numpy as np
image = nibabel.load("smooth.nii")
noise = np.random.default_rng(5).normal(0, .1, image.shape)
nibabel.save(nibabel.Nifti1Image((image.get_fdata() + noise).astype(np.float32), image.affine,
                                 image.header), "noisy.nii")
END
cat >own.yaml <<'END'
spheres:
  - {centre_mm: [28.6, -49.536653, 0], diameter_mm: 37, ratio: 4}
  - {centre_mm: [0, 0, 2], diameter_mm: 20, ratio: 0}
background: [{centre_mm: [106, 36]}, {centre_mm: [-102.5, 44]}, {centre_mm: [-68, -70]}]
slices_mm: [-20, 3, 20]
lung: {centre_mm: [1, 0], diameter_mm: 30}
END
json nema nema noisy.nii --like-phantom spheres
json own nema noisy.nii --spheres own.yaml
measure nema smooth.nii --like-phantom spheres
out_has 'lung residual'
check "NEMA figures are not NumPy's" <<'END'
from checks import *
v = image("noisy.nii").astype(float)
x, y, z = (c[s] for c, s in zip(centres("noisy.nii"), (np.s_[0, 0], np.s_[0, :, 0], np.s_[:, 0, 0])))
sub = (np.arange(10) + .5) / 10 - .5
fine_x, fine_y = (np.add.outer(c, 3.3 * sub).ravel() for c in (x, y))

def disc(cx, cy, diameter, cz):
    inside = np.add.outer((fine_y - cy)**2, (fine_x - cx)**2) <= diameter**2 / 4
    w = inside.reshape(len(y), 10, len(x), 10).mean((1, 3))
    return np.sum(w * v[np.argmin(abs(z - cz))]) / w.sum()

def compare(name, spheres, background, slices, lung):
    got = record(name + ".json")["results"]
    require(len(got["spheres"]) == len(spheres), f"{name}: {len(got['spheres'])} spheres")
    for r, (cx, cy, cz, d, ratio) in zip(got["spheres"], spheres):
        b = np.array([disc(*p, d, s) for s in slices for p in background])
        c = disc(cx, cy, d, cz)
        near(f"{name} {d}: contrast", r["contrast_percent"],
             100 * (c / b.mean() - 1) / (ratio - 1), 1e-3)
        near(f"{name} {d}: variability", r["variability_percent"],
             100 * b.std(ddof=1) / b.mean(), 1e-3)
    d = max(s[3] for s in spheres)
    near(f"{name}: lung", got["lung_residual_percent"], np.mean([
        100 * disc(*lung, 30, s) / np.mean([disc(*p, d, s) for p in background])
        for s in slices]), 1e-3)

angle = np.arange(6) * np.pi / 3
compare("nema", [(57.2 * np.cos(t), 57.2 * np.sin(t), 0, d, 4)
                 for t, d in zip(angle, (10, 13, 17, 22, 28, 37))],
        [(106, 36), (62, 36), (54, 76), (12, 82), (-58, 74), (-102, 44), (-120, -6), (-88, -32),
         (-68, -70), (74, -66), (82, -24), (120, -6)], (-20, -10, 0, 10, 20), (0, 0))
compare("own", [(28.6, -49.536653, 0, 37, 4), (0, 0, 2, 20, 0)],
        [(106, 36), (-102.5, 44), (-68, -70)], (-20, 3, 20), (1, 0))
r = record("nema.json")["results"]["spheres"]
require(r[0]["contrast_percent"] < r[3]["contrast_percent"] < r[5]["contrast_percent"] < 100,
        "recovery must rise with the diameter")
END

# ---- --below: the figures are printed, then it is decided ----
below() { # CODE FIGURE ARGS...
	local code=$1 figure=$2
	shift 2
	expect "$code" measure "$@"
	[ -s out ] || fail "measure $*: no figures"
	[ "$code" = 0 ] || err_has "$figure"
}
below 0 '' diff x.nii x.npy --below 1e-9
below 1 'not below 0' diff x.nii x.npy --below 0
below 0 '' diff x.nii truth.nii --below 200
below 1 'diff% is 1' diff x.nii truth.nii --below 10
below 0 '' rmse x.nii truth.nii --scale fit --below 0.05
below 1 'NRMSE is 1.0' rmse x.nii truth.nii --below 0.05
below 0 '' roi x.nii --sphere 0,0,90,5 --below 20
below 1 'largest PSTD' roi x.nii --sphere 0,0,90,5/0,0,80,9 --below 1
below 1 'largest PSTD' roi empty.nii --sphere 0,0,90,5 --below 1
below 0 '' fwhm peaks.nii --at 20,10,100 --background 1 --below 9.5
below 1 'largest FWHM' fwhm peaks.nii --at 20,10,100 --background 1 --below 9
below 1 'largest value' profile x.nii --from 0,0,80 --to 0,0,90 --below 1
below 1 'variability' nema noisy.nii --like-phantom spheres --below 0.1
below 1 'variability' nema noisy.nii --like-phantom spheres --below 0.1 --json

# ---- rods, tumours ----
run phantom derenzo-meng --voxel 0.5 -o rods.nii
run measure rods rods.nii --phantom derenzo-meng -o boxes.png
out_has 'resolved'
[ -s boxes.png ] || fail "no boxes.png"
run measure rods rods.nii --phantom derenzo-meng --diameter 1.6 --below 1.7 --json
check "rods" <<'PY'
import json
r = json.load(open("out"))["results"]["rods"]
assert [x["diameter_mm"] for x in r] == [0.7, 1.0, 1.2, 1.6, 2.0, 2.4], r
assert all(x["resolved"] and x["valley_to_peak"] < 0.2 for x in r), r
assert abs(r[3]["fwhm"]["median_mm"] - 1.6) < 0.2 and r[3]["fwhm"]["profiles"] == 20, r[3]
PY
run phantom mouse --grid 60,50,140 --voxel 0.5 --centre 0,0,0 -o mouse.nii
run filter gaussian:4 mouse.nii -o blurred.nii
run measure tbr mouse.nii blurred.nii --tumour 10,0,12,2.5 --background 0,-6,-2,2 --json
check "tumour to background" <<'PY'
import json
r = json.load(open("out"))["results"]
assert abs(r["tbr"] - 5) < 1e-4 and 1 < r["other_tbr"] < 4.5, r
assert abs(r["diff_percent"] - 100 * (5 - r["other_tbr"]) / 5) < 1e-2, r
PY
expect 1 measure tbr mouse.nii blurred.nii --tumour 10,0,12,2.5 --background 0,-6,-2,2 --below 5
err_has 'difference in per cent'

# ---- refused ----
refused() { # CODE TEXT ARGS...
	local code=$1 text=$2
	shift 2
	expect "$code" measure "$@"
	err_has "$text"
	[ ! -s out ] || fail "measure $*: prints figures and fails"
}
refused 2 'KIND is missing'
refused 2 "did you mean 'roi'?" rio x.nii
refused 2 'must be the first word' --json roi
refused 2 'IMAGE is missing' roi
refused 2 'no region' roi x.nii
refused 2 "must be X,Y,Z,R" roi x.nii --sphere 0,0,5
refused 2 "--sphere is empty" roi x.nii --sphere 0,0,90,5/
refused 2 "must be X,Y,Z,R" roi x.nii --sphere 0,0,nan,5
refused 2 "must be X,Y,Z,R,LENGTH[,AXIS]" roi x.nii --cylinder 0,0,90,5,5,w
refused 2 "must be X0,X1,Y0,Y1,Z0,Z1" roi x.nii --box 0,0,90,5,5
refused 2 '--sphere is given twice' roi x.nii --sphere 0,0,90,5 --sphere=0,0,80,5
refused 2 'radius is -5 mm' roi x.nii --sphere 0,0,90,-5
refused 2 'from 5 to -5 mm along y' roi x.nii --box 0,5,5,-5,90,91
refused 3 "region 'far': sphere: holds the centre of no voxel" roi x.nii --sphere far=900,0,90,5
refused 3 'all voxels are 0' roi x.nii --mask empty.nii
refused 3 'moved.nii' roi x.nii --mask moved.nii
refused 3 'nan.nii' roi nan.nii --sphere 0,0,90,5
refused 3 'holds no voxel size' roi x.npy --sphere 0,0,90,5
refused 3 'missing.nii' roi missing.nii --sphere 0,0,90,5
refused 2 '--samples is 0' profile x.nii --from 0,0,80 --to 0,0,90 --samples 0
refused 2 '--samples is 1' profile x.nii --from 0,0,80 --to 0,0,90 --samples 1
refused 2 '--to is missing' profile x.nii --from 0,0,80
refused 2 '--width is -1' profile x.nii --from 0,0,80 --to 0,0,90 --width -1
refused 2 'same place' profile x.nii --from 0,0,80 --to 0,0,80
refused 3 'end (0, 0, 900) is outside' profile x.nii --from 0,0,80 --to 0,0,900
refused 2 'line.csv exists' profile x.nii --from 0,0,80 --to 0,0,90 -o line.csv
refused 2 'line.npy exists' profile x.nii --from 0,0,80 --to 0,0,90 -o line.npy
refused 2 'y.txt' profile x.nii --from 0,0,80 --to 0,0,90 -o y.txt
refused 1 'no/such' profile x.nii --from 0,0,80 --to 0,0,90 -o no/such/y.csv
refused 2 "must be one of x, y, z, all" fwhm x.nii --at 0,0,90 --axis w
refused 2 '--window is 0' fwhm x.nii --at 0,0,90 --window 0
refused 3 'of x = 900' fwhm x.nii --at 900,0,90
refused 3 'no peak' fwhm empty.nii --at 0,0,90
refused 3 'have other sizes' diff x.nii small.npy
refused 3 'lie on other grids' diff truth.nii moved.nii
refused 3 'nan.nii' diff x.nii nan.nii
refused 2 'B is missing' diff x.nii
refused 3 'lie on other grids' rmse x.nii truth.nii --mask moved.nii
refused 3 'mask must not be 0' rmse x.nii truth.nii --mask empty.nii
refused 3 "can't be scaled" rmse empty.nii truth.nii --scale fit
refused 2 "did you mean 'fit'?" rmse x.nii truth.nii --scale fits
refused 2 'either --spheres or --like-phantom' nema x.nii
refused 2 'either --spheres or --like-phantom' nema x.nii --spheres own.yaml --like-phantom spheres
refused 2 'must be one of spheres' nema x.nii --like-phantom derenzo
refused 3 'leaves the image' nema x.nii --like-phantom spheres
refused 2 'no cylinder' rods rods.nii --phantom sphere
refused 2 'no rods of that diameter' rods rods.nii --phantom derenzo-meng --diameter 3
refused 2 'boxes.png exists' rods rods.nii --phantom derenzo-meng -o boxes.png
refused 2 '--phantom is missing' rods rods.nii
refused 3 'outside the image' rods mouse.nii --phantom derenzo
refused 2 '--background is missing' tbr mouse.nii --tumour 10,0,12,2.5
refused 3 'the background is 0' tbr mouse.nii --tumour 10,0,12,2.5 --background -14,-11,30,1
sed 's/slices_mm/slice_mm/' own.yaml >bad.yaml
refused 3 "did you mean 'slices_mm'?" nema smooth.nii --spheres bad.yaml
echo "all passed"
