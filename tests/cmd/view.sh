#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Pictures: what is asked for is drawn, the record says how, and left is left from file to pixel.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

# Images of a hot voxel, with one in the middle, or none; their x axis is stored from right to left.
"$PYTHON" - <<'END'
import nibabel
import numpy as np

affine = np.diag([-4.0, 4.0, 4.0, 1.0])
affine[:3, 3] = [24, -28, -24]
for name, hot, middle in (("hot", 3, 0), ("two", 3, 1), ("none", 0, 0)):
    v = np.zeros((16, 14, 12), "f4")
    v[1, 10, 2] = hot       # at (20, 12, -16) mm: right, front, below
    v[6, 7, 6] = middle     # at (0, 0, 0)
    nibabel.save(nibabel.Nifti1Image(v, affine), name + ".nii")

signed = np.linspace(-1, 2, 600, dtype="f4").reshape(5, 10, 12)
np.save("signed.npy", signed)
signed[2, 5, 3:5] = np.nan, np.inf
np.save("holes.npy", signed)
np.save("flat.npy", np.arange(12, dtype="f4").reshape(3, 4))
np.save("frames.npy", np.stack([np.full((4, 4, 4), k, "f4") for k in (1, 2, 3)]))
np.save("line.npy", np.arange(12, dtype="f4"))
np.save("five.npy", np.zeros((1, 1, 2, 2, 2), "f4"))
END

# ---- kinds, and their records ----
run view hot.nii -o plain.png
[ ! -s err ] || fail "a plain run warned"
for kind in slices montage mip; do
	run view hot.nii -o "$kind.png" --kind "$kind" --map inverted-grey --linear --labels axes
done
run view hot.nii -o all.png --at max --crosshair --radiological --zoom 6.5 --title 'µ = 1' \
	--percent 0,99.5 --json
cp out all.out
run view --like all.png.json -o again.png
same all.png again.png
run view --like all.png.json -o other.png --no-radiological
cmp -s all.png other.png && fail "--no-radiological changed nothing"
run view frames.npy -o frame.png --frame 2 -q
[ ! -s err ] || fail "--quiet is not quiet"
run view flat.npy -o flat.png
err_has 'warning: flat.npy has no voxel size'
run view holes.npy -o holes.png
err_has 'warning: holes.npy: 2 voxels are NaN or infinite; those shown are drawn in magenta'
run view signed.npy -o signed.png --kind montage --axis y --every 3 --columns 2

check "the records do not say what was drawn" <<'END'
from checks import *


def drawn(name):
    return record(name + ".png.json")["results"]["picture"]


all_ = record("all.png.json")
require(all_["verb"] == "view" and all_["inputs"][0]["name"] == "hot.nii", "verb or input")
require(all_["parameters"] == record("all.out")["parameters"], "--json is not the record")
near("point", drawn("all")["point"], [20, 12, -16], 1e-4)
near("pixels per mm", drawn("all")["pixels_per_mm"], 6.5 / 4, 1e-6)
require(drawn("plain")["window"] == [0, 3] and drawn("plain")["panels"] == 3, "plain")
require(drawn("signed")["window"] == [-2, 2] and drawn("signed")["map"] == "blue-red", "signed")
require(drawn("signed")["panels"] == 4 and "pixels_per_voxel" in drawn("signed"), "montage")
require(drawn("frame")["max"] == 3, "frame")
require(drawn("holes")["not_finite"] == 2, "holes")
END

# ---- from file to pixel: against the picture of an empty image, only the voxels differ ----
for image in two none; do
	for turned in '' --radiological; do
		# shellcheck disable=SC2086
		run view $image.nii -o $image$turned.png --kind mip --window 0,3 --zoom 2 $turned
	done
done

check "the hot voxel is not where it must be" <<'END'
import zlib

from checks import *


def unfilter(raw, size):
    """Rows of a PNG of `size` bytes, 3 a pixel, each behind the number of its filter."""
    above, rows = bytes(size + 3), b""      # a row of zeros, and a pixel before each row
    for at in range(0, len(raw), 1 + size):
        kind, row = raw[at], bytearray(3)
        for x, v in enumerate(raw[at + 1:at + 1 + size]):
            a, b, c = row[x], above[x + 3], above[x]
            if kind == 4:   # Paeth
                v += min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            else:
                v += (0, a, b, (a + b) // 2)[kind]
            row.append(v & 255)
        above, rows = row, rows + row[3:]
    return rows


def decode(path):
    data, at, packed = open(path, "rb").read(), 8, b""
    require(data[:8] == b"\x89PNG\r\n\x1a\n", f"{path} is no PNG")
    width, height = (int.from_bytes(data[i:i + 4], "big") for i in (16, 20))
    require(data[24:26] == b"\x08\x02", f"{path} is not RGB of 8 bits")
    while at < len(data):
        size = int.from_bytes(data[at:at + 4], "big")
        packed += data[at + 8:at + 8 + size] if data[at + 4:at + 8] == b"IDAT" else b""
        at += 12 + size
    rows = unfilter(zlib.decompress(packed), 3 * width)
    return np.frombuffer(rows, np.uint8).reshape(height, width, 3).astype(int)


def blobs(differ):
    """Centres (x, y) of the voxels, one in each panel, from left to right."""
    y, x = np.nonzero(differ)
    order = np.argsort(x, kind="stable")
    parts = np.split(order, np.nonzero(np.diff(x[order]) > 1)[0] + 1)
    require([len(p) for p in parts] == [4, 4, 4], "not three voxels of 2 x 2 pixels")
    return np.array([(x[p].mean(), y[p].mean()) for p in parts])


for turned, sign in (("", 1), ("--radiological", -1)):
    two, none = decode(f"two{turned}.png"), decode(f"none{turned}.png")
    differ, bright = (two != none).any(2), two.sum(2)
    hot = differ & (bright == bright[differ].max())
    moved = (blobs(hot) - blobs(differ & ~hot)) * (2, -2)   # mm: 2 pixels are 4 mm
    near(f"coronal, sagittal, transverse {turned}", moved,
         [(sign * 20, -16), (12, -16), (sign * 20, 12)], 1e-9)
END

# ---- refusals ----
expect 2 view plain.nii
err_has '--output is missing'
expect 2 view hot.nii -o x.jpg
err_has 'x.jpg: pictures are written as .png'
expect 2 view hot.nii -o plain.png
err_has 'plain.png exists; --force replaces it'
run view hot.nii -o plain.png --force
expect 3 view missing.nii -o x.png
expect 2 view line.npy -o x.png
err_has 'an array of 1 axes'
expect 2 view five.npy -o x.png
err_has 'an array of 5 axes'
expect 2 view frames.npy -o x.png --frame 3
err_has 'frame 3 of an array with 3'
expect 2 view hot.nii -o x.png --at 1,2
err_has "--at is '1,2', must be 3 numbers X,Y,Z, object, centre or max"
expect 2 view hot.nii -o x.png --at 1000,0,0
err_has 'lies outside the image'
expect 2 view hot.nii -o x.png --window 2,1
err_has '--window is 2,1: the second must be greater'
expect 2 view hot.nii -o x.png --window 0,0
expect 2 view hot.nii -o x.png --percent 0,101
expect 2 view hot.nii -o x.png --percent 0,99 --window 0,1
err_has '--window and --percent exclude each other'
expect 2 view hot.nii -o x.png --map embr
err_has "did you mean 'ember'?"
expect 2 view hot.nii -o x.png --every 3
err_has '--every is for --kind montage'
expect 2 view hot.nii -o x.png --kind montage --at max
err_has '--at is for --kind slices or mip'
expect 2 view hot.nii -o x.png --kind montage --crosshair
expect 2 view hot.nii -o x.png --zoom 900
err_has 'more than 100 million'
[ -z "$(find . -name '*x.png*' -o -name '*x.jpg*')" ] || fail "a refused run left a file"
echo "all passed"
