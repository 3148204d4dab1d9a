#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# ECAT 7 images: what ecat_file.py writes, against nibabel's own reader; places by hand, and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python
export PYTHONPATH=$PYTHONPATH:$SOURCE/tests/formats

"$PYTHON" - <<'END'
import numpy as np
from ecat_file import write

rng = np.random.default_rng(3)
frames = rng.integers(-200, 32767, (35, 3, 4, 5))
write("many.v", frames, (2.059, 2.059, 2.425), scale=rng.random(35) + .5, calibration=3.25)
write("one.v", frames[:1], (2, 3, 4), scale=[.5])
write("floats.img", frames[:1], (2, 3, 4), scale=[.5], data_type=5)  # no name tells it
write("vax.v", frames[:1], (2, 3, 4), scale=[.5], data_type=2)
write("long.v", 70000 * frames[:1], (2, 3, 4), scale=[.5], data_type=7)
write("sinogram.v", frames[:1], (2, 3, 4), scale=[1], file_type=11)
write("unknown.v", frames[:1], (2, 3, 4), scale=[1], patient=8, unit=b"ECAT counts")
write("offset.v", frames[:1], (2, 3, 4), scale=[1], offset_cm=(1, 2, -3))
write("gates.v", frames[:4], (2, 3, 4), scale=[1, 2, 3, 4], numbers=[1 | 1 << 16 | g << 24 for g in (3, 1, 4, 2)])
write("beds.v", frames[:2], (2, 3, 4), scale=[1, 1], numbers=[1 | 1 << 16 | b << 12 for b in (0, 1)])
write("twice.v", frames[:2], (2, 3, 4), scale=[1, 1], numbers=[1, 1])
hot = np.zeros((1, 3, 4, 5), int)
hot[0, 0, 0, 0] = 7  # X, Y, Z of the scanner run to the left, back and feet of a patient head first, supine
for patient in range(8):
    write(f"lies{patient}.v", hot, (2, 3, 4), scale=[1], patient=patient)
END

# ---- against nibabel, which turns patients who lie head first as is done here ----
for file in many one long; do
	run convert $file.v $file.nii
	check "$file.v" $file <<-'END'
		import warnings
		from checks import *
		import nibabel.ecat
		warnings.simplefilter("ignore")
		e = nibabel.ecat.load(sys.argv[1] + ".v")
		n = e.get_subheaders().get_nframes()
		want = np.stack([np.asarray(e.get_frame(k)) for k in range(n)], -1)
		got = nibabel.load(sys.argv[1] + ".nii")
		x = np.asarray(got.dataobj).reshape(want.shape)
		near("values", x, want, 2e-7 * np.abs(want).max())
		near("affine", got.affine, e.get_subheaders().get_frame_affine(0), 1e-5)
	END
done
run info many.v
out_has 'many.v: image'
out_has 'shape             35, 3, 4, 5'
out_has 'voxel_mm 2.059, 2.059, 2.425'
out_has 'unit              Bq/mL'
out_has 'frame start s     0, 60, 120'
out_has 'patient           head first, supine'
run view many.v -o many.png --frame 34
run convert floats.img floats.npy
run convert vax.v vax.npy
run convert one.v one.npy
same floats.npy one.npy
same vax.npy one.npy
run convert gates.v gates.npy
run measure rmse one.v one.nii --below 1e-9
check "gates in their order" <<'END'
from checks import *
g, one = np.load("gates.npy"), np.load("one.npy") * 2
near("gate 3 comes third, its own factor", g[2], one, 0)
END

# ---- places ----
for k in 0 1 2 3 4 5 6 7; do run convert lies$k.v lies$k.nii; done
check "how the patient lies" <<'END'
from checks import *
# which corner is the first voxel of the file, towards R, A, S
corner = ["+--", "--+", "-+-", "+++", "---", "-++", "++-", "+-+"]
for k, want in enumerate(corner):
    img = nibabel.load(f"lies{k}.nii")
    at = np.argwhere(np.asarray(img.dataobj) == 7)
    require(len(at) == 1, f"{k}: {len(at)} voxels")
    world = img.affine @ [*at[0], 1]
    got = "".join("+" if v > 0 else "-" for v in world[:3])
    require(got == want, f"patient orientation {k}: the first voxel is at {got}, expected {want}")
    sizes = (3, 2, 4) if k >= 4 else (2, 3, 4)
    near(f"{k}: voxels", img.header.get_zooms()[:3], sizes, 1e-6)
END
run info offset.v
out_has 'centre_mm -10, -20, 30'
run info unknown.v
out_has 'the file does not say how the patient lies; head first, supine is assumed'
out_has 'unit              ECAT counts'

# ---- what is refused ----
refused() { # MESSAGE FILE
	expect 3 convert "$2" x.npy
	err_has "$1"
}
refused 'sinogram.v: file type 11 (a 3-D sinogram), an ECAT 7 image (6 or 7) was expected' sinogram.v
"$PYTHON" - <<'END'
import struct
b = bytearray(open("one.v", "rb").read())
struct.pack_into(">i", b, 512 + 12, 31)
for k in range(31):
    struct.pack_into(">4i", b, 512 + 16 + 16 * k, k + 1, 3, 4, 1)
open("over.v", "wb").write(b)
b = bytearray(open("many.v", "rb").read())
b[512 + 16 + 16 + 4:512 + 16 + 16 + 8] = b[512 + 16 + 4:512 + 16 + 8]  # the second frame is where the first is
open("same.v", "wb").write(b)
END
refused 'over.v: 31 frames lie over one another' over.v
refused 'same.v: two frames lie over one another: from byte 1024 on and from byte 1024 on, of 632 bytes each' same.v
refused 'beds.v: several bed positions' beds.v
refused 'twice.v: frame 1 gate 0 is there twice' twice.v
head -c 4096 /dev/zero >zeros.v
refused 'zeros.v: no ECAT 7 file: does not begin with MATRIX7; of an Interfile image name the .hv header' zeros.v
for bytes in 100 600 1030 1600; do
	head -c $bytes one.v >cut.v
	refused 'cut.v: ' cut.v
done
"$PYTHON" - <<'END'
import struct
good = open("one.v", "rb").read()
for name, at, form, value in (("type", 1024, ">h", 9), ("size", 1028, ">h", -4), ("scale", 1050, ">f", float("nan")),
                              ("used", 524, ">i", 32), ("place", 532, ">i", 1 << 30), ("voxel", 1058, ">f", 0.0),
                              ("loop", 516, ">i", 3), ("calibration", 144, ">f", -2.0)):
    b = bytearray(good)
    struct.pack_into(form, b, at, value)
    open(f"bad_{name}.v", "wb").write(b)
END
refused 'data type 9' bad_type.v
refused 'axis 1 has -4 voxels' bad_size.v
refused 'scale factor nan' bad_scale.v
refused 'calibration factor -2' bad_calibration.v
refused 'has 32 entries, at most 31' bad_used.v
refused 'its subheader is at byte' bad_place.v
refused 'voxels of 0 mm' bad_voxel.v
refused 'bad_loop.v: ' bad_loop.v
[ ! -e x.npy ] || fail "a refused run left a file"
echo "all passed"
