#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sound through tissue from the command line: the same delays by options and by descriptions, what one speed and two make of
# a ring's traces, the speed of the tissue, and all that is refused or warned of.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

ring() { # NAME LINES...: a ring of 64 in water
	printf '%s\n' 'kind: transducers' 'sphere: {radius_mm: 22, rings: 1, views: 64, polar_deg: [90, 90]}' 'speed_mm_per_us: 1.49' \
		'sampling_mhz: 25' 'samples: 900' "${@:2}" >"$1.yaml"
}
ring ring
ring own 'tissue: {circle: [0.7, -0.4, 9], speed_mm_per_us: 1.56}'
ring oval 'tissue: {ellipsoid: [0, 0, 0, 9, 7, 5], rotation: [0, 1, 0, -1, 0, 0, 0, 0, 1], speed_mm_per_us: 1.56}'
circle=(--tissue circle:0.7,-0.4,9)
two=("${circle[@]}" --tissue-speed 1.56)
grid=(--grid 24,24,1 --voxel 0.75)
printf '%s\n' 'shapes:' '  - {type: sphere, centre_mm: [3, 2, 0], radius_mm: 0.8, activity: 1}' '  - {type: sphere, centre_mm: [-4, -3, 0], radius_mm: 0.8, activity: 1}' >balls.yaml
"$PYTHON" - <<'END'
import nibabel
import numpy as np


def save(name, v, voxel=1.):
    v = np.asarray(v, "f4")
    affine = np.diag([voxel] * 3 + [1.])
    affine[:3, 3] = [-voxel * (n - 1) / 2 for n in v.shape[:-4:-1]]
    image = nibabel.Nifti1Image(v.T, affine)
    image.header.set_xyzt_units("mm")
    nibabel.save(image, name)


y, x = np.mgrid[-15:16, -15:16]
inside = np.hypot(x - .7, y + .4) < 9
save("mask.nii", inside[None])
save("map.nii", np.where(inside, 1.56, 1.49)[None])
save("metres.nii", np.where(inside, 1560, 1490)[None])
save("fast.nii", np.where(inside, 12, 1.49)[None])
save("four.nii", np.stack([inside[None]] * 2))
np.save("places.npy", np.array([[3., 2, 0], [-20, 0, 0], [8.5, -3, 0]]))
END

# ---- delays: straight, by options and by the description; single precision; what snell gains ----
run delays ring.yaml "${two[@]}" --points places.npy -o t.npy
run delays own.yaml --points places.npy -o own.npy
run delays own.yaml --points places.npy "${circle[@]}" --tissue-speed 1.6 -o other.npy
run delays ring.yaml "${two[@]}" --points places.npy --single -o single.npy
run delays ring.yaml "${two[@]}" "${grid[@]}" --sound-path snell --transducers 0,17 -o snell.npy --picture snell.png
run delays oval.yaml --points places.npy -o oval.npy
run delays ring.yaml --tissue ellipsoid:0,0,0,7,9,5 --tissue-speed 1.56 --points places.npy -o turned.npy
run delays ring.yaml --tissue sphere:0,0,0,9 --tissue-speed 1.56 --sound-path snell --sound-amplitude spread --points places.npy -o loud.npy
check "delays" <<'END'
from checks import *

t = np.load("t.npy")
require(t.dtype == np.float64 and t.shape == (64, 3), "delays of points")
at = np.load("places.npy")
s = 22 * np.stack([np.cos(np.arange(64) * 2 * np.pi / 64), np.sin(np.arange(64) * 2 * np.pi / 64), np.zeros(64)], 1)
for q in (0, 9, 40):
    for i in range(3):
        u = (np.arange(400000) + .5) / 400000
        way = s[q] + u[:, None] * (at[i] - s[q])
        part = (np.hypot(way[:, 0] - .7, way[:, 1] + .4) < 9).mean()
        near("a straight ray", t[q, i], np.linalg.norm(at[i] - s[q]) * (part / 1.56 + (1 - part) / 1.49), 1e-5)
require((np.load("own.npy") == t).all() and not (np.load("other.npy") == t).any(axis=0)[0], "options before the description")
near("single precision", np.load("single.npy"), t, 3e-4)
snell = np.load("snell.npy")
require(snell.shape == (2, 1, 24, 24), "delays of a grid")
near("turned", np.load("oval.npy"), np.load("turned.npy"), 1e-12)
require(np.load("loud_amplitude.npy").shape == (64, 3), "amplitudes")
r = record("t.npy.json")["results"] if "tissue" in record("t.npy.json").get("results", {}) else record("t.npy.json")
require(r["tissue"]["region"] == "circle:0.7,-0.4,9" and r["tissue"]["speed_mm_per_us"] == 1.56, r)
END
run info own.yaml --json
check "info" <<'END'
import json
o = json.load(open("out"))
assert "circle:0.69999999999999996" in json.dumps(o) or "circle:0.7" in json.dumps(o), o
END

# ---- images: two speeds put spheres where they are; c1 = c0 is no tissue; --like; a mask, a map ----
run simulate ring.yaml balls.yaml "${two[@]}" --sound-path snell --noise 0.02 --seed 3 -o y.npy
fine=(--grid 120,120,1 --voxel 0.15)
run recon ubp y.npy --scanner ring.yaml "${fine[@]}" "${two[@]}" -o two.nii
run recon ubp y.npy --scanner own.yaml "${fine[@]}" -o own.nii
run recon ubp y.npy --scanner ring.yaml "${fine[@]}" --speed 1.52 -o one.nii
run recon ubp y.npy --scanner ring.yaml "${fine[@]}" "${circle[@]}" --tissue-speeds 1.50:1.62:9 -o found.nii
run recon --like two.json -o again.nii
same two.nii again.nii
same two.nii own.nii
sv=(recon svoxel y.npy --scanner ring.yaml "${grid[@]}" "${two[@]}" --sound-path snell --fmax-mhz 0.9 --iterations 3)
for threads in 1 2; do run "${sv[@]}" --threads $threads -o t$threads.nii; done
same t1.nii t2.nii
expect 143 "${sv[@]}" --stop-after 0.0001 -o part.nii
expect 3 "${sv[@]}" --resume --tissue-speed 1.57 -o part.nii
err_has 'checkpoint of other inputs or options'
expect 3 "${sv[@]}" --resume --sound-path straight -o part.nii
run "${sv[@]}" --resume -o part.nii
same part.nii t1.nii
run recon ubp y.npy --scanner ring.yaml "${grid[@]}" -o plain.nii
run recon ubp y.npy --scanner ring.yaml "${grid[@]}" "${circle[@]}" --tissue-speed 1.49 -o alike.nii
for model in ubp "svoxel --iterations 2 --fmax-mhz 3" "sradon --iterations 1"; do
	# shellcheck disable=SC2086 # words of options
	run recon $model y.npy --scanner ring.yaml "${grid[@]}" "${two[@]}" --sound-path snell -o of.nii --force
done
run recon svoxel y.npy --scanner ring.yaml "${grid[@]}" --tissue mask.nii --tissue-speed 1.56 --table-mm 1 --fmax-mhz 3 --iterations 2 -o mask.nii.gz
run recon svoxel y.npy --scanner ring.yaml "${grid[@]}" --speed-map map.nii --table-mm 1 --fmax-mhz 3 --iterations 2 -o map.nii.gz
run recon ubp y.npy --scanner ring.yaml "${grid[@]}" --speed-map metres.nii --sound-path eikonal --table-mm 1 -o eikonal.nii
err_has 'metres.nii: speeds of 100 and more are taken as m/s and divided by 1000'
check "images" <<'END'
from checks import *

balls = [(3, 2), (-4, -3)]


def off(name):
    x = image(name)[0]
    c = (np.arange(120) - 59.5) * .15
    worst = 0
    for bx, by in balls:
        near_it = np.hypot(c[None] - bx, c[:, None] - by) < 1.5
        w = np.where(near_it, np.clip(x, .4 * x[near_it].max(), None) - .4 * x[near_it].max(), 0)
        worst = max(worst, np.hypot((w * c[None]).sum() / w.sum() - bx, (w * c[:, None]).sum() / w.sum() - by))
    return worst


require(off("two.nii") < .02 < .04 < off("one.nii"), "centres: %g and %g mm" % (off("two.nii"), off("one.nii")))
r = record("found.json")["results"]["tissue_speeds"]
near("the tissue's speed", r["peak"], 1.56, .005 * 1.56)
require(len(r["curve"]) == 9, "the curve")
near("alike", image("alike.nii"), image("plain.nii"), 1e-6 * abs(image("plain.nii")).max())
near("mask and map", image("mask.nii.gz"), image("map.nii.gz"), .2 * abs(image("map.nii.gz")).max())
t = record("eikonal.json")["results"] if "tissue" in record("eikonal.json").get("results", {}) else record("eikonal.json")
require(t["tissue"]["path"] == "eikonal" and t["tissue"]["table_mm"] == 1 and t["tissue"]["table_bytes"] > 0, t["tissue"])
END

# ---- warnings ----
run recon ubp y.npy --scanner ring.yaml "${grid[@]}" --tissue circle:60,0,3 --tissue-speed 1.56 -o far.nii
err_has 'no voxel of the image lies in the tissue'
run recon ubp y.npy --scanner ring.yaml "${grid[@]}" --tissue circle:0,0,50 --tissue-speed 1.56 -o all.nii
err_has 'all voxels and transducers lie in the tissue: one speed does the same'
run recon ubp y.npy --scanner ring.yaml "${grid[@]}" "${circle[@]}" --tissue-speed 1.3 --sound-path snell -o slow.nii
err_has 'slow tissue bends sound to a focus'
run recon ubp y.npy --scanner ring.yaml "${grid[@]}" --tissue circle:60,0,3 --tissue-speeds 1.5:1.6:3 -o flat.nii
err_has "so flat a curve does not tell the speed"
run recon ubp y.npy --scanner ring.yaml "${grid[@]}" "${circle[@]}" --tissue-speeds 1.60:1.66:4 -o end.nii
err_has 'the sharpest image is that of the end of --tissue-speeds'

# ---- what is refused ----
no() { # CODE MESSAGE OPTIONS...
	expect "$1" recon ubp y.npy --scanner ring.yaml "${grid[@]}" --band-mhz 0,0 "${@:3}" -o no.nii
	err_has "$2"
}
no 2 "--tissue-speed is missing" "${circle[@]}"
no 2 "--tissue and --speed-map: give one of them" "${two[@]}" --speed-map map.nii
no 2 '--tissue-speed is 0.1, must be between 0.3 and 10' "${circle[@]}" --tissue-speed 0.1
no 3 "map of speeds: voxel" --speed-map fast.nii
no 2 "path snell is for spheres, circles and planes" --tissue ellipse:0,0,9,7 --tissue-speed 1.56 --sound-path snell
no 2 "path snell is for spheres, circles and planes" --tissue mask.nii --tissue-speed 1.56 --sound-path snell
no 2 "path snell is for transducers in water, here all are in the tissue" --tissue circle:0,0,50 --tissue-speed 1.56 --sound-path snell
no 2 "amplitude spread is for path snell" --tissue sphere:0,0,0,9 --tissue-speed 1.56 --sound-amplitude spread
no 2 "--sound-path, --sound-amplitude and --table-mm are for --tissue or --speed-map" --table-mm 1
no 3 "four.nii: an image of 4 axes" --tissue four.nii --tissue-speed 1.56
no 2 "--tissue is 'circle:1,2', must be circle:X,Y,R" --tissue circle:1,2 --tissue-speed 1.56
no 2 "--speeds and --tissue-speeds: give one of them" "${circle[@]}" --speeds 1.4,1.6,3 --tissue-speeds 1.4:1.6:3
no 2 "--tissue-speed and --tissue-speeds: give one of them" "${two[@]}" --tissue-speeds 1.4:1.6:3
expect 4 delays ring.yaml "${two[@]}" --grid 900,900,200 --voxel 0.01 --memory-limit 0.5 -o no.npy
expect 3 simulate ring.yaml balls.yaml --tissue circle:3,2,0.5 --tissue-speed 1.56 -o no.npy
for bad in 'sphere: [0, 0, 0, 9]' 'sphere: [0, 0, 0, 9], plane: [0, 0, 1, 2], speed_mm_per_us: 1.5' 'speed_mm_per_us: 1.5' \
	'sphere: [0, 0, 0, 9], rotation: [1, 0, 0, 0, 1, 0, 0, 0, 1], speed_mm_per_us: 1.5' \
	'ellipsoid: [0, 0, 0, 9, 8, 7], rotation: [1, 0, 0, 0, 1, 0, 0, 1, 1], speed_mm_per_us: 1.5'; do
	ring bad "tissue: {$bad}"
	expect 3 info bad.yaml
done
[ ! -e no.nii ] && [ ! -e no.npy ] || fail "something was written"
