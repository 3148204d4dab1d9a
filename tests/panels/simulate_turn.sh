#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Simulated scans of two heads that turn: a histogram an angle and a list with times, the same for any number of threads;
# images of both by models srm and ray; attenuation, decay, rows that are not known, and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

cat >heads.yaml <<END
kind: panels
crystals: [10, 6]
pitch_mm: [3.0, 3.0]
crystal_mm: [2.8, 2.8, 10]
gap_mm: 36
layers: 1
voxels_per_pitch: [1, 1]
planes: 10
plane_mm: 3
END
printf '# rule: step\ntime_s,angle_deg\n0,0\n20,90\n40,nan\n50,30\n' >turns.csv
printf 'time_s,angle_deg\n0,0\n90,180\n' >slowly.csv
printf '# rule: step\ntime_s,angle_deg\n0,0\n20,45\n' >corner.csv

check "a source off the centre, and water around it" <<'END'
import numpy as np
x = np.zeros((6, 10, 10))
x[3, 2, 7] = 1                          # at (7.5, -7.5, 1.5) mm
np.save("x.npy", x)
r = np.hypot(*np.meshgrid(*2 * [3 * (np.arange(10) - 4.5)]))
np.save("mu.npy", np.tile(0.0096 * (r < 13), (6, 1, 1)))
END

# ---- a scan ----
counts=$(size 12000 2000)
scan() { # TABLE ARGS...
	run simulate heads.yaml x.npy --physics --gantry "$1" --duration-s 90 --seed 3 "${@:2}"
}
scan turns.csv --counts "$counts" --threads 1 --list e.npy --list-times t.npy -o h.npy
scan turns.csv --counts "$counts" --threads 3 --list e3.npy --list-times t3.npy -o h3.npy
same h.npy h3.npy
same e.npy e3.npy
same t.npy t3.npy
scan turns.csv --counts "$counts" --threads 1 --half-life-s 20 -o decayed.npy
scan turns.csv --counts "$counts" --threads 1 --mu mu.npy -o through.npy
scan turns.csv --decays 60000 --threads 1 -o clear.npy
scan turns.csv --decays 60000 --threads 1 --mu mu.npy -o dim.npy
scan slowly.csv --counts "$counts" --threads 1 --list s.npy --list-times st.npy -o slow.npy
check "histograms and times" "$counts" <<'END'
import sys
import numpy as np
h, t, e = np.load("h.npy"), np.load("t.npy"), np.load("e.npy")
n = h.sum((1, 2, 3, 4))
if h.shape != (3, 10, 6, 10, 6) or len(e) != len(t) or n.sum() != len(t):
    raise SystemExit(f"shape {h.shape}, {len(e)} events, {len(t)} times, {n} counts")
want = float(sys.argv[1])
if not abs(n.sum() - want) < 5 * want**0.5 + 0.02 * want:
    raise SystemExit(f"{n.sum()} events, expected {want}")
if (np.diff(t) < 0).any() or ((t >= 40) & (t < 50)).any() or t.min() < 0 or t.max() >= 90:
    raise SystemExit("times do not rise, or lie where nothing is measured")
got = [((t >= a) & (t < b)).sum() for a, b in ((0, 20), (20, 40), (50, 90))]
if list(n) != got:
    raise SystemExit(f"histograms of {n}, events of {got}")
k = np.log(2) / 20
d = np.load("decayed.npy").sum((1, 2, 3, 4))
mean = lambda a, b: np.exp(-k * a) - np.exp(-k * b)
want = np.array([mean(0, 20), mean(20, 40), mean(50, 90)]) / (20, 20, 40) * n
want *= d.sum() / want.sum()
if not (abs(d - want) < 5 * np.sqrt(want) + 5 * want / np.sqrt(n)).all():
    raise SystemExit(f"decayed {d}, expected {want}")
ratio = np.load("dim.npy").sum((1, 2, 3, 4)) / np.load("clear.npy").sum((1, 2, 3, 4))
if not ((0.7 < ratio) & (ratio < 0.95)).all():      # some 10 to 20 mm of water, less what scatters into the window
    raise SystemExit(f"through water {ratio}")
END

# ---- images: the source where it is ----
run srm heads.yaml --analytic --share 1 -o m.srm
turn=(--gantry turns.csv --duration-s 90 --threads 1)
run recon srm --srm m.srm --data h.npy "${turn[@]}" --iterations 15 -o srm.npy
run recon srm --srm m.srm --data through.npy "${turn[@]}" --mu mu.npy --iterations 15 -o srm_mu.npy
grid=(--grid 10,10,6 --voxel 3 --tof-fwhm-ps 0)
run recon ray --events e.npy --event-times t.npy --scanner heads.yaml "${turn[@]}" "${grid[@]}" --iterations 15 -o ray.npy
run recon ray --events s.npy --event-times st.npy --scanner heads.yaml --gantry slowly.csv --duration-s 90 --threads 1 \
	"${grid[@]}" --iterations 15 -o slow_x.npy
check "the source where it is" <<'END'
import numpy as np
for name in "srm", "srm_mu", "ray", "slow_x":
    f = np.load(name + ".npy").astype(float)
    f[f < 0.1 * f.max()] = 0
    z, y, x = np.indices(f.shape)
    at = [3 * ((f * a).sum() / f.sum() - 0.5 * (n - 1)) for a, n in ((x, 10), (y, 10), (z, 6))]
    if not np.abs(np.array(at) - (7.5, -7.5, 1.5)).max() < 0.5:
        raise SystemExit(f"{name}: the source lies at {at}")
END

# ---- refused ----
bad() { # CODE TEXT ARGS...
	local code=$1 text=$2
	shift 2
	expect "$code" simulate heads.yaml x.npy --physics -o bad.npy "$@"
	err_has "$text"
	[ ! -e bad.npy ] || fail "$text: a histogram was written"
}
bad 2 '--gantry needs --duration-s' --gantry turns.csv
bad 2 'no randoms yet while something moves; leave out --randoms' --gantry turns.csv --duration-s 90 --randoms 0.1
bad 2 '--gantry and --exact' --gantry turns.csv --duration-s 90 --exact
bad 2 '--list-times needs --gantry' --list-times t9.npy
bad 2 '--isotope of two panels needs --gantry' --isotope F-18
bad 2 '--mu-fixed is not for a scanner of kind panels' --gantry turns.csv --duration-s 90 --mu-fixed mu.npy
bad 2 'row 3 of the gantry begins at 40 s, must be from 0 to the end of the scan, 30 s' --gantry turns.csv --duration-s 30
check "a wide object" <<'END'
import numpy as np
x = np.zeros((6, 10, 10))
x[:, 9, 0] = 1
np.save("x.npy", x)
END
bad 3 'at 20 s activity lies at 19.09 mm from the middle of the heads' --gantry corner.csv --duration-s 90 --counts 100
