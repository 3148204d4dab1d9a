#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# PETSIRD files by one command: the file's own scanner, grid, efficiencies, randoms and time of flight put the source
# where it is, (25, -12, 6) mm, in every version; with efficiencies a calibration factor divides the image.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python
data=$TEST_DATA/petsird

run info "$data/point-0.12.0.petsird"
out_has 'PETSIRD'
out_has 'events            3000'
out_has 'delayeds          200'
for version in 0.7.2 0.9.1 0.12.0; do
	run recon "$data/point-$version.petsird" -o "$version.nii"
	err_has 'randoms are taken from its 200 delayed events'
	! grep -q 'factors per event' err || fail "$version: the sensitivity is said to be without the efficiencies"
	run recon ray --events "$data/point-$version.petsird" --grid 50,50,13 --voxel 2 --delayed none -o "plain-$version.nii"
	run recon ray --events "$data/point-$version.petsird" --grid 50,50,13 --voxel 2 --delayed none --tof-fwhm-ps 0 \
		-o "lines-$version.nii"
done
check "where the source is, and how much of it" <<'END'
import nibabel, numpy as np

for version in "0.7.2", "0.9.1", "0.12.0":
    for name in "", "plain-", "lines-":
        image = nibabel.load(name + version + ".nii")
        x = image.get_fdata()
        at = (image.affine @ [*np.unravel_index(x.argmax(), x.shape), 1])[:3]
        assert (abs(at - [25, -12, 6]) < 3).all(), (name, version, at)
old, new = (nibabel.load("plain-%s.nii" % v).get_fdata() for v in ("0.7.2", "0.12.0"))
assert abs(old.sum() / new.sum() / 2.5 - 1) < 1e-3, old.sum() / new.sum()
END

# ---- written: the events that .npy has of the same scan, but for the bins of time; and the pairs of the scanner ----
cat >ring.yaml <<'END'
kind: cylinder
radius_mm: 120
rings: 6
ring_pitch_mm: 12
crystals_per_ring: 72
crystal_mm: [8, 10, 20]
min_crystal_distance: 18
max_ring_difference: 3
tof: {fwhm_ps: 300}
END
run phantom cylinder --grid 20,20,8 --voxel 6 -o x.nii
scan=(simulate ring.yaml x.nii --counts 30000 --duration-s 30)
run "${scan[@]}" -o rows.npy
run "${scan[@]}" -o e.petsird
# it begins as other files of PETSIRD 0.12 do: 9 bytes of yardl, 2 of a length, a schema of 12983
cmp -n 12994 e.petsird "$data/point-0.12.0.petsird" >err || fail "the schema is not that of PETSIRD 0.12"
run convert e.petsird back.npy
run info --json e.petsird
check "the same events" <<'END'
from checks import *
a, b = np.load("rows.npy"), np.load("back.npy")
require(a.shape == b.shape and abs(a[:, :6] - b[:, :6]).max() < 1e-3, "ends")
require(abs(a[:, 6] - b[:, 6]).max() <= 15.01 and abs(a[:, 6] - b[:, 6]).max() > 5, "times, to half a bin of 30 ps")
o = json.load(open("out"))[0]
require(o["crystals"] == 432 and o["duration_s"] == 30, f"{o}")
near("tof", o["tof_fwhm_ps"], 300, .01)
near("times", o["time_s"], [.05, 29.95], .2)
END
# the sensitivity of its own scanner is that of ring.yaml: the same pairs
grid=(--grid 20,20,8 --voxel 6 --iterations 2)
run recon ray --events rows.npy --scanner ring.yaml "${grid[@]}" --tof-fwhm-ps 300 -o of-rows.nii
run recon e.petsird "${grid[@]}" -o of-petsird.nii
run measure diff of-petsird.nii of-rows.nii --below 2
run recon ray --events e.petsird --scanner ring.yaml "${grid[@]}" -o of-both.nii
run measure diff of-both.nii of-petsird.nii --below 0.1
run convert rows.npy again.petsird --scanner ring.yaml
run convert again.petsird again.npy
check "converted" <<'END'
from checks import *
a, b = np.load("back.npy"), np.load("again.npy")
require((abs(a - b) < 1e-3).all(), "convert and simulate write the same events")
END
expect 2 convert rows.npy no.petsird
err_has 'PETSIRD files are written of scanners of kind cylinder, and none was given'

# ---- how long the scan took: as said, or not known, but never the length of the blocks that events are in ----
duration() { # FILE SECONDS START: what info says; 0: nothing
	run info --json "$1"
	check "duration of $1" <<-EOF
		import json
		o = json.load(open("out"))[0]
		assert abs(o.get("duration_s", 0) - $2) < 1e-9 and abs(o.get("start_s", 0) - $3) < 1e-9, o
	EOF
}
duration again.petsird 0 0 # rows have no times
run convert rows.npy long.petsird --scanner ring.yaml --duration-s 580 --start-s 7.5
! grep -q 'is not known' err || fail "a duration that is given is said not to be known"
duration long.petsird 580 7.5
run convert rows.npy unknown.petsird --scanner ring.yaml
err_has 'unknown.petsird: how long the scan took is not known, so its time blocks are 0 s long'
run convert long.petsird long.npy
run convert again.petsird again.npy --force
same long.npy again.npy
# events from 10 to 12.3 s of a scan of 40 s; without --duration-s their times are kept, to half a block
check "events with times" <<'END'
import numpy as np
rows = np.load("rows.npy")[:1000]
e = np.zeros(1000, [(n, "f4") for n in ("x1", "y1", "z1", "x2", "y2", "z2", "dt_ps")] + [("time_ms", "u4")])
for i, n in enumerate(e.dtype.names[:7]): e[n] = rows[:, i]
e["time_ms"] = np.linspace(10000, 12300, 1000)
np.save("timed.npy", e)
e["dt_ps"][:3] = 1e5
np.save("far.npy", e)
END
run convert timed.npy timed.petsird --scanner ring.yaml --duration-s 40 --start-s 3
! grep -q 'has no place' err || fail "what PETSIRD stores is said to be lost"
duration timed.petsird 40 3
run convert timed.npy unknown.petsird --scanner ring.yaml --force
duration unknown.petsird 0 0
for e in timed unknown; do
	run info --json $e.petsird
	check "times of $e" <<'END'
from checks import *
near("times", json.load(open("out"))[0]["time_s"], [10.05, 12.35], 1e-3)
END
done
run convert timed.npy short.petsird --scanner ring.yaml --duration-s 11
err_has ' events are later than the end of the scan'
run "${scan[@]}" --isotope F-18 -o f18.petsird
err_has 'f18.petsird: no place for the isotope F-18'

# ---- what is refused or told: times of flight without a resolution or beyond the bins, ends that move, weights ----
sed '/tof:/d' ring.yaml >plain.yaml
expect 2 convert rows.npy no.petsird --scanner plain.yaml
err_has 'no.petsird: events with times of flight of unknown resolution; scanner'
run simulate plain.yaml x.nii --counts 3000 --tof-fwhm-ps 300 -o option.petsird
run info --json option.petsird
check "the resolution of --tof-fwhm-ps" <<'END'
from checks import *
near("tof", json.load(open("out"))[0]["tof_fwhm_ps"], 300, .01)
END
run convert far.npy far.petsird --scanner ring.yaml
err_has 'far.petsird: 3 events have times of flight beyond the scanner; they are in the last bins'
sed 's/radius_mm: 120/radius_mm: 125/' ring.yaml >wide.yaml
run convert rows.npy wide.petsird --scanner wide.yaml
err_has 'wide.petsird: ends of events move to the crystals of'
err_has ', by up to 5 mm'
(cat ring.yaml && echo 'pair_weight: solid-angle') >weighted.yaml
run convert rows.npy weighted.petsird --scanner weighted.yaml
err_has 'weighted.petsird: PETSIRD has no place for pair_weight: solid-angle'
# factors of 1 are none
run recon ray --events e.petsird --scanner ring.yaml "${grid[@]}" -o ones.nii
! grep -q 'factors per event' err || fail "efficiencies that are all 1 are said to be factors per event"
same ones.nii of-both.nii
# events of crystals that are not in coincidence count nowhere
sed 's/min_crystal_distance: 18/min_crystal_distance: 25/' ring.yaml >narrow.yaml
run convert rows.npy narrow.petsird --scanner narrow.yaml
err_has ' events are of crystals that the scanner does not have in coincidence'
run recon narrow.petsird "${grid[@]}" -o narrow.nii
err_has ' events are left out (not finite'
# ---- bed and gantry that move: as tables of them ----
PYTHONPATH=$SOURCE/scripts:$PYTHONPATH check "files of scans that move" <<'END'
from yardl_seeds import petsird
lines = [(0, 0, a, 8 + b, 1) for a in (0, 2, 4) for b in (1, 3, 5)]
how = dict(kinds=((8, 1),), windows=2, efficiencies=False, pairs=lines)
for name, more in (("rest", {}), ("bed", dict(moved=True)), ("turns", dict(turns=[90.])), ("both", dict(moved=True, turns=[90.])),
                   ("apart", dict(kinds=((8, 1), (2, 1)), turns=[90., 91.]))):
    open("moves-%s.petsird" % name, "wb").write(petsird(**dict(how, **more)))
open("bed.csv", "w").write("# rule: step\ntime_s,x_mm,y_mm,z_mm\n-1,0,0,0\n0.1,1,0,0\n")
open("gantry.csv", "w").write("# rule: step\ntime_s,angle_deg\n-1,0\n0.1,90\n")
END
moving=(--grid "9,9,3" --voxel 20 --iterations 2)
run info moves-both.petsird
grep -q 'its bed moves.*its gantry moves' out || fail "info does not say that bed and gantry move"
run recon ray --events moves-rest.petsird --bed bed.csv "${moving[@]}" -o by-bed.nii
run recon ray --events moves-bed.petsird "${moving[@]}" -o of-bed.nii
err_has 'its bed moves: its transforms are taken as where the bed is; --bed-inverse takes them the other way'
same by-bed.nii of-bed.nii
run recon ray --events moves-rest.petsird --bed bed.csv --bed-inverse "${moving[@]}" -o by-bed.nii --force
run recon ray --events moves-bed.petsird --bed-inverse "${moving[@]}" -o of-bed.nii --force
same by-bed.nii of-bed.nii
run recon ray --events moves-rest.petsird --gantry gantry.csv "${moving[@]}" -o by-gantry.nii
run recon ray --events moves-turns.petsird "${moving[@]}" -o of-gantry.nii
same by-gantry.nii of-gantry.nii
run recon ray --events moves-both.petsird --bed bed.csv "${moving[@]}" -o both.nii
err_has 'the movement of its bed is not used: --bed takes its place'
! cmp -s both.nii of-gantry.nii || fail "the bed has no effect"
expect 2 recon ray --events moves-rest.petsird --bed-inverse "${moving[@]}" -o no.nii
err_has '--bed-inverse needs --bed'
expect 3 recon ray --events moves-apart.petsird "${moving[@]}" -o no.nii
err_has 'kinds of modules move apart'
expect 3 convert moves-bed.petsird no.npy
err_has 'bed or gantry moves'
[ ! -e no.nii ] && [ ! -e no.npy ] || fail "a refused run left a file"
echo "all passed"
