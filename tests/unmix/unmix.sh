#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome unmix from end to end: maps of known concentrations come back, frames one by one, wavelengths from the record,
# tables of the user; and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

"$PYTHON" - <<'END'
import json

import nibabel
import numpy as np

nm = [700, 730, 760, 800, 850]
# 1/(cm M) of HbO2 and Hb, S. Prahl
eps = np.array([[290, 1794.28], [390, 1102.2], [586, 1548.52], [816, 761.72], [1058, 691.32]])
e = np.log(10) * 1e-4 * eps
rng = np.random.default_rng(1)
c = rng.uniform(.5, 2, (2, 2, 3, 4, 5)) # frames, chromophores, nz, ny, nx
c[1, :, 0, 0, 0] = 0
np.save("c.npy", c)
images = np.einsum("ij,fjzyx->fizyx", e, c).reshape(10, 3, 4, 5)
images[3] += .01
affine = np.diag([2., 2, 2, 1])


def save(name, v):
    image = nibabel.Nifti1Image(np.asarray(v, "f4").T, affine)
    image.header.set_xyzt_units("mm")
    nibabel.save(image, name)


save("all.nii", images)
json.dump({"isotome": "0", "results": {"images": [{"wavelength": i + 1, "frame": f + 1, "nm": nm[i]}
                                                  for f in range(2) for i in range(5)]}}, open("all.json", "w"))
np.save("one.npy", images[5:].astype("f4"))
np.save("light.npy", np.full((5, 3, 4, 5), 4, "f4"))
np.save("bright.npy", 4 * images[5:].astype("f4"))
np.save("mask.npy", np.arange(60).reshape(3, 4, 5).astype("f4"))
np.save("short.npy", np.ones(4, "f4"))
with open("own.csv", "w") as f:
    f.write("# by hand\nnm,ink,water2\n")
    for w, v in ((690, 0.5), (800, 1), (900, 3)):
        f.write("%g,%g,%g\n" % (w, v, 4 - v))
END

run unmix all.nii -o x.nii
run unmix one.npy --wavelengths 700,730,760,800,850 --absorption --nonneg -o y.npy
run unmix bright.npy --wavelengths 700,730,760,800,850 --fluence light.npy --mask mask.npy --weights 1,2,3,4,5 -o z.nii.gz
run unmix all.nii -o again.nii --threads 1
run unmix all.nii --fill -1 -o filled.nii
run unmix bright.npy --wavelengths 700,730,760,800,850 --fluence 4,4,4,4,4 --chromophores HbO2,own.csv --json -o own.nii
for map in HbO2 Hb so2 so2_sd thb residual; do
	same "x_$map.nii" "again_$map.nii"
done
[ -e x.nii ] && fail "x.nii is no map"
check "maps" <<'END'
from checks import *

c = np.load("c.npy")
frame = image("x_HbO2.nii")
near("HbO2", frame[1], c[1, 0], 3e-4)
near("Hb", image("x_Hb.nii")[1], c[1, 1], 3e-4)
near("blood", image("x_thb.nii")[1], c[1].sum(0), 3e-4)
so2 = image("x_so2.nii")[1]
require(np.isnan(so2[0, 0, 0]) and np.isnan(so2).sum() == 1, "saturation without blood")
want = c[1, 0] / np.where(c[1].sum(0) > 0, c[1].sum(0), 1)
require(np.nanmax(abs(so2 - want)) < 3e-4, "saturation")
require(image("x_residual.nii")[0].min() > 1e-3 and image("x_residual.nii")[1].max() < 1e-4, "residual")
require(np.nanmax(image("x_so2_sd.nii")[1]) < 1e-4 < 3e-3 < np.nanmin(image("x_so2_sd.nii")[0]), "errors of the saturation %s" % [(np.nanmin(x), np.nanmax(x)) for x in image("x_so2_sd.nii")])
require(image("filled_so2.nii")[1, 0, 0, 0] == -1, "filled")
y = np.load("y.npy")
r = record("y.npy.json")["results"]["unmix"]
require(r["maps"] == ["HbO2", "Hb", "so2", "so2_sd", "thb", "residual"], r)
require(y.shape == (1, 6, 3, 4, 5) and r["scale"].startswith("absorption"), "all maps in one file")
near("HbO2 of an array", y[0, 0], c[1, 0], 3e-4)
z = image("z_Hb.nii.gz")
require(z[0, 0, 0] == 0, "left out by the mask")
z[0, 0, 0] = c[1, 1, 0, 0, 0]
near("Hb with light and weights", z, c[1, 1], 3e-4)
require(record("out")["results"]["unmix"]["maps"] == ["HbO2", "ink", "water2", "residual"], "names of a table")
END

expect 3 unmix none.nii -o n.nii
err_has "none.nii: No such file"
expect 2 unmix one.npy -o n.nii
err_has "no record beside it tells the wavelengths; --wavelengths does"
expect 2 unmix all.nii --chromophores HbO2,Hb,ink -o n.nii
err_has "chromophore 'ink' is not known; it must be HbO2, Hb, water, lipid, melanin or a table FILE.csv"
expect 3 unmix all.nii --wavelengths 700,730,760 -o n.nii
err_has "all.nii: 10 images are no whole number of turns of 3 wavelengths"
expect 2 unmix all.nii --wavelengths 700 -o n.nii
err_has "1 wavelengths can't tell 2 chromophores apart"
expect 2 unmix all.nii --wavelengths 700,730,760,800,1050 -o n.nii
err_has "the spectrum of HbO2 is known from 450 to 998 nm, not at 1050"
expect 3 unmix all.nii --chromophores own.csv --wavelengths 600,730,760,800,850 -o n.nii
err_has "own.csv: holds 690 to 900 nm, not 600"
expect 2 unmix all.nii --weights 1,2,3,4 -o n.nii
err_has "--weights has 4 numbers, there are 5 wavelengths"
expect 3 unmix all.nii --weights short.npy -o n.nii
err_has "short.npy: holds 4 numbers, there are 5 wavelengths"
expect 3 unmix all.nii --weights 1,2,3,4,0 -o n.nii
err_has "weight 5 is 0, must be above 0"
expect 3 unmix all.nii --fluence short.npy -o n.nii
err_has "short.npy: holds 4 numbers; expected one a wavelength (5), or one a voxel of each image (600)"
expect 3 unmix x_Hb.nii --wavelengths 700,730 --mask short.npy -o n.nii
err_has "short.npy: holds 4 voxels, an image 60"
run unmix x_Hb.nii --wavelengths 700,730 -o n.nii
err_has "as many chromophores as wavelengths"
expect 2 unmix all.nii -o x.nii
err_has "x_HbO2.nii"
[ "$(echo n*.nii)" = "n_Hb.nii n_HbO2.nii n_residual.nii n_so2.nii n_so2_sd.nii n_thb.nii" ] || fail "left behind: $(echo n*)"

# light by depth, weights by energy, regions and the page
"$PYTHON" - <<'END'
import json

import nibabel
import numpy as np

nm = np.array([700, 730, 760, 800, 850])
eps = np.array([[290, 1794.28], [390, 1102.2], [586, 1548.52], [816, 761.72], [1058, 691.32]])
e = np.log(10) * 1e-4 * eps
n = 24
y, x = np.mgrid[:n, :n] * .5
inside = np.hypot(x - 5.75, y - 5.75) < 5
outside = np.argwhere(~inside) * .5
depth = np.array([[np.sqrt(((outside - (j * .5, i * .5)) ** 2).sum(1).min()) for i in range(n)] for j in range(n)])
depth = np.maximum(depth - .25, 0)
mu = .1 * (.7 * e[:, 0] + .3 * e[:, 1])  # blood alone
m = np.sqrt(3 * mu * (mu + 1.89 * (nm / 500) ** -1.286))
c = np.where(inside, .7, 0), np.where(inside, .3, 0)
images = (e[:, 0, None, None] * c[0] + e[:, 1, None, None] * c[1]) * np.exp(-m[:, None, None] * depth)
labels = np.where(inside & (depth > 2), 2, np.where(inside & (depth < .5), 7, 0))
affine = np.diag([.5, .5, .5, 1])
for name, v in (("deep", images[:, None]), ("tissue", inside[None]), ("organs", labels[None])):
    image = nibabel.Nifti1Image(np.asarray(v, "f4").T, affine)
    image.header.set_xyzt_units("mm")
    nibabel.save(image, name + ".nii")
json.dump({"isotome": "0", "results": {"images": [
    {"wavelength": i + 1, "frame": 1, "nm": float(nm[i]), "energy_mj": [70, 72, 69, 65, 60][i]} for i in range(5)]}},
    open("deep.json", "w"))
END
common=(deep.nii --mask tissue.nii --nonneg --regions organs.nii)
run unmix "${common[@]}" -o dim.nii
run unmix "${common[@]}" --fluence depth:0.1,0.7,0 --weights energy --page lit.html -o lit.nii
"$PYTHON" - <<'END'
import json


def region(file, map_, label):
    rows = json.load(open(file))["results"]["regions"]
    return next(r for r in rows if r["map"] == map_ and r["label"] == label)


lit, dim = (region(f, "thb", 2)["mean"] for f in ("lit_thb.json", "dim_thb.json"))
print("blood below 2 mm:", dim, lit)
assert abs(lit - 1) < 2e-3, lit
assert dim < .6, dim
assert abs(region("lit_so2.json", "so2", 2)["mean"] - .7) < 1e-3
assert abs(region("lit_so2.json", "so2", 7)["median"] - .7) < 2e-3
results = json.load(open("lit_so2.json"))["results"]
assert results["fluence"]["model"] == "depth" and len(results["fluence"]["attenuation_per_mm"]) == 5
END
grep -q '<h2>Regions</h2>' lit.html || fail "the page has no regions"
expect 2 unmix deep.nii --fluence depth -o n2.nii
err_has "--fluence depth needs --mask"
expect 2 unmix deep.nii --mask tissue.nii --fluence depth:1 -o n2.nii
err_has "expected depth or depth:BLOOD,SO2,WATER"
expect 3 unmix all.nii --weights energy -o n2.nii
err_has "tells the energy of the laser's pulses"
expect 2 unmix deep.nii --page p.html -o n2.npy
err_has "--page shows images"
[ -e n2_Hb.nii ] && fail "an error left a map"
true
