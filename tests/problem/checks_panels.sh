#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks of two panels: randoms, additive term, factors and attenuation map against the counts and the image.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
# shellcheck source=tests/problem/checks.bash
. "$SOURCE/tests/problem/checks.bash"
need_python

cat >b.yaml <<-END
	kind: panels
	crystals: [6, 8]
	pitch_mm: [2.0, 2.0]
	crystal_mm: [1.8, 1.8, 6]
	gap_mm: 10
	layers: 1
	voxels_per_pitch: [2, 2]
	planes: 6
	plane_mm: 1
END
check "inputs: vector b, and what does not fit it" "$TEST_DATA/dualhead/b" <<'END'
import sys
import nibabel as nib
import numpy as np
root = sys.argv[1] + "/"
real = lambda name: np.fromfile(root + name + ".f64")
ints = lambda name: np.fromfile(root + name + ".i32", dtype="<i4")
ptr, lor, val = ints("col_ptr"), ints("col_lor").reshape(-1, 4), real("col_val")
column = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
np.save("rows.npy", np.column_stack([column // 4, column // 2 % 2, column % 2, lor, val]))
counts = real("counts").reshape(6, 8, 6, 8)
np.save("counts.npy", counts)
for name in "delayed", "randoms_mean":
    v = real(name).reshape(6, 8, 6, 8)
    np.save(name + ".npy", v)
    np.save(name + "_large.npy", v * (2 * counts.sum() / v.sum()))
norm = np.ones_like(counts)
np.save("norm.npy", norm)
norm[:2] = 0	# a sixth of the upper head, which has counts
np.save("dead.npy", norm)
np.save("deal.npy", ints("deal"))
mu = np.full((12, 6, 16), .0096, "f4")	# voxels of 1 mm, the image's
def save(name, v, voxel=1., shift=0.):
    v = np.asarray(v, "f4")
    affine = np.diag([voxel, voxel, voxel, 1])
    affine[:3, 3] = -voxel * (np.array(v.shape) - 1) / 2
    affine[0, 3] += shift
    nib.save(nib.Nifti1Image(v, affine), name + ".nii")
save("mu", mu)
save("per_cm", mu * 10)
save("away", mu, shift=1000.)
save("um", mu, voxel=1e-3)
save("short", mu[:6], shift=-3.)
save("air", mu * 0)
END
run srm b.yaml --import rows.npy --share 1 -o b.srm
srm="srm --srm b.srm --data counts.npy --iterations 30"

# ---- what fits ----
# shellcheck disable=SC2086
{
	fits counts $srm
	fits randoms $srm --delayed delayed.npy
	fits additive $srm --additive randoms_mean.npy
	fits efficiencies $srm --norm norm.npy
	fits attenuation,matter $srm --mu mu.nii

	# ---- parts that are more than the whole ----
	refused randoms 'delayed_large.npy: ' $srm --delayed delayed_large.npy
	err_has 'randoms, more than the'
	refused randoms 'of counts.npy that they are a part of' $srm --delayed delayed_large.npy --randoms subtract
	refused additive 'expected counts are to be added to the LORs of counts.npy, which holds' $srm --additive randoms_mean_large.npy

	# ---- factors in another order ----
	doubted efficiencies '% of the counts of counts.npy lie on LORs whose factor is 0' $srm --norm dead.npy

	# ---- the attenuation map ----
	refused attenuation 'per_cm.nii: most of its matter has more than 0.05' $srm --mu per_cm.nii
	refused attenuation 'away.nii: its matter (x' $srm --mu away.nii
	err_has 'does not meet the image'
	refused attenuation "um.nii: its matter is 0.012 mm wide" $srm --mu um.nii
	doubted attenuation 'short.nii: its matter is cut off at x = 0 mm, where the map ends' $srm --mu short.nii
	doubted attenuation 'air.nii: is 0 everywhere: the image is not corrected for attenuation' $srm --mu air.nii
	doubted matter 'of the activity that is seen lies where short.nii has no matter' $srm --mu short.nii

	# ---- an option without effect (idle.sh has the others) ----
	run recon $srm --deal deal.npy --force -o x.nii
	err_has 'warning: --deal has no effect: there is one subset'
	run recon $srm --method osem --subsets 4 --subset-rule random --deal deal.npy --force -o x.nii
	err_has 'warning: --subset-rule has no effect: --deal takes its place'
	expect 2 recon $srm --subset-rule blocks --force -o x.nii
	err_has '--subset-rule is blocks, which is for events; model srm has mod, groups and random'
}
