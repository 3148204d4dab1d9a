#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome nema on simulated scans whose truth is known: rates, sensitivity, resolution; the NU 4 phantom; pages; what is
# refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >ring.yaml <<'E'
kind: cylinder
name: small test ring
radius_mm: 100
rings: 8
ring_pitch_mm: 4
crystals_per_ring: 160
crystal_mm: [3.5, 3.8, 10]
min_crystal_distance: 20
pair_weight: solid-angle
time: {coincidence_ns: 4}
tof: {fwhm_ps: 250}
energy: {window_kev: [435, 650], resolution: 0.12}
E

# ---- counting: a line in a cylinder of water, with scatter of all orders, against what the simulation knows ----
cat >line.yaml <<'E'
shapes:
  - {type: cylinder, radius_mm: 40, length_mm: 60, activity: 0, mu_per_mm: 0.0096}
  - {type: cylinder, centre_mm: [18, 0, 0], radius_mm: 1.6, length_mm: 56, activity: 1}
E
expect 0 phantom line.yaml -o line.nii --mu mu.nii --voxel 2,2,4
for k in 1 2 3; do
	expect 0 simulate ring.yaml line.nii --mu mu.nii --physics --counts "$(size $((120000 / k)) $((6000 / k)))" \
		--randoms "0.$((5 / k))" --duration-s 100 --seed $k -o e$k.lmdT --delayed d$k.lmdT --truth t$k.npy
done
cat >series.yaml <<'E'
scanner: ring.yaml
isotope: F-18
activity_mbq: 40
activity_at: 2026-11-19T09:00:00
phantom: {volume_ml: 300, cut_mm: 48, strip_mm: 12}
low: [3]
runs:
  - {events: e1.lmdT, delayed: d1.lmdT, truth: t1.npy, start: "2026-11-19T09:00:00", duration_s: 100}
  - {events: e2.lmdT, delayed: d2.lmdT, truth: t2.npy, start: "2026-11-19T11:00:00", duration_s: 100}
  - {events: e3.lmdT, delayed: d3.lmdT, truth: t3.npy, start: "2026-11-19T13:00:00", duration_s: 100}
E
expect 0 nema counting series.yaml --json -o counting.html
cp out counting.json
expect 0 nema counting series.yaml --threads 2
cp out again.json
"$PYTHON" - "$(size 0.02 0.06)" <<'E' || fail "counting"
import json
import sys

r = json.load(open("counting.json"))["results"]
assert r == json.load(open("again.json"))["results"], "threads"
c, rates = r["counting"], r["counting"]["with_delayed"]
for sf, true, error in zip(rates["sf"], c["true_sf"], rates["sf_err"]):
    assert abs(sf - true) < float(sys.argv[1]), (sf, true)
    assert 0 < error < 0.1
for total, trues, scatter, randoms in zip(*(rates[k] for k in ("total", "trues", "scatter", "randoms"))):
    assert abs(total - trues - scatter - randoms) < 1e-9 * total
assert c["A_MBq"][0] > c["A_MBq"][1] > c["A_MBq"][2]
assert not c["peak_trues"]["inside"]
for fwhm, error in zip(r["tof"]["fwhm_ps"], r["tof"]["fwhm_err_ps"]):
    assert abs(fwhm - 250) < 5 * error + 5, (fwhm, error)
E
for text in 'After NEMA NU 2-2018' '2R-NECR' 'peak not reached' 'Time resolution' xxh64; do
	grep -qF "$text" counting.html || fail "counting.html lacks $text"
done
! grep -qi compliant counting.html || fail "a page says compliant"
sed 's/delayed: d[123].lmdT/delayed: none/' series.yaml >without.yaml
expect 0 nema counting without.yaml
"$PYTHON" -c 'import json,sys
c = json.load(open("out"))["results"]["counting"]
sys.exit("with_delayed" in c or len(set(c["without"]["sf"])) != 1)' || fail "counting without delayeds"

# ---- sensitivity: aluminium about a line, against the same line without any ----
for k in 0 1 2 3; do
	mu=0.0231
	[ $k != 0 ] || mu=0.000001
	cat >sleeve.yaml <<E
shapes:
  - {type: cylinder, radius_mm: $((k ? 250 * k : 50))e-2, length_mm: 60, activity: 0, mu_per_mm: $mu}
  - {type: cylinder, radius_mm: 0.5, length_mm: 40, activity: 1, mu_per_mm: 0}
E
	expect 0 phantom sleeve.yaml -o s.nii --mu m.nii --grid 41,41,16 --voxel 0.4,0.4,4 --force
	expect 0 simulate ring.yaml s.nii --mu m.nii --physics --decays "$(size 3000000 20000)" --seed 1$k -o s$k.npy
done
cat >sleeves.yaml <<E
scanner: ring.yaml
half_life_s: 1e12
activity_mbq: $(size 3 0.02)
activity_at: 0
runs:
  - {events: s1.npy, delayed: none, start: 0, duration_s: 1, wall_mm: 2}
  - {events: s2.npy, delayed: none, start: 2, duration_s: 1, wall_mm: 4.5}
  - {events: s3.npy, delayed: none, start: 4, duration_s: 1, wall_mm: 7}
E
expect 0 nema sensitivity sleeves.yaml --json -o sensitivity.html
cp out sensitivity.json
"$PYTHON" - "$(size 3000000 20000)" "$(size 0.01 0.1)" <<'E' || fail "sensitivity"
import json
import sys

import numpy as np

s = json.load(open("sensitivity.json"))["results"]["sensitivity"]
true = len(np.load("s0.npy")) / float(sys.argv[1]) * 1e6
assert abs(s["S_cps_per_MBq"] / true - 1) < float(sys.argv[2]), (s["S_cps_per_MBq"], true)
assert abs(s["S_cps_per_MBq"] - true) < 5 * s["err"]
assert abs(sum(s["profile"]) / s["S_cps_per_MBq"] - 1) < 1e-9 and len(s["profile"]) == 15
E

# ---- sensitivity of a point: what each step counted, over a background that counts everywhere ----
cat >everywhere.yaml <<'E'
shapes:
  - {type: cylinder, radius_mm: 40, length_mm: 30, activity: 1}
E
expect 0 phantom everywhere.yaml -o everywhere.nii --voxel 2,2,2
expect 0 simulate ring.yaml everywhere.nii --counts "$(size 60000 6000)" --seed 31 -o empty.npy
expect 0 simulate ring.yaml everywhere.nii --counts "$(size 6000 600)" --seed 32 -o noise.npy
for z in -8 0 10; do
	expect 0 phantom point --at 0,0,$z --grid 3,3,1 --voxel 0.2,0.2,0.2 --centre 0,0,$z -o at.nii --force
	expect 0 simulate ring.yaml at.nii --counts "$(size $((50000 - 2000 * ${z#-})) $((5000 - 200 * ${z#-})))" --seed 33 -o at$z.npy
	"$PYTHON" -c "import numpy as np; np.save('step$z.npy', np.concatenate([np.load('at$z.npy'), np.load('noise.npy')]))"
done
cat >point.yaml <<'E'
scanner: ring.yaml
isotope: Na-22
activity_mbq: 0.5
activity_at: 0
background: {events: empty.npy, delayed: none, duration_s: 100}
runs:
  - {events: step-8.npy, delayed: none, start: 0, duration_s: 10, z_mm: -8}
  - {events: step0.npy, delayed: none, start: 10, duration_s: 10, z_mm: 0}
  - {events: step10.npy, delayed: none, start: 20, duration_s: 10, z_mm: 10}
E
expect 0 nema sensitivity point.yaml --json -o point.html
cp out steps.json
"$PYTHON" - <<'E' || fail "sensitivity of a point"
import json

import numpy as np

s = json.load(open("steps.json"))["results"]["point_sensitivity"]
empty = len(np.load("empty.npy")) / 100
for k, z in enumerate(s["z_mm"]):
    true = len(np.load(f"at{z:g}.npy")) / 10 / 0.5
    # rows of few counts keep the noise about their largest bin
    assert abs(s["S_cps_per_MBq"][k] - true) < 5 * s["err"][k] + 0.05 * empty / 0.5, (z, s["S_cps_per_MBq"][k], true)
    assert abs(s["percent"][k] / (s["S_cps_per_MBq"][k] / 1e4 / 0.906) - 1) < 1e-12
    assert 0.1 < s["background_cps"][k] / empty < 0.5, s["background_cps"]
(mean,) = s["means"]  # the ring is shorter than 70 mm
assert mean["length_mm"] is None and mean["steps"] == 3
assert abs(mean["S_cps_per_MBq"] / np.mean(s["S_cps_per_MBq"]) - 1) < 1e-12
E
grep -qF 'Sensitivity along the axis' point.html || fail "point.html lacks its curve"
sed 's/lengths_mm: .*/lengths_mm: [16, 70]/' "$SOURCE/examples/nema/standards.yaml" >short.yaml
expect 0 nema sensitivity point.yaml --standard short.yaml
"$PYTHON" - <<'E' || fail "sensitivity of a point over a middle length"
import json

s = json.load(open("out"))["results"]["point_sensitivity"]
whole, middle = s["means"]
assert whole["length_mm"] is None and middle["length_mm"] == 16
assert middle["steps"] == 2  # at -8 and 0, not at 10
assert abs(middle["S_cps_per_MBq"] / (sum(s["S_cps_per_MBq"][:2]) / 2) - 1) < 1e-12
assert abs(middle["err"] / ((s["err"][0] ** 2 + s["err"][1] ** 2) ** 0.5 / 2) - 1) < 1e-12
E

# ---- resolution: filtered back-projection of a point, by both commands; an image of the same point ----
expect 0 phantom point --at 30,0,2 --grid 41,41,11 --voxel 1,1,1 --centre 30,0,2 -o point.nii
expect 0 simulate ring.yaml point.nii --counts "$(size 120000 20000)" --seed 5 -o point.lmdT
expect 0 nema resolution point.lmdT --scanner ring.yaml --voxel-mm 1 --json -o resolution.html
cp out resolution.json
expect 0 recon ray --events point.lmdT --scanner ring.yaml --method fbp --grid 41,41,15 --voxel 1,1,2 --centre 30.3,0,0 -o fbp.nii
expect 0 recon ray --events point.lmdT --scanner ring.yaml --method fbp --grid 41,41,15 --voxel 1,1,2 --centre 30.3,0,0 --threads 2 -o two.nii
expect 0 measure diff fbp.nii two.nii --below 1e-30
expect 0 recon ray --events point.lmdT --scanner ring.yaml --method fbp --window hann:0.6 --grid 41,41,15 --voxel 1,1,2 --centre 30.3,0,0 -o smooth.nii
expect 0 nema resolution fbp.nii
cp out image.json
for name in fbp smooth; do
	expect 0 measure fwhm $name.nii --at 30.3,0,2 --window-fwhm 2 --json
	cp out $name-widths.json
done
"$PYTHON" - <<'E' || fail "resolution"
import json

import nibabel

p = json.load(open("resolution.json"))["results"]["resolution"]["points"][0]
i = json.load(open("image.json"))["results"]["resolution"]
m = json.load(open("fbp-widths.json"))["results"]
wide = json.load(open("smooth-widths.json"))["results"]
assert p["method"] == "fbp" and i["points"][0]["method"] == "image" and not i["analytic"]
assert abs(p["radius_mm"] - 30.2) < 0.4 and abs(p["place_mm"][1]) < 0.1 and p["place_mm"][2] == 2
assert p["nominal_radius_mm"] == 10
for axis, way in ("x", "radial"), ("y", "tangential"), ("z", "axial"):
    assert abs(p[way]["fwhm_mm"] / m[axis]["fwhm_mm"] - 1) < 0.08, (way, p[way], m[axis])
    assert abs(i["points"][0][way]["fwhm_mm"] / m[axis]["fwhm_mm"] - 1) < 1e-3
    assert 1.5 < p[way]["fwhm_mm"] < 6
assert wide["x"]["fwhm_mm"] > 1.2 * m["x"]["fwhm_mm"]
assert nibabel.load("fbp.nii").get_fdata().min() < 0    # negative values stay
E
grep -qF 'not NEMA' resolution.html && fail "the title of an analytic image"

# ---- the NU 4 phantom; one page of all ----
"$PYTHON" - "$TEST_DATA/nema" <<'E'
import json
import sys

import nibabel
import numpy as np

x = np.load(sys.argv[1] + "/nu4_image.npy")
affine = np.diag([1., 1, 1, 1])
affine[:3, 3] = [-(n - 1) / 2 for n in x.T.shape]
image = nibabel.Nifti1Image(x.T, affine)
image.header.set_xyzt_units("mm")
nibabel.save(image, "mouse.nii")
q = json.load(open(sys.argv[1] + "/expected.json"))["nu4"]
json.dump({"uniform": {"centre_mm": [0, 0, q["z_uniform"]]},
           "rods": {"z_mm": q["z_rods"], "list": [{"centre_mm": r[:2], "diameter_mm": r[2]} for r in q["rods"]]},
           "cold": {"z_mm": q["z_cold"], "list": [{"centre_mm": c, "name": n} for c, n in zip(q["cold"], ("water", "air"))]}},
          open("places.json", "w"))
E
expect 0 nema quality mouse.nii --mouse places.json --json -o mouse.html
cp out mouse.json
"$PYTHON" - "$TEST_DATA/nema/expected.json" <<'E' || fail "quality"
import json
import sys

r, want = json.load(open("mouse.json"))["results"]["nu4"], json.load(open(sys.argv[1]))["nu4"]["result"]
for rod, (rc, std) in zip(r["rods"], want["rods"]):
    assert abs(rod["rc"] / rc - 1) < 1e-9 and abs(rod["std_percent"] / std - 1) < 1e-9
for chamber, (sor, std) in zip(r["cold"], want["cold"]):
    assert abs(chamber["sor"] / sor - 1) < 1e-9 and abs(chamber["std_percent"] / std - 1) < 1e-9
E
expect 0 phantom spheres -o spheres.nii --voxel 4
cat >iec.yaml <<'E'
spheres: [{centre_mm: [57.2, 0, 0], diameter_mm: 10, ratio: 4}, {centre_mm: [-57.2, 0, 0], diameter_mm: 22, ratio: 4}]
background: [{centre_mm: [106, 36]}, {centre_mm: [-102, 44]}]
slices_mm: [-10, 0, 10]
E
expect 0 measure nema spheres.nii --spheres iec.yaml --json
cp out measured.json
expect 0 nema quality spheres.nii --spheres iec.yaml --json -o spheres.html
"$PYTHON" -c 'import json,sys
a, b = (json.load(open(f))["results"] for f in ("measured.json", "out"))
sys.exit([s["contrast_percent"] for s in a["spheres"]] != [s["contrast_percent"] for s in b["quality"]["spheres"]])' ||
	fail "quality is not that of measure nema"
sed 's/57.2, 0, 0/54.2, 1, 0/; s/-57.2, 0, 0/-60.2, 1, 0/; $ a places: auto' iec.yaml >auto.yaml
expect 0 nema quality spheres.nii --spheres auto.yaml --json
"$PYTHON" -c 'import json,sys
q = json.load(open("out"))["results"]["quality"]
sys.exit(max(abs(a - b) for a, b in zip(q["moved_mm"], (3, -1, 0))) > 0.5 or abs(q["turned_deg"]) > 0.5)' ||
	fail "the spheres were not found"
sed 's/auto/here/' auto.yaml >bad.yaml
expect 3 measure nema spheres.nii --spheres bad.yaml
err_has "places must be auto"
expect 0 nema all counting.json sensitivity.json resolution.json mouse.json --title 'A small ring' -o all.html
expect 0 report --nema counting.json mouse.json -o report.html
for text in 'A small ring' 'Sensitivity, line at 0 mm' 'Spatial resolution' 'Spill-over ratio' 'Time resolution'; do
	grep -qF "$text" all.html || fail "all.html lacks $text"
done

# ---- accuracy: images whose errors are known ----
expect 0 phantom line.yaml -o one.nii --grid 100,100,10 --voxel 2,2,4
"$PYTHON" - <<'E'
import nibabel
import numpy as np

x = nibabel.load("one.nii")
for k, share in enumerate((1, 1, 1, 0.9)):
    nibabel.save(nibabel.Nifti1Image(np.full(x.shape, share * 2. ** k, "f4"), x.affine, x.header), f"a{k}.nii")
E
for k in 0 1 2 3; do echo "  - {image: a$k.nii, start: $((1000 * (3 - k))), duration_s: 1}"; done >runs
{
	printf 'half_life_s: 1000\nactivity_mbq: 80\nactivity_at: 0\nruns:\n'
	cat runs
} >accuracy.yaml
expect 0 nema accuracy accuracy.yaml
"$PYTHON" -c 'import json,sys
a = json.load(open("out"))["results"]["accuracy"]
got = a["least_percent"] + a["most_percent"]
sys.exit(any(abs(g - w) > 1e-4 for g, w in zip(got, [0, 0, 0, -10] * 2)))' || fail "accuracy"

# ---- refused, in one line ----
refused() {
	local code=$1 text=$2
	shift 2
	expect "$code" "$@"
	grep -qF -e "$text" err || fail "isotome $*: no '$text'"
}
grep -v isotope series.yaml >broken.yaml
refused 3 'half life' nema counting broken.yaml
sed 's/, duration_s: 100//' series.yaml >broken.yaml
refused 3 'duration_s' nema counting broken.yaml
sed 's/start: "2026-11-19T11:00:00", //' series.yaml >broken.yaml
refused 3 'the run has no start' nema counting broken.yaml
sed 's/low: \[3\]/low: [4]/' series.yaml >broken.yaml
refused 3 'low must be' nema counting broken.yaml
sed 's/"2026-11-19T11:00:00"/7200/' series.yaml >broken.yaml
refused 3 'one kind' nema counting broken.yaml
grep -v wall_mm:\ 4.5 sleeves.yaml | grep -v wall_mm:\ 7 >broken.yaml
refused 3 '1 sleeves' nema sensitivity broken.yaml
sed 's/, z_mm: 10/, wall_mm: 10/' point.yaml >broken.yaml
refused 3 'all z_mm' nema sensitivity broken.yaml
sed 's/, z_mm: 10//' point.yaml >broken.yaml
refused 3 'either wall_mm' nema sensitivity broken.yaml
sed 's/z_mm: -8/z_mm: 8/' point.yaml >broken.yaml
refused 3 'most counts lie at -8' nema sensitivity broken.yaml
sed 's/^runs:/background: {events: empty.npy, duration_s: 1}\nruns:/' sleeves.yaml >broken.yaml
refused 3 'goes with sensitivity of a point' nema sensitivity broken.yaml
sed 's/30, 0/300, 0/; s/"centre_mm": \[6/"centre_mm": [60/' places.json >far.json
refused 3 'a rod at (60' nema quality mouse.nii --mouse far.json
refused 2 '--spheres or --mouse' nema quality mouse.nii
refused 2 'takes one file' nema counting series.yaml series.yaml
refused 2 '--subsets does not go with --method fbp' recon ray --events point.lmdT --scanner ring.yaml --method fbp --subsets 2 -o no.nii
refused 2 'hann:C' recon ray --events point.lmdT --scanner ring.yaml --method fbp --window hann:2 -o no.nii
refused 3 'no figure after NEMA' nema all places.json -o no.html
[ ! -e no.nii ] && [ ! -e no.html ] || fail "a refused run left an output"
