#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# NIfTI as other programs write it: NIfTI-2 in both byte orders, and oblique images. nibabel writes, and reads what comes out.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

"$PYTHON" - <<'END'
import nibabel
import numpy as np

data = np.random.default_rng(1).random((5, 6, 7)).astype("f4")
np.save("want.npy", data[::-1].T)
mirrored = np.diag([-2, 2.5, 3, 1.0])
mirrored[:3, 3] = [4, -5, -9]
nibabel.save(nibabel.Nifti2Image(data, mirrored), "two.nii")
nibabel.save(nibabel.Nifti2Image(data, mirrored), "two.nii.gz")
head = nibabel.Nifti2Header(endianness=">")
head.set_data_dtype(">f8")
nibabel.save(nibabel.Nifti2Image(data.astype(">f8"), mirrored, head), "two_big.nii")

c, s = np.cos(.2), np.sin(.2)
tilted = np.array([[2 * c, -2 * s, 0, -5], [2 * s, 2 * c, 0, -6], [0, 0, 3, -9], [0, 0, 0, 1.0]])
data[1, 2, 3] = np.nan
nibabel.save(nibabel.Nifti1Image(data, tilted), "tilted.nii")
nibabel.save(nibabel.Nifti2Image(np.stack([data, 2 * data], -1), tilted), "tilted4.nii.gz")
nibabel.save(nibabel.Nifti1Image(data[:4], tilted), "tilted_other.nii")
nibabel.save(nibabel.Nifti1Image(data, np.diag([2, 2, 3, 1.0])), "straight.nii")
END

# ---- NIfTI-2 ----
for file in two.nii two.nii.gz two_big.nii; do
	run info "$file"
	out_has 'voxel_mm 2, 2.5, 3'
	run convert "$file" got.npy --force
	run convert "$file" got.nii --force
	check "$file" "$file" <<-'END'
		from checks import *
		require(np.array_equal(np.load("got.npy"), np.load("want.npy")), "other values than nibabel wrote")
		a, b = nibabel.load(sys.argv[1]), nibabel.load("got.nii")
		near("corner", b.affine @ [0, 0, 0, 1], a.affine @ [4, 0, 0, 1], 1e-6)
	END
	run view "$file" -o got.png --force
done

# ---- oblique ----
for file in tilted.nii tilted4.nii.gz; do
	run info "$file"
	out_has "$file: oblique image"
	out_has 'oblique degrees   11.45916, 11.45916, 0'
	out_has 'first voxel mm    -5, -6, -9'
	for page in png html; do
		run view "$file" -o "tilted.$page" --force
		err_has "$file is oblique by 11.5 degrees. The slices follow the axes of the image."
		[ -s "tilted.$page" ] || fail "no picture"
	done
done
run view tilted.nii --overlay tilted_other.nii -o two.html
expect 3 view tilted.nii --overlay straight.nii -o three.html
err_has 'straight.nii: its axes are tilted against those of tilted.nii (0 and 11.5 degrees off straight)'
expect 3 convert tilted.nii got.npy --force
err_has 'its axes are oblique'
echo "all passed"
