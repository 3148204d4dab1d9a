#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome filter against NumPy; formats, records, and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

"$PYTHON" - <<'END'
import nibabel
import numpy as np
rng = np.random.default_rng(7)
x = rng.gamma(2, 1, (37, 14, 11)).astype(np.float32) - 1
affine = np.diag([2, 3, 4.5, 1])
affine[:3, 3] = -30, 40, 50
image = nibabel.Nifti1Image(x, affine)
image.header.set_xyzt_units("mm")
nibabel.save(image, "x.nii")
np.save("x.npy", x.T)
END

# ---- values ----
run filter gaussian:7 x.nii -o g7.nii
run filter gaussian:0,9,5.5 x.nii -o g3.nii.gz
run filter gaussian:400 x.nii -o wide.nii
run filter gaussian:0 x.nii -o g0.nii
for n in 3 5 7 9; do
	run filter "median:$n" x.nii -o "m$n.nii"
done
run filter median:3 x.npy -o m3.npy
check "filtered images differ from NumPy's" <<'END'
from checks import *
x = image("x.nii").astype(float)

def gaussian(x, fwhm):
    for axis, (f, v) in enumerate(zip(fwhm[::-1], (4.5, 3, 2))):
        if f == 0:
            continue
        sigma = f / np.sqrt(8 * np.log(2)) / v
        r = int(np.ceil(3 * sigma))
        i = np.arange(-r, r + 1)
        w = np.exp(-i**2 / (2 * sigma**2))
        n = x.shape[axis]
        x = sum(a * np.take(x, np.clip(np.arange(n) + k, 0, n - 1), axis)
                for a, k in zip(w / w.sum(), i))
    return x

def median(x, n):
    cubes = np.lib.stride_tricks.sliding_window_view(np.pad(x, n // 2, "edge"), (n, n, n))
    return np.median(cubes.reshape(*x.shape, -1), axis=-1)

for name, fwhm in (("g7.nii", (7, 7, 7)), ("g3.nii.gz", (0, 9, 5.5)), ("wide.nii", (400,) * 3)):
    near(name, image(name), gaussian(x, fwhm), 1e-6 * x.max())
near("a Gaussian of no width", image("g0.nii"), x, 0)
for n in 3, 5, 7, 9:
    near(f"median {n}", image(f"m{n}.nii"), median(x, n), 0)
near("median of an array", np.load("m3.npy"), median(x, 3), 0)
for name in "g7.nii", "g3.nii.gz", "m3.nii":
    near(f"affine of {name}", nibabel.load(name).affine, nibabel.load("x.nii").affine, 1e-5)
END

# ---- threads, records ----
run filter gaussian:7 x.nii --threads 1 -o one.nii
same g7.nii one.nii
run filter --like g7.json -o again.nii
same g7.nii again.nii
run filter --like g7.json median:3 x.nii -o other.nii
same m3.nii other.nii
run filter median:3 x.nii --json -o json.nii
check "the record is not as expected" <<'END'
from checks import *
r = record("out")
require(r["parameters"]["filter"] == "median:3" and len(r["inputs"]) == 1, "parameters or inputs")
END
run filter gaussian:7 x.nii --dry-run -o dry.nii
out_has 'memory for'
[ ! -e dry.nii ] || fail "--dry-run wrote a file"

# ---- refused ----
refused() { # CODE TEXT ARGS...
	local code=$1 text=$2
	shift 2
	expect "$code" filter "$@"
	err_has "$text"
}
refused 2 'must be gaussian:MM' boxcar:3 x.nii -o y.nii
refused 2 'must be gaussian:MM' gaussian:1,2 x.nii -o y.nii
refused 2 'FWHM along x is -3 mm' gaussian:-3 x.nii -o y.nii
refused 2 'size is 4, must be 3, 5, 7 or 9' median:4 x.nii -o y.nii
refused 2 'g7.nii exists' median:3 x.nii -o g7.nii
refused 2 '--output is missing' median:3 x.nii
refused 2 'IMAGE is missing' median:3 -o y.nii
refused 3 'no voxel size' gaussian:3 x.npy -o y.npy
refused 3 'missing.nii' median:3 missing.nii -o y.nii
"$PYTHON" -c 'import numpy as np
np.save("flat.npy", np.ones((4, 4)))
np.save("nan.npy", np.full((4, 4, 4), np.nan))'
refused 3 '2 axes' median:3 flat.npy -o y.npy
refused 3 'the first is nan' median:3 nan.npy -o y.npy
refused 4 'host memory' median:3 x.nii --memory-limit 1e-5 -o y.nii
[ -z "$(find . -name 'y.*')" ] || fail "a refused run left a file"
echo "all passed"
