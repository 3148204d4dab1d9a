#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recon --replicates: the image as without, the same bits for any batch and threads and after an interruption, files and
# refusals; measure roi --replicates.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

solid_ring 6 >ring.yaml
run phantom cylinder --grid '12,12,6' --voxel '10,10,10' -o object.nii
run simulate ring.yaml object.nii --counts 6000 --duration-s 60 -o e.Cdh
check "labels" <<'END'
import nibabel as nib, numpy as np
a = nib.load("object.nii")
labels = np.zeros(a.shape, "f4")
labels[5:7, 5:7, 2:4], labels[2:4, 5:7, 2:4] = 1, 3
nib.Nifti1Image(labels, a.affine).to_filename("labels.nii")
nib.Nifti1Image(labels / 2, a.affine).to_filename("halves.nii")
nib.Nifti1Image(0 * labels, a.affine).to_filename("empty.nii")
END

recon=(recon ray --events e.Cdh --sens none --grid '12,12,6' --voxel 10 --method osem --subsets 2 --iterations 2)
with=("${recon[@]}" --replicates 5 --regions labels.nii)
run "${recon[@]}" -o plain.nii
run "${with[@]}" --replicates-save all.nii -o x.nii
err_has 'statistical error alone'
same plain.nii x.nii
run "${with[@]}" --replicates-save all1.nii --replicates-batch 1 --threads 1 -o y.nii
same all.nii all1.nii
same x_sd.nii y_sd.nii
same x_regions.tsv y_regions.tsv
expect 143 "${with[@]}" --replicates-save all2.nii --replicates-batch 2 --stop-after 1e-9 --checkpoint-minutes 0 -o z.nii
for _ in 1 2 3 4 5 6 7 8 9; do
	[ -e z.nii ] || "$ISOTOME" "${with[@]}" --replicates-save all2.nii --replicates-batch 2 --stop-after 1e-9 \
		-o z.nii --resume >out 2>err || [ $? = 143 ] || fail "resume"
done
same all.nii all2.nii
[ ! -e z.nii.replicates ] || fail "z.nii.replicates is left"

check "the files" <<'END'
from checks import *
import nibabel as nib
every = nib.load("all.nii").get_fdata()
near("mean", nib.load("x_mean.nii").get_fdata(), every.mean(-1), 1e-4)
near("sd", nib.load("x_sd.nii").get_fdata(), every.std(-1, ddof=1), 1e-4 * every.max())
labels = nib.load("labels.nii").get_fdata()
table = np.array([every[labels == k].mean(0) for k in (1, 3)])
near("replicates of regions", np.load("x_regions_replicates.npy"), table.T, 1e-4 * table.max())
near("covariance", np.load("x_regions_cov.npy"), np.cov(table), 1e-4 * np.cov(table).max())
rows = np.loadtxt("x_regions.tsv", skiprows=1)
require(list(rows[:, 0]) == [1, 3], "labels")
near("interval", rows[:, 5] - rows[:, 1], 2.7764451 * rows[:, 3], 1e-4 * rows.max())
require(record("x.json")["results"]["replicates"]["regions"][1]["label"] == 3, "the record")
END
run measure roi x.nii --replicates all.nii --sphere '0,0,0,15' --json
out_has '"covariance"'
out_has '"low"'
expect 3 measure roi x.nii --replicates x_sd.nii --sphere '0,0,0,15'
err_has 'must be a 4-D image of 2 replicates or more on the grid of the image'

# refusals leave nothing
expect 2 "${recon[@]}" --replicates 1 -o n.nii
expect 2 "${recon[@]}" --regions labels.nii -o n.nii
err_has 'needs --replicates'
expect 2 "${with[@]}" --frames 0,30,60 -o n.nii
err_has 'not a series'
expect 2 "${with[@]}" --stream -o n.nii
err_has 'needs the events in memory'
expect 2 recon ray --events e.Cdh --grid 12,12,6 --voxel 10 --method svrg --penalty rdp:rel=0.2 --replicates 5 -o n.nii
err_has 'mlem or osem, not svrg'
expect 2 "${with[@]}" --replicates-save n_sd.nii -o n.nii
expect 2 "${with[@]}" -o x.nii
expect 3 "${recon[@]}" --replicates 5 --regions halves.nii -o n.nii
err_has 'labels are whole numbers'
expect 3 "${recon[@]}" --replicates 5 --regions empty.nii -o n.nii
[ -z "$(ls n*.nii* 2>/dev/null)" ] || fail "a refusal leaves files: $(ls n*)"
