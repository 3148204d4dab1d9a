#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Pages of `view`: what lies in them are the images' values, and other programs can unpack them.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

"$PYTHON" - <<'END'
import nibabel
import numpy as np

rng = np.random.default_rng(3)


def save(name, v, edge):
    affine = np.diag([edge, edge, edge, 1.0])
    affine[:3, 3] = [-edge * (n - 1) / 2 for n in v.shape[:3]]
    nibabel.save(nibabel.Nifti1Image(v.astype("f4"), affine), name + ".nii")


save("image", rng.random((14, 12, 10)) * 3, 4.0)
save("ct", rng.integers(-1000, 2000, (20, 20, 20)), 2.0)
save("frames", rng.random((6, 5, 4, 3)) - 0.5, 4.0)
holes = rng.random((6, 5, 4))
holes[2, 3, 1] = np.nan
save("holes", holes, 4.0)
np.save("plain.npy", rng.random((4, 5, 6)).astype("f4"))
np.save("line.npy", np.arange(12, dtype="f4"))
END

run view image.nii --overlay ct.nii -o both.html --title 'A & <B>' --window 0.5,2 --map tide --at 3,1,-5
[ ! -s err ] || fail "a plain run warned"
run view frames.nii -o frames.html --frame 2
run view holes.nii -o holes.html
err_has 'warning: holes.nii: 1 voxels are NaN or infinite'
run view plain.npy -o plain.html
err_has 'warning: plain.npy has no voxel size'
run view --like both.html.json -o again.html
for page in both again; do sed 's/on 20[0-9: -]* UTC//' $page.html >$page.text; done
same both.text again.text

check "the pages do not hold what the files do" <<'END'
import base64
import re
import zlib
from checks import *


def unpack(text, volume, number, frame):
    packed = re.search(rf"id='volume-{number}-{frame}'>([^<]*)<", text).group(1)
    raw = np.frombuffer(zlib.decompress(base64.b64decode(packed)), "u1").astype(int)
    if volume["bits"] == 16:
        raw = raw[: raw.size // 2] * 256 + raw[raw.size // 2 :]
    steps = np.where(raw & 1, -(raw >> 1) - 1, raw >> 1)
    codes = np.cumsum(steps) % 2 ** volume["bits"]
    values = volume["offset"][frame] + volume["scale"][frame] * codes.astype(float)
    if volume["not_finite"]:
        values[codes == 2 ** volume["bits"] - 1] = np.nan
    return values.reshape(volume["n"][::-1])


def page(name):
    text = open(name + ".html", encoding="utf-8").read()
    return text, json.loads(re.search("id='viewer-data'>(.*?)</script>", text, re.S).group(1))


def compare(name, files):
    text, data = page(name)
    require(len(data["volumes"]) == len(files), f"{name}: volumes")
    for number, (volume, file) in enumerate(zip(data["volumes"], files)):
        v = np.load(file).T if file.endswith(".npy") else nibabel.load(file).get_fdata()
        for t in range(volume["frames"]):
            one = v[..., t] if v.ndim == 4 else v
            got, bound = unpack(text, volume, number, t).T, 0 if volume["exact"] else 0.5001 * volume["scale"][t]
            require(volume["block"] == [1, 1, 1] and got.shape == one.shape, f"{file}: sizes")
            require(np.array_equal(np.isnan(got), np.isnan(one)), f"{file}: gaps")
            require(np.nanmax(abs(got - one)) <= bound, f"{file}: values")
    return data


both = compare("both", ["image.nii", "ct.nii"])
image, ct = both["volumes"]
require(image["window"] == [0.5, 2] and image["map"] == "tide" and ct["map"] == "grey", "looks")
require(image["bits"] == 16 and ct["exact"] and ct["role"] == "overlay", "codes")
near("place", both["at"], [2, 2, -6], 1e-6)
require(compare("frames", ["frames.nii"])["frame"] == 2, "frame")
compare("holes", ["holes.nii"])
compare("plain", ["plain.npy"])
text, _ = page("both")
require("<h1>A &amp; &lt;B&gt;</h1>" in text and "http-equiv='Content-Security-Policy'" in text, "head")
require(record("both.html.json")["results"]["page"]["voxel"] == [7, 6, 3], "record")
END

# ---- windows, places, frames and letters that nobody named ----
"$PYTHON" - <<'END'
import json

import nibabel
import numpy as np

affine = np.diag([4.0, 4.0, 4.0, 1.0])
body = np.zeros((20, 18, 16), "f4")
body[4:12, 6:14, 5:11] = 1
hot = body.copy()
hot[-1, 0, -1] = 300
below = body - 0.4
late = np.stack([0 * body, body, 3 * body, 2 * body], axis=-1)
for name, v in ("hot", hot), ("heard", below), ("signed", below), ("late", late):
    nibabel.save(nibabel.Nifti1Image(v, affine), name + ".nii")
with open("heard.json", "w") as f:
    json.dump({"verb": "recon", "Units": "absorbed energy"}, f)
END
for image in hot heard signed late; do
	run view $image.nii -o $image.html
	run view $image.nii -o $image.png
done
run view hot.nii --percent 0,100 -o full.html
run view hot.nii --percent 0,100 -o full.png
run view heard.nii --map blue-red -o both-signs.html
run view hot.nii --labels none -o bare.html
run view hot.nii --overlay signed.nii --overlay-map tide --overlay-opacity 0.25 -o tinted.html
check "what a page or a picture chooses is not what it should be" <<'END'
import re
from checks import *


def page(name):
    text = open(name + ".html", encoding="utf-8").read()
    return json.loads(re.search("id='viewer-data'>(.*?)</script>", text, re.S).group(1))


def drawn(name):
    return record(name + ".png.json")["results"]["picture"]


hot, heard, signed, late = (page(name) for name in ("hot", "heard", "signed", "late"))
near("window", hot["volumes"][0]["window"], [0, 1], 1e-6)
near("window of the picture", drawn("hot")["window"], [0, 1], 1e-6)
near("place", hot["at"], [7.5 * 4, 9.5 * 4, 7.5 * 4], 2.01)
near("voxel of the picture", drawn("hot")["voxel"], [7.5, 9.5, 7.5], 0.51)
near("full", page("full")["volumes"][0]["window"], [0, 300], 1e-6)
require([drawn(n)["window_by"] for n in ("hot", "full")] == ["object", "percent"], "who chose")
require(record("hot.html.json")["results"]["page"]["window"] == [0, 1], "the record of a page")
near("full picture", drawn("full")["window"], [0, 300], 1e-6)
for got in heard["volumes"][0], drawn("heard"):
    near("never negative", got["window"], [0, 0.6], 1e-6)
    require(got["map"] == "ember", "never negative: map")
require(heard["volumes"][0]["hides_negative"] and not signed["volumes"][0]["hides_negative"], "what is hidden")
for got in signed["volumes"][0], drawn("signed"), page("both-signs")["volumes"][0]:
    near("signed", got["window"], [-0.6, 0.6], 1e-6)
    require(got["map"] == "blue-red", "signed: map")
require([p["labels"] for p in (hot, heard, page("bare"))] == ["anatomy", "axes", "none"], "labels")
require(late["frame"] == 2, "the frame with the widest window")
near("its window", late["volumes"][0]["window"], [0, 3], 1e-6)
require(page("tinted")["opacity"] == 0.25 and page("tinted")["volumes"][1]["map"] == "tide", "the overlay's look")
END

# ---- refusals ----
expect 2 view image.nii -o new.html --overlay-map tide
err_has '--overlay-map goes with --overlay'
expect 2 view image.nii -o new.html --overlay ct.nii --overlay-opacity 2
expect 2 view image.nii -o both.html
err_has 'both.html exists'
expect 2 view image.nii -o new.html --kind mip
err_has '--kind is for a picture (.png), not for a page'
expect 2 view image.nii -o new.png --overlay ct.nii
err_has '--overlay is for a page (.html), not for a picture'
expect 2 view frames.nii -o new.html --frame 3
err_has '--frame is 3, and frames.nii has 3, from 0'
expect 3 view image.nii -o new.html --at 0,0,500
err_has 'outside image.nii, which reaches x -28 to 28'
expect 3 view image.nii -o new.html --overlay missing.nii
expect 3 view image.nii -o new.html --overlay plain.npy
err_has 'both must have a voxel size, or the same sizes'
expect 3 view line.npy -o new.html
expect 1 view image.nii -o nowhere/new.html
for file in new.html new.html.json new.png; do
	[ ! -e $file ] || fail "a refused view left $file"
done
echo "all passed"
