#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome warp against reference vectors, of all forms of field files; folds are told; and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python
from=$TEST_DATA/warp

"$PYTHON" - "$from" <<'END'
import sys

import nibabel
import numpy as np

affine = np.diag([5., 6, 4, 1])
affine[:3, 3] = -19, -23, -9


def save(name, v, affine=affine, intent=0):
    image = nibabel.Nifti1Image(np.asarray(v, "f4"), affine)
    image.header.set_xyzt_units("mm")
    image.header["intent_code"] = intent
    nibabel.save(image, name)


save("x.nii", np.load(sys.argv[1] + "/warp_image.npy").T)
save("y.nii", np.load(sys.argv[1] + "/warp_y.npy").T)
u = np.load(sys.argv[1] + "/warp_field_ras.npy")
fold = np.zeros((9, 8, 7, 1, 3))
fold[4, ..., 0] = -12
save("fold.nii", fold, intent=1006)
save("far.nii", fold * 7, intent=1006)
save("plain.nii", u.transpose(2, 1, 0, 3))
oblique = affine.copy()
oblique[0, 1] = 3
save("oblique.nii", fold, oblique, 1006)
fold[2, 3, 4, 0, 1] = np.nan
save("nan.nii", fold, intent=1006)
END

for form in ants dispvect dispvect_flipped niftyreg_def niftyreg_disp; do
	run warp x.nii --field "$from/field_$form.nii" -o "$form.nii"
done
run warp x.nii --field "$from/warp_field_ras.npy" --mass -o mass.nii
run warp y.nii --field "$from/warp_field_ras.npy" --adjoint -o adjoint.nii
run warp y.nii --field "$from/warp_field_ras.npy" --adjoint --mass --threads 1 -o adjoint_mass.nii
run warp x.nii --field plain.nii --field-axes ras -o plain_out.nii
run warp x.nii --field fold.nii --json -o folded.nii
err_has "the field folds: det(1 + du/dx) is 0 or below in 56 voxels, -0.2 at least"
out_has '"folded_voxels": 56'
check "warped images" "$from" <<'END'
import sys

from checks import *


def near(name, want, most):
    want = np.load(f"{sys.argv[1]}/{want}.npy")
    worst = np.abs(image(name) - want).max() / np.abs(want).max()
    require(worst < most, f"{name}: {worst}")


for form in "ants", "dispvect", "dispvect_flipped", "niftyreg_def", "niftyreg_disp", "plain_out":
    near(form + ".nii", "warp_out", 2e-6)
near("mass.nii", "warp_out_mass", 1e-6)
near("adjoint.nii", "warp_adjoint", 1e-6)
near("adjoint_mass.nii", "warp_adjoint_mass", 1e-6)
require(np.array_equal(nibabel.load("ants.nii").affine, nibabel.load("x.nii").affine), "the grid changed")
END
run warp x.nii --field "$from/field_ants.nii" --dry-run -o none.nii
out_has "displacement field"

# ---- what is refused: nothing is written ----
expect 3 warp x.nii --field plain.nii -o none.nii
err_has "do not tell which way its vectors point; --field-axes does, ras or lps"
expect 3 warp x.nii --field oblique.nii -o none.nii
err_has "oblique.nii: its axes are oblique"
expect 3 warp x.nii --field nan.nii -o none.nii
err_has "nan.nii: component y at (iz, iy, ix) = (4, 3, 2) is nan"
expect 2 warp x.nii --field far.nii -o none.nii
err_has "far.nii: the displacement is 84 mm at (iz, iy, ix) = (0, 0, 4), longer than the diagonal of the image's box, 71.5"
expect 3 warp x.nii --field x.nii -o none.nii
err_has "a displacement field has (nx, ny, nz, 1, 3)"
expect 3 warp "$from/warp_image.npy" --field "$from/warp_field_ras.npy" -o none.nii
err_has "an image (nz, ny, nx) with voxel sizes was expected"
expect 2 warp x.nii -o none.nii
err_has "field"
expect 2 warp x.nii --field "$from/field_ants.nii" -o mass.nii
err_has "mass.nii"
[ ! -e none.nii ] || fail "a refused run wrote an image"
