#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome timing on a simulated ring of known offsets and widths; recon --times; what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >ring.yaml <<'YAML'
kind: cylinder
radius_mm: 150
rings: 3
ring_pitch_mm: 16
crystals_per_ring: 48
crystal_mm: [16, 16, 20]
min_crystal_distance: 12
tof: {fwhm_ps: 300}
time: {coincidence_ns: 2}
YAML
sed 's/150/151/' ring.yaml >other.yaml
"$PYTHON" - <<'END'
import nibabel as nib
import numpy as np

r = np.random.default_rng(5)
np.save("offsets.npy", 120 * r.normal(size=144))
np.save("widths.npy", np.full(144, 300.) * (1 + .2 * r.normal(size=144).clip(-2, 2)))
np.save("short.npy", np.zeros(7))
x, y, z = np.meshgrid(*(2 * (np.arange(n) - (n - 1) / 2) for n in (70, 70, 20)), indexing="ij")
f = ((x**2 + y**2 < 60**2) & (abs(z) <= 20)).astype(np.float32)
affine = np.diag([-2., -2., 2., 1.])
affine[:3, 3] = 69, 69, -19
nib.save(nib.Nifti1Image(f, affine), "flat.nii")
END

n=$(size 40000 20000)
simulate() { run simulate ring.yaml flat.nii --counts "$n" --randoms 0.25 --duration-s 60 "$@"; }
simulate -o plain.Cdh --delayed late.Cdh
simulate -o e.Cdh --time-offsets offsets.npy --threads 1
simulate -o again.Cdh --time-offsets offsets.npy --threads 3
same e.Cdf again.Cdf

run timing ring.yaml e.Cdh --source cylinder:0,0,0,60,40 --delayed late.Cdh -o ring.times.json
err_has "ps FWHM"
run timing ring.yaml e.Cdh --source cylinder:0,0,0,60,40 --delayed late.Cdh -o same.times.json --threads 3
run simulate ring.yaml flat.nii --counts 6000 --randoms 0.25 --time-offsets offsets.npy -o few.Cdh
run timing ring.yaml few.Cdh --source cylinder:0,0,0,60,40 -o few.times.json
run timing ring.yaml few.Cdh --source flat.nii -o image.times.json
run timing ring.yaml plain.Cdh --source cylinder:0,0,0,60,40 -o none.times.json
check "offsets" <<'END'
import json

from checks import *

true = np.load("offsets.npy")
true -= true.mean()
t = {k: json.load(open(f"{k}.times.json")) for k in ("ring", "same", "few", "image", "none")}
o = {k: np.array(v["offsets_ps"]) for k, v in t.items()}
sd = np.array(t["ring"]["sd_ps"])
require(t["ring"]["kind"] == "times" and t["ring"]["version"] == 1 and t["ring"]["parts"] == 1, "keys")
require(t["ring"]["offsets_ps"] == t["same"]["offsets_ps"], "threads")
chi = np.mean(((o["ring"] - true) / sd)**2)
require(abs(chi - 1) < .45, f"chi-square {chi:.3f}")
require(abs(t["ring"]["fwhm_ps"] - 300) < 4 * t["ring"]["fwhm_sd_ps"], f"FWHM {t['ring']['fwhm_ps']:.1f}")
# by delayeds and fitted: randoms on the lines that meet the source, 0.15 of their events
shares = [t[k]["randoms_share"] for k in ("ring", "none", "few", "image")]
require(max(abs(s - .15) for s in shares) < .03, f"randoms {shares}")
for k in ("image",):
    apart = np.sqrt(np.mean(((o[k] - o["few"]) / np.array(t["few"]["sd_ps"]))**2))
    require(apart < .4, f"{k} as source: {apart:.3f} sd")
require(np.mean((o["none"] / sd)**2) < 1.5, "no offsets")
exact = dict(t["ring"], offsets_ps=list(np.load("offsets.npy")))
json.dump(exact, open("true.times.json", "w"))
json.dump(dict(exact, offsets_ps=exact["offsets_ps"][:-1]), open("short.times.json", "w"))
json.dump(dict(exact, kind="norm"), open("norm.times.json", "w"))
END

# the true offsets give the image of events without offsets; in memory and streamed the same bits
recon() { run recon ray "$@" --scanner ring.yaml --grid 20,20,6 --voxel 8 --method osem --iterations 2 --subsets 2; }
recon plain.Cdh -o plain.nii
recon e.Cdh -o wrong.nii
recon e.Cdh -o right.nii --times true.times.json
recon e.Cdh -o streamed.nii --times true.times.json --block 7000
recon e.Cdh -o three.nii --times true.times.json --threads 3
same right.nii streamed.nii
same right.nii three.nii
check "images" <<'END'
from checks import *

plain, right, wrong = (image(n + ".nii") for n in ("plain", "right", "wrong"))
scale = plain.max()
require(abs(right - plain).max() < 1e-4 * scale, f"corrected: {abs(right - plain).max() / scale:.2g}")
require(abs(wrong - plain).max() > .05 * scale, "offsets do no harm")
END

# a width of each crystal
run simulate ring.yaml flat.nii --counts "$(size 30000 20000)" --fwhm-per-crystal widths.npy -o w.Cdh
run timing ring.yaml w.Cdh --source cylinder:0,0,0,60,40 --randoms-share 0.001 --per-crystal -o w.times.json
check "widths" "$(size 0.25 0.35)" <<'END'
import json
import sys

from checks import *

s = np.array(json.load(open("w.times.json"))["crystal_sigma_ps"]) * 2.3548200450309493 * np.sqrt(2)
e = s / np.load("widths.npy") - 1
rms = np.sqrt(np.mean(e**2))
require(abs(e.mean()) < .03 and rms < float(sys.argv[1]), f"mean {e.mean():.4f}, rms {rms:.4f}")
END

# a resolution of each event: by the crystals' widths, or in the file; equal ones change no bit
run convert plain.Cdh plain.npy
check "resolutions" <<'END'
import json

from checks import *

rows = np.load("plain.npy")
t = json.load(open("true.times.json"))
n = len(t["offsets_ps"])
even = dict(t, offsets_ps=[0.] * n, crystal_sigma_ps=[300 / 2.3548200450309493 / np.sqrt(2)] * n)
json.dump(even, open("even.times.json", "w"))
json.dump(dict(even, crystal_sigma_ps=[50. + a for a in range(n)]), open("each.times.json", "w"))
e = np.zeros(len(rows), [("p1", "f4", 3), ("p2", "f4", 3), ("dt_ps", "f4"), ("fwhm_ps", "f4")])
e["p1"], e["p2"], e["dt_ps"], e["fwhm_ps"] = rows[:, :3], rows[:, 3:6], rows[:, 6], 300
np.save("even.npy", e)
e["fwhm_ps"] = np.random.default_rng(1).uniform(150, 600, len(rows))
np.save("each.npy", e)
e["fwhm_ps"][7] = 0
np.save("bad.npy", e)
END
recon plain.npy -o one.nii
recon even.npy -o even.nii
recon plain.npy -o crystals.nii --times even.times.json
same one.nii even.nii
same one.nii crystals.nii
recon each.npy -o each.nii --threads 1
recon each.npy -o pieces.nii --block 9000
recon each.npy -o scratch.nii --block 9000 --scratch .
same each.nii pieces.nii
same each.nii scratch.nii
recon plain.npy -o both.nii --times each.times.json
recon plain.npy -o blocks.nii --times each.times.json --block 9000
same both.nii blocks.nii
for name in each both; do ! cmp -s $name.nii one.nii || fail "resolutions do nothing"; done
recon each.npy -o all.nii --tof-fwhm-ps 300
err_has "has a resolution of each event; --tof-fwhm-ps 300 is used for all"
same one.nii all.nii
expect 3 recon ray bad.npy --scanner ring.yaml -q -o none.nii
err_has "event 7: fwhm_ps is 0, must be above 0"
expect 3 recon ray each.npy --scanner ring.yaml --tof-bin-ps 20 -q -o none.nii
err_has "can't have"

# what is refused
t() { expect "$1" timing "${@:2}" -o none.json; }
t 2 ring.yaml e.Cdh --source cylinder:0,0,0,60
err_has "expected 5 numbers"
t 3 ring.yaml e.Cdh --source cylinder:0,0,900,60,40
err_has "meets the source"
t 2 ring.yaml e.Cdh --source cylinder:0,0,0,60,40 --delayed late.Cdh --randoms-share 0.1
run simulate ring.yaml flat.nii --counts 1000 --tof-fwhm-ps 0 -o still.Cdh
t 3 ring.yaml still.Cdh --source cylinder:0,0,0,60,40
err_has "all time differences are 0"
[ ! -e none.json ] || fail "a refused run wrote"
expect 3 recon ray e.Cdh --scanner ring.yaml --times short.times.json -q -o none.nii
expect 3 recon ray e.Cdh --scanner ring.yaml --times norm.times.json -q -o none.nii
err_has 'is of kind norm'
expect 3 recon ray e.Cdh --scanner other.yaml --scanner-differs --times true.times.json -q -o none.nii
err_has "is of another scanner"
expect 2 recon ray e.Cdh --scanner ring.yaml --times true.times.json --tof-fwhm-ps 0 -q -o none.nii
err_has "none are used"
expect 3 simulate ring.yaml flat.nii --counts 1000 --time-offsets short.npy -o none.Cdh
expect 2 simulate ring.yaml flat.nii --counts 1000 --dead-time slow:3 --duration-s 1 -o none.Cdh
expect 2 simulate ring.yaml flat.nii --counts 1000 --dead-time paralysable:3 -o none.Cdh
