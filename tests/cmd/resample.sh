#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome resample against formulas: a linear image stays itself on any grid, a sum stays a sum, units stay; and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

"$PYTHON" - <<'END'
import nibabel
import numpy as np


def save(name, affine, f, shape=(24, 20, 16)):
    i = np.moveaxis(np.indices(shape), 0, -1)
    at = nibabel.affines.apply_affine(affine, i)
    image = nibabel.Nifti1Image(f(at).astype("f4"), affine)
    image.header.set_xyzt_units("mm")
    nibabel.save(image, name)


def linear(at):
    return 100 + at @ [1, -2, .5]


straight = np.diag([3., 3, 3, 1])
straight[:3, 3] = -30, -25, -20
c, s = np.cos(.3), np.sin(.3)
oblique = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.]]) @ straight
fine = np.diag([2., 2.5, 4, 1])
fine[:3, 3] = -7, -8, -6
save("straight.nii", straight, linear)
save("oblique.nii", oblique, linear)
save("like.nii", fine, lambda at: 0 * at[..., 0], (8, 7, 5))
save("ball.nii", straight, lambda at: np.exp(-((at - 4)**2).sum(-1) / 200))
END

run resample straight.nii --like like.nii -o a.nii
run resample oblique.nii --like like.nii -o b.nii
run resample straight.nii --like like.nii --shift 5,0,-4 -o moved.nii
run resample ball.nii --voxel 6 -o wide.nii
run resample ball.nii --voxel 1.5 -o narrow.nii
run resample ball.nii -o same.nii
check "resampled images" <<'END'
from checks import *


def linear(name, shift=(0, 0, 0)):
    x, y, z = centres(name)
    return 100 + (x - shift[0]) - 2 * (y - shift[1]) + .5 * (z - shift[2])


def integral(name):
    return image(name).sum(dtype=float) * np.prod(nibabel.load(name).header.get_zooms())


# the voxels of `like` are 2, 2.5 and 4 mm: along z the input is smoothed, which leaves a linear image as it is
for name, shift in (("a.nii", (0, 0, 0)), ("b.nii", (0, 0, 0)), ("moved.nii", (5, 0, -4))):
    require(np.array_equal(nibabel.load(name).affine, nibabel.load("like.nii").affine), name)
    require(np.abs(image(name) - linear(name, shift)).max() < 1e-3, f"{name}: {np.abs(image(name) - linear(name, shift)).max()}")
require(np.array_equal(image("same.nii"), image("ball.nii")), "the same grid gives another image")
for name in ("wide.nii", "narrow.nii"):
    require(abs(integral(name) / integral("ball.nii") - 1) < .01, f"{name}: {integral(name)}")
require(image("wide.nii").shape == (8, 10, 12) and image("narrow.nii").shape == (32, 40, 48), "sizes")
END

# the unit of the input, and a record that repeats the run
run phantom cylinder --grid 8,8,4 --voxel 20 -o truth.nii --mu mu.nii
run resample mu.nii --voxel 10 -o fine.nii
run info fine.nii
grep -q '1/mm' out || fail "the unit is lost"
run resample mu.nii --like fine.json -o again.nii
cmp fine.nii again.nii || fail "--like of the record gives another image"

expect 2 resample straight.nii --like like.nii --voxel 2 -o x.nii
err_has '--like like.nii says the grid, --voxel does too'
expect 2 resample straight.nii --like like.nii --shift 900,0,0 -o x.nii
err_has 'the grid lies outside of straight.nii'
expect 2 resample straight.nii -o straight.nii
err_has 'straight.nii'
expect 3 resample none.nii -o x.nii
err_has 'none.nii'
[ ! -e x.nii ] || fail "a refused run leaves an image"
