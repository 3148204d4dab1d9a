#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Files in and out, seen by NumPy and nibabel: shape, place, values, byte order, orientation.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

# ---- what the program writes: odd and even sizes, anisotropic voxels, grids off centre ----
write() { # NAME GRID VOXEL CENTRE
	local suffix
	for suffix in nii nii.gz npy raw; do
		mkdir -p "$1_$suffix"
		run phantom spheres --grid "$2" --voxel "$3" --centre "$4" -o "$1_$suffix/x.$suffix"
	done
	check "grid $2, voxel $3, centre $4" "$@" <<-'END'
		from checks import *
		name = sys.argv[1]
		n, voxel, centre = (np.array(eval(a), float) for a in sys.argv[2:])
		shape = tuple(int(v) for v in n)
		affine = np.diag([*voxel, 1])
		affine[:3, 3] = centre - (n - 1) / 2 * voxel

		npy = np.load(f"{name}_npy/x.npy")
		require(npy.dtype == "<f4" and npy.flags.c_contiguous, f".npy of {npy.dtype}")
		require(npy.shape == shape[::-1], f".npy of shape {npy.shape}")
		require(npy.max() > npy.min(), "the image is blank")
		for suffix in "nii", "nii.gz":
		    img = nibabel.load(f"{name}_{suffix}/x.{suffix}")
		    require(img.shape == shape, f".{suffix} of shape {img.shape}")
		    require(img.get_data_dtype() == "<f4", f".{suffix} of {img.get_data_dtype()}")
		    require(img.header.get_xyzt_units()[0] == "mm", "lengths are not mm")
		    for form in img.get_sform(coded=True), img.get_qform(coded=True):
		        require(form[1] > 0, f".{suffix} without sform or qform")
		        near(f".{suffix}: affine", form[0], affine, 1e-5)
		    near(f".{suffix}: zooms", img.header.get_zooms(), voxel, 1e-5)
		    near(f".{suffix}: display range",
		         [img.header["cal_min"], img.header["cal_max"]], [npy.min(), npy.max()], 0)
		    require(np.array_equal(np.asarray(img.dataobj).T, npy), f".{suffix}: other values")
		raw = record(f"{name}_raw/x.raw.json")["array"]
		require(raw["byte_order"] == "little" and raw["data_file"] == "x.raw", f"{raw}")
		near("raw: voxel", raw["voxel_mm"], voxel, 0)
		near("raw: centre", raw["centre_mm"], centre, 0)
		v = np.fromfile(f"{name}_raw/x.raw", raw["type"]).reshape(raw["shape"])
		require(np.array_equal(v, npy), "raw: other values")
	END
}
write odd 31,23,19 10.5,9,8 0,0,0
write even 32,24,18 9,10.25,11 0,0,0
write off 30,21,17 9,10,12 13.5,-27.25,41
write flat 33,1,24 9,8,10 -4,0.125,2

# ---- round trips: the same bytes come back, whatever lies between ----
formats=(npy nii nii.gz raw)
for a in "${formats[@]}"; do
	for b in "${formats[@]}"; do
		mkdir -p "trip/$a/$b"
		run convert "off_$a/x.$a" "trip/$a/$b/x.$b" --voxel 9,10,12 --centre 13.5,-27.25,41
		[ "$b" = nii.gz ] || same "off_$b/x.$b" "trip/$a/$b/x.$b"
		mkdir "trip/$a/$b/back"
		run convert "trip/$a/$b/x.$b" "trip/$a/$b/back/x.nii" --voxel 9,10,12 --centre 13.5,-27.25,41
		same off_nii/x.nii "trip/$a/$b/back/x.nii"
	done
done
# a file's own grid travels without being named
for a in nii.gz raw; do
	mkdir "trip/$a/own"
	run convert "off_$a/x.$a" "trip/$a/own/x.nii"
	same off_nii/x.nii "trip/$a/own/x.nii"
done

# ---- what others write ----
"$PYTHON" - <<'END'
import json
import nibabel
import numpy as np

v = np.random.default_rng(1).integers(0, 2000, (5, 6, 7)).astype(float)  # (nz, ny, nx)
affine = np.diag([2, 3, 4, 1.])
affine[:3, 3] = 10, -20, 30
np.save("want.npy", v.astype("<f4"))

for code in "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8":
    for order in "<", ">":
        w = v % 100 if code == "i1" else v
        np.save(f"type_{'big' if order == '>' else 'little'}_{code}.npy", w.astype(order + code))
np.save("fortran.npy", np.asfortranarray(v.astype("<f4")))
np.save("bool.npy", v > 1000)

nibabel.save(nibabel.Nifti1Image(v.T.astype("<f4"), affine), "plain.nii")
big = nibabel.Nifti1Image(v.T.astype(">f4"), affine, nibabel.Nifti1Header(endianness=">"))
nibabel.save(big, "big.nii")
nibabel.save(nibabel.Nifti1Image(v.T.astype(">i2"), affine, big.header), "big_int.nii.gz")

# int16 with slope and intercept: value = 0.5 * stored + 7
nibabel.save(nibabel.Nifti1Image(((v.T - 7) / .5).astype("<i2"), affine), "slope.nii")
with open("slope.nii", "r+b") as f:
    f.seek(112)
    f.write(np.array([.5, 7], "<f4").tobytes())

# the same image with x stored from the left, with y and z too, and with axes in another order
ornt = {"las": [[0, -1], [1, 1], [2, 1]], "lpi": [[0, -1], [1, -1], [2, -1]],
        "sar": [[2, -1], [1, 1], [0, 1]], "pil": [[1, -1], [2, -1], [0, -1]]}
for name, o in ornt.items():
    img = nibabel.load("plain.nii").as_reoriented(np.array(o))
    assert not np.allclose(img.affine, affine)
    nibabel.save(img, f"{name}.nii.gz")
# a qform alone, and lengths in metres
for name, unit, factor in ("qform.nii", "mm", 1), ("metre.nii", "meter", 1e-3):
    img = nibabel.Nifti1Image(v.T.astype("<f4"), None)
    transform = affine.copy()
    transform[:3] *= factor
    img.header.set_qform(transform, code=1)
    img.header.set_sform(None, code=0)
    img.header.set_xyzt_units(unit)
    nibabel.save(img, name)

w = v.astype(">f8")
w.tofile("mine.bin")
with open("mine.json", "w") as f:
    json.dump({"version": 1, "data_file": "mine.bin", "type": "float64", "byte_order": "big",
               "shape": v.shape, "voxel_mm": [2, 3, 4], "centre_mm": [16, -12.5, 38]}, f)
END
for file in plain.nii big.nii big_int.nii.gz slope.nii las.nii.gz lpi.nii.gz sar.nii.gz pil.nii.gz \
	qform.nii metre.nii mine.json; do
	mkdir "read_$file"
	run convert "$file" "read_$file/x.npy"
	run convert "$file" "read_$file/x.nii"
	check "$file" "read_$file" <<-'END'
		from checks import *
		want = np.load("want.npy")
		require(np.array_equal(np.load(sys.argv[1] + "/x.npy"), want), "values differ")
		img = nibabel.load(sys.argv[1] + "/x.nii")
		near("affine", img.affine, [[2, 0, 0, 10], [0, 3, 0, -20], [0, 0, 4, 30], [0, 0, 0, 1]], 1e-5)
		require(np.array_equal(np.asarray(img.dataobj).T, want), "values of the NIfTI file differ")
	END
done
for file in type_*.npy fortran.npy bool.npy; do
	run convert "$file" "read_$file"
done
check "NumPy's types" <<'END'
from checks import *
files = [f"type_{o}_{c}.npy" for o in ("little", "big")
         for c in ("i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")]
for name in files + ["fortran.npy", "bool.npy"]:
    got = np.load("read_" + name)
    require(got.dtype == "<f4" and np.array_equal(got, np.load(name)), f"{name}: values differ")
END
# an oblique image is refused, not turned
"$PYTHON" - <<'END'
import nibabel
import numpy as np
c, s = np.cos(.2), np.sin(.2)
affine = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
nibabel.save(nibabel.Nifti1Image(np.ones((4, 4, 4), "f4"), affine), "oblique.nii")
END
expect 3 convert oblique.nii oblique.npy
err_has 'oblique'

# ---- arrays that are no images ----
arange() { # SHAPE FILE
	"$PYTHON" -c "import numpy as np; s = ($1); np.save('$2', 1.5 * np.arange(np.prod(s)).reshape(s))"
}
check_dims() { # SHAPE
	arange "$1" dims.npy
	rm -rf dims && mkdir dims
	run convert dims.npy dims/x.raw
	run convert dims/x.raw dims/x.npy
	check "shape $1" <<-'END'
		from checks import *
		a, b = np.load("dims.npy"), np.load("dims/x.npy")
		require(a.shape == b.shape and np.array_equal(a, b), "raw and back is another array")
	END
}
check_dims 17,
check_dims 4,5
check_dims 2,3,4,5
check_dims 2,1,3,1,2,2,1,2
arange 2,3,4,5 frames.npy
run convert frames.npy frames.nii
check "four dimensions" <<'END'
from checks import *
img = nibabel.load("frames.nii")
require(img.shape == (5, 4, 3, 2), f"shape {img.shape}")
require(np.array_equal(np.asarray(img.dataobj).T, np.load("frames.npy")), "values differ")
END

# ---- complex numbers: no image, and no rows of events ----
"$PYTHON" -c "import numpy as np
np.save('complex.npy', np.ones((6, 8), 'c8'))
np.save('rows.npy', np.ones((4, 3), 'c16'))"
for call in 'convert complex.npy complex.nii --voxel 1' 'convert complex.npy complex.raw' \
	'view complex.npy -o complex.png' 'convert rows.npy rows.lmdT'; do
	# shellcheck disable=SC2086
	expect 3 $call
	err_has '.npy: complex elements of type '
done
run info complex.npy
out_has 'array of complex pairs'

# ---- events ----
run convert "$TEST_DATA/listmode/lors.lmdT" lors.npy
check "events as an array" "$TEST_DATA/listmode/lors.lmdT" <<'END'
from checks import *
want = np.fromfile(sys.argv[1], "<f4").reshape(-1, 7)
want[:, 6] = -want[:, 6]  # t1 - t2
require(np.array_equal(np.load("lors.npy"), want), "columns are not those of the file")
END
echo "all passed"
