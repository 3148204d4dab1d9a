#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# CASToR files that NumPy wrote: where their events lie, what corrections they bring, and that a
# point source appears where it is; and what the program writes, read by NumPy and by itself.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
# shellcheck source=events.bash
. "$SOURCE/tests/formats/events.bash"
need_python
export ISOTOME_CACHE=$work/kept ISOTOME_CACHE_SECONDS=0 # many runs with one sensitivity

"$PYTHON" - <<'END'
from point_source import *

n = 3000
e = Coincidences(n, 1)
draw = np.random.default_rng(2)
one = lambda low, high: draw.uniform(low, high, n).astype("<f4")
attenuation, normalisation = one(1, 3), one(.5, 2)
scatter, randoms = one(0, .01), one(0, .02)
time = ("time", "<u4", e.time_ms)
ids = [("c1", "<u4", e.c1), ("c2", "<u4", e.c2)]
tof = ("tof", "<f4", e.dt)
write_hscan("ring")
write_hscan("deep", (20, 7))
with open("ring.yaml", "w") as f:
    f.write(RING_YAML)

assert write_castor("plain", n, [time] + ids) == 12
assert write_castor("tof", n, [time, tof] + ids, "deep", **{
    "TOF information flag": 1, "TOF resolution (ps)": FWHM_PS,
    "List TOF measurement range (ps)": 2000}) == 16
corrections = [("att", "<f4", attenuation), ("kind", "u1", 1), ("scatter", "<f4", scatter),
               ("randoms", "<f4", randoms), ("norm", "<f4", normalisation)]
flags = {"Attenuation correction flag": 1, "Coincidence kind flag": 1,
         "Scatter correction flag": 1, "Random correction flag": 1,
         "Normalization correction flag": 1}
times = {"TOF information flag": 1, "TOF resolution (ps)": FWHM_PS,
         "List TOF measurement range (ps)": 2000}
assert write_castor("six", n, [time] + corrections + [tof] + ids, **flags, **times) == 33
write_castor("notof", n, [time] + corrections + ids, **flags)
lines = np.stack([e.c1, e.c2, e.c1, e.c2], 1)
lines[1::2, 2:] = 0xffffffff  # beyond the number of lines: nothing
write_castor("all", n, [time] + corrections + [
    tof, ("poi", "<f4", np.zeros((n, 4))), ("emission", "<f4", np.ones((n, 6))),
    ("lines", "<u2", np.arange(n) % 2 == 0), ("ids", "<u4", lines)], **flags, **times, **{
        "POI info flag": 1, "POI resolution": "-1, 0.5, 2", "Emission point flag": 1,
        "Maximum number of lines per event": 2})
with open("all.Cdf", "r+b") as f:  # one or two lines, which are the same
    data = np.fromfile("all.Cdf", "u1").reshape(n, -1)
    at = data.shape[1] - 18
    data[:, at:at + 2] = np.where(np.arange(n) % 2 == 0, 2, 1).astype("<u2")[:, None].view("u1")
    f.write(data.tobytes())
bin_ps = 50.
quantised = np.round(e.dt / bin_ps) * bin_ps
write_castor("quantised", n, [time, corrections[2], corrections[3], ("tof", "<f4", quantised)] + ids,
             **{"Scatter correction flag": 1, "Random correction flag": 1}, **times,
             **{"List TOF quantization bin size (ps)": bin_ps})

# a histogram of those lines: one bin of each holds a count
for name, bins in ("odd", 41), ("even", 40):
    centre = (np.arange(bins) - (bins - 1) / 2) * bin_ps
    b = abs(e.dt[:, None] - centre).argmin(1)
    value = np.zeros((n, bins, 2), "<f4")
    value[np.arange(n), b, 0] = 1
    value[:, :, 1] = scatter[:, None] * np.arange(bins)
    write_castor(name, n, [time, corrections[0], corrections[3], corrections[4],
                           ("value", "<f4", value)] + ids, mode="histogram", **{
        "Attenuation correction flag": 1, "Scatter correction flag": 1,
        "Random correction flag": 1, "Normalization correction flag": 1,
        "TOF information flag": 1, "TOF resolution (ps)": FWHM_PS,
        "Histo TOF number of bins": bins, "Histo TOF bin size (ps)": bin_ps})
    np.save(f"{name}_counts.npy", value[:, :, 0].astype("<f4").reshape(-1))
write_castor("flat", n, [time, ("value", "<f4", np.full(n, 3))] + ids, mode="histogram")
np.save("ones.npy", np.ones(n, "<f4"))

p = crystals()
rows = np.hstack([p[e.c1], p[e.c2], e.dt[:, None]]).astype("<f4")
np.save("want.npy", rows)
np.savez("truth.npz", mult=1 / (attenuation * normalisation), scatter=scatter, randoms=randoms,
         dt=e.dt, quantised=quantised, time=e.time_ms)
END

# ---- ends and times ----
for name in plain tof six notof all quantised; do
	run convert $name.Cdh $name.npy
done
for name in plain tof six notof all quantised odd even flat; do
	run info $name.Cdh --json
	cp out $name.info
done
check "ends and times" <<'END'
from checks import *
want = np.load("want.npy")
truth = np.load("truth.npz")
for name in "plain", "tof", "six", "notof", "all", "quantised":
    got = np.load(name + ".npy")
    near(name + ": ends", got[:, :6], want[:, :6], 2e-5)
    dt = 0 * truth["dt"] if name in ("plain", "notof") else \
        truth["quantised"] if name == "quantised" else truth["dt"]
    near(name + ": times", got[:, 6], dt, 1e-3)
for name, last in ("odd", 20 * 50), ("even", 19.5 * 50), ("flat", 0):
    near(name + ": bins", record(name + ".info")[0]["dt_ps"], [-last, last], 1e-4)

# corrections, by their ranges: what isotome.h says of mult and add, in the words of the format
c2, T, R = 0.149896229, 60, 2000
def ranges(name, **want):
    got = record(name + ".info")[0]
    for key, v in want.items():
        near(f"{name}: {key}", got[key], [np.min(v), np.max(v)], 1e-5 * np.max(v))
mult, s, r, time = truth["mult"], truth["scatter"], truth["randoms"], truth["time"] / 1e3
ranges("plain", time_s=time)
ranges("notof", multiplicative=mult, additive=(s + r) * T, time_s=time)
ranges("six", multiplicative=mult, additive=(s + r / (R * c2)) * T)
ranges("all", multiplicative=mult, additive=(s + r / (R * c2)) * T)
ranges("quantised", additive=(s + r / (R * c2)) * T * 50 * c2)
ranges("odd", multiplicative=mult, counts_each=[0, 1],
       additive=(s[:, None] * np.arange(41) + r[:, None] / 41) * T)
six, odd, full = (record(f"{n}.info")[0] for n in ("six", "odd", "all"))
require(six["corrections"] == ["attenuation", "normalisation", "scatter", "randoms"], f"{six}")
require(six["format"] == "CASToR list mode" and six["tof_fwhm_ps"] == 200, f"{six}")
require(six["crystal_numbers"] and not full["crystal_numbers"], "crystal numbers")
require(odd["format"] == "CASToR histogram" and odd["events"] == 3000 * 41, f"{odd}")
require(odd["record_bytes"] == 3000 * (24 + 41 * 8), f"{odd}")
require(odd["tof_bin_ps"] == 50 and odd["counts"] == 3000, f"{odd}")
require(full["warnings"] == ["not used: kinds of events, positions of interaction across crystals, "
                             "depths of interaction, emission points"], f"{full}")
END

# ---- the source ----
no_tof plain.Cdh ones.npy
no_tof flat.Cdh ones.npy
images tof.Cdh ones.npy
images six.Cdh ones.npy
images all.Cdh ones.npy
images odd.Cdh odd_counts.npy
# another scanner of the same crystals, and a reconstruction
images quantised.Cdh ones.npy --scanner ring.yaml
run recon ray --events tof.Cdh --scanner deep.hscan "${grid[@]}" --sens none --iterations 3 \
	--tof-fwhm-ps 200 -o recon.nii
found tof recon.nii || fail "recon: $(cat found.txt)"
run recon ray --events tof.Cdh --scanner ring.hscan "${grid[@]}" --iterations 2 --tof-fwhm-ps 200 \
	-o recon2.nii
found tof recon2.nii || fail "recon with the sensitivity of a .hscan: $(cat found.txt)"
run info ring.hscan
out_has 'crystals          2160'
out_has 'pairs             2331720'
sed 's/min angle difference.*/min angle difference: 30/' ring.hscan >apart.hscan
cp ring.lut apart.lut
run info apart.hscan
out_has 'min angle degrees 30'
out_has 'pairs at most     2331720'

# ---- a geometry, beside the header and as the scanner; ends of lines at their depths ----
"$PYTHON" - <<'END'
from point_source import *

n = 3000
e = Coincidences(n, 3)
# the ring as 180 rsectors of one crystal, 12 along the axis: number 180 ring + rsector, from y towards x, z reversed
with open("rings.geom", "w") as f:
    f.write("modality: PET\nscanner name: rings\nnumber of elements: 2160\nnumber of layers: 1\n"
            "scanner radius: 90\nnumber of rsectors: 180\nnumber of crystals transaxial: 1\n"
            "number of crystals axial: 12\ncrystals size depth: 20\ncrystals size trans: 3\n"
            "crystals size axial: 7\ncrystal gap axial: 1\nrsectors first angle: 1\n"
            "mean depth of interaction: 4\n")
def number(c):
    ring, c = np.divmod(c, PER_RING)
    return (RINGS - 1 - ring) * PER_RING + (44 - c) % PER_RING
# ends at 100 mm: 10 mm below the face, where the mean depth is 4
fields = [("time", "<u4", e.time_ms), ("tof", "<f4", e.dt), ("depth", "<f4", np.full((n, 2), 10.)),
          ("c1", "<u4", number(e.c1)), ("c2", "<u4", number(e.c2))]
keys = {"TOF information flag": 1, "TOF resolution (ps)": FWHM_PS, "List TOF measurement range (ps)": 2000}
write_castor("deep2", n, fields, "rings", **keys, **{
    "POI info flag": 1, "POI resolution (mm)": "-1,-1,2", "Maximum axial difference mm": 24, "Operator": "nobody",
    "Calibration factor": 2})
write_castor("rings", n, fields[:2] + fields[3:], "rings", **keys)
p = crystals()
np.save("want2.npy", np.hstack([p[e.c1], p[e.c2], e.dt[:, None]]))
END
run convert deep2.Cdh deep2.npy
run convert rings.Cdh rings.npy
check "depths" <<'END'
from checks import *
want, deep, mean = np.load("want2.npy"), np.load("deep2.npy"), np.load("rings.npy")
near("ends at their depths", deep[:, :6], want[:, :6], 2e-5)
for c in 0, 3:
    near("ends at the mean depth", mean[:, c:c + 2], .94 * want[:, c:c + 2], 2e-5)
END
run info rings.geom --json
check "the geometry" <<'END'
from checks import *
s = json.load(open("out"))[0]
require(s["crystals"] == 2160 and s["crystal_mm"] == [3, 7, 20] and not s["warnings"], f"{s}")
END
images deep2.Cdh ones.npy
run recon ray --events deep2.Cdh --scanner rings.geom "${grid[@]}" --iterations 2 --rays 2 -o recon3.nii
found tof recon3.nii || fail "recon with a .geom: $(cat found.txt)"
err_has "not used: depths of interaction in the sensitivity, which has mean depths, keys 'Operator'"
err_has "has a calibration factor, 2; --calibration events makes"
# lines that go up to 24 mm along the axis alone, in the sensitivity too
run sens ray --scanner rings.geom "${grid[@]}" -o all.nii
run sens ray --events deep2.Cdh --scanner rings.geom "${grid[@]}" -o few.nii
check "the axial difference" <<'END'
from checks import *
import nibabel
few, every = (np.asarray(nibabel.load(n).dataobj, float) for n in ("few.nii", "all.nii"))
# 12 rings 8 mm apart: through the middle go pairs of rings 1, 3, ... 11 apart; 1 and 3 are left
ratio = few[19:21, 19:21, 7:9].sum() / every[19:21, 19:21, 7:9].sum()
near("share of the pairs through the middle", ratio, 1 / 3, .04)
END

# ---- writing ----
run phantom point --at 22,-14,10 --grid 40,40,16 --voxel 4 -o x.nii
cat >solid.yaml <<'END'
kind: cylinder
radius_mm: 100
rings: 12
ring_pitch_mm: 8
crystals_per_ring: 180
min_crystal_distance: 30
pair_weight: solid-angle
tof: {fwhm_ps: 200}
END
run simulate solid.yaml x.nii --counts 5000 -o sim.lmdT
run convert sim.lmdT sim.Cdh --scanner solid.yaml --duration-s 60 --start-s 5
[ ! -s err ] || fail "a warning where nothing is lost"
grep -qxF 'Start time (s): 5' sim.Cdh && grep -qxF 'Duration (s): 60' sim.Cdh || fail "times: $(cat sim.Cdh)"
run convert sim.Cdh back.lmdT
same sim.lmdT back.lmdT
run simulate solid.yaml x.nii --counts 5000 -o direct.Cdh
same sim.Cdf direct.Cdf

# ---- a duration that nobody knows is 0, never 1 ----
grep -qxF 'Duration (s): 0 # not known' direct.Cdh || fail "simulate: $(grep Duration direct.Cdh)"
err_has "direct.Cdh: how long the scan took is not known, so its header says 0 s; --duration-s sets it"
run convert sim.lmdT timeless.Cdh --scanner solid.yaml
grep -qxF 'Duration (s): 0 # not known' timeless.Cdh || fail "convert: $(grep Duration timeless.Cdh)"
err_has "timeless.Cdh: how long the scan took is not known"
sed /Duration/d timeless.Cdh >keyless.Cdh
counts=("${grid[@]}" --iterations 1 --device cpu)
for scan in timeless keyless; do
	run recon ray --events $scan.Cdh "${counts[@]}" -o $scan.nii
	expect 2 recon ray --events $scan.Cdh "${counts[@]}" --calibration 100 --branching 1 -o no.nii
	err_has "--calibration needs the length of the scan, which the data do not say: give --duration-s"
	expect 2 recon ray --events $scan.Cdh "${counts[@]}" --calibration 100 --isotope F-18 -o no.nii
	err_has "give --duration-s"
done
same timeless.nii keyless.nii
run recon ray --events timeless.Cdh "${counts[@]}" --calibration 100 --branching 1 --duration-s 60 -o bq60.nii
run recon ray --events sim.Cdh "${counts[@]}" --calibration 100 --branching 1 -o bq.nii
run measure rmse bq.nii bq60.nii --below 1e-6
# rates make counts by the duration: without it there is no meaning in them
sed 's/Duration (s): .*/Duration (s): 0/' six.Cdh >six0.Cdh
expect 3 recon ray --events six0.Cdh "${counts[@]}" -o no.nii
err_has "key 'Duration (s)' is missing or 0: rates of scatter and randoms become counts by how long the scan took"
for to in t.lmdT t.npy; do
	expect 2 convert sim.Cdh $to --duration-s 60
	err_has "$to has no place for --duration-s and --start-s; a CASToR .Cdh and a .petsird have"
done
expect 2 convert x.nii t.npy --start-s 60
err_has "are for events, not arrays"

# ---- what contradicts the file is told with both values; what agrees to the digits written is not ----
sed -e 's/Duration (s): .*/Duration (s): 599.6/' -e 's/Isotope: .*/Isotope: F-18/' sim.Cdh >f18.Cdh
told() { # WARNING ARGS...: the program and its record
	run recon ray --events f18.Cdh "${counts[@]}" -o told.nii --force "${@:2}"
	err_has "$1"
	grep -qF -e "${1//--/}" <(tr -d "'" <told.json) || fail "the record lacks '$1'"
}
told "f18.Cdh: says 599.6 s; --duration-s 60 takes its place" --duration-s 60
told "f18.Cdh: says F-18; --isotope C-11 takes its place" --isotope C-11
told "f18.Cdh: says F-18, whose half-life is 6586.2 s; --half-life-s 1221.8 takes its place" --half-life-s 1221.8
run convert f18.Cdh c11.Cdh --scanner solid.yaml --duration-s 60 --start-s 7
err_has "f18.Cdh: says 599.6 s; --duration-s 60 takes its place"
err_has "f18.Cdh: says 5 s; --start-s 7 takes its place"
for same in "--duration-s 600" "--isotope f-18" "--half-life-s 6588"; do
	# shellcheck disable=SC2086
	run recon ray --events f18.Cdh "${counts[@]}" $same -o told.nii --force
	! grep -q 'takes its place' err || fail "$same: no contradiction"
done

cp sim.lut ring2.lut
sed 's/scanner name.*/scanner name: ring2/' sim.hscan >ring2.hscan
run convert six.Cdh six2.Cdh --scanner ring.hscan
expect 2 convert odd.Cdh histogram.lmdT
err_has "histogram, whose lines have counts"
run convert six.Cdh six2.lmdT
err_has "no place for its time stamps, attenuation and normalisation, scatter and randoms, crystal numbers"
check "what was written" <<'END'
from checks import *
e = np.fromfile("sim.lmdT", "<f4").reshape(-1, 7)
r = np.fromfile("sim.Cdf", [("t", "<u4"), ("tof", "<f4"), ("c1", "<u4"), ("c2", "<u4")])
lut = np.fromfile("sim.lut", "<f4").reshape(-1, 6)
require(len(r) == len(e) and len(lut) == 2160, f"{len(r)} events, {len(lut)} crystals")
near("t1 - t2", r["tof"], -e[:, 6], 0)
for c, end in ("c1", e[:, :3]), ("c2", e[:, 3:6]):
    near(c, lut[r[c], :3] * [1, 1, -1], end, 1e-5)
near("orientation", lut[:, 3:5] * 100, lut[:, :2], 1e-4)
head = dict(line.split(": ", 1) for line in open("sim.Cdh").read().splitlines())
require(head["Number of events"] == str(len(e)) and head["Data filename"] == "sim.Cdf", f"{head}")

a = np.fromfile("six.Cdf", "u1").reshape(3000, 33)
b = np.fromfile("six2.Cdf", [("t", "<u4"), ("add", "<f4"), ("norm", "<f4"), ("tof", "<f4"),
                             ("c1", "<u4"), ("c2", "<u4")])
old = a.view([("t", "<u4"), ("att", "<f4"), ("kind", "u1"), ("s", "<f4"), ("r", "<f4"),
              ("norm", "<f4"), ("tof", "<f4"), ("c1", "<u4"), ("c2", "<u4")])[:, 0]
for k in "t", "tof", "c1", "c2":
    require((old[k] == b[k]).all(), f"field {k} changed")
near("factors", b["norm"], old["att"] * old["norm"], 1e-5)
near("rates", b["add"], old["s"] + old["r"] / (2000 * 0.149896229), 1e-8)
END
run info six2.Cdh --json
check "the same corrections" <<'END'
from checks import *
a, b = record("six.info")[0], json.load(open("out"))[0]
for key in "multiplicative", "additive", "time_s", "dt_ps", "duration_s", "tof_fwhm_ps":
    near(key, a[key], b[key], 1e-5 * np.max(np.abs(a[key])))
END

# ---- nothing half written, nothing replaced ----
expect 2 convert sim.lmdT sim.Cdh --scanner solid.yaml
err_has 'exists'
rm sim.Cdh sim.Cdh.json
expect 2 convert sim.lmdT sim.Cdh --scanner solid.yaml
err_has 'sim.Cdf, which belongs to sim.Cdh, exists'
mkdir o
expect 2 convert sim.lmdT o/e.Cdh
err_has 'a scanner must say'
expect 2 convert sim.lmdT 'o/a#b.Cdh' --scanner solid.yaml
sed '/tof/d' solid.yaml >notof.yaml
expect 2 convert sim.lmdT o/e.Cdh --scanner notof.yaml
err_has 'unknown resolution'
expect 2 convert sim.lmdT o/e.dat
expect 2 convert sim.lmdT o/e.nii
expect 2 convert sim.lmdT o/e.lmdT --trues-only
[ -z "$(ls -A o)" ] || fail "left $(ls -A o)"
echo "all passed"
