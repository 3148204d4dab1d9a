#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome gate against reference vectors; a signal found in events; and what is refused.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python
from=$TEST_DATA/warp

"$PYTHON" - "$from" "$(size 40000 15000)" <<'END'
import sys

import numpy as np

np.savetxt("belt.csv", np.load(sys.argv[1] + "/trace.npy"), fmt="%.17g", delimiter=",", header="time_s,signal", comments="")
np.savetxt("ecg.txt", np.load(sys.argv[1] + "/triggers_s.npy"), fmt="%.17g")
# a ball that moves by +-12 mm along z in 4 s, in the middle of lines along x
n = int(sys.argv[2])
r = np.random.default_rng(2)
t = np.sort(r.uniform(0, 30, n))
p = r.normal(0, 8, (n, 3))
p[:, 2] += 12 * np.sin(2 * np.pi * t / 4)
ends = np.column_stack([p[:, 0] - 300, p[:, 1:], p[:, 0] + 300, p[:, 1:], t])
np.savetxt("events.csv", ends, fmt="%.3f", delimiter=",", header="x1,y1,z1,x2,y2,z2,time_s", comments="")
np.savetxt("still.csv", ends[:, :6], fmt="%.3f", delimiter=",", header="x1,y1,z1,x2,y2,z2", comments="")
END

run gate belt.csv --amplitude 6 -o amplitude.csv
err_has "6 gates in"
run gate "$from/trace.npy" --amplitude 6 -o same.csv -q
same amplitude.csv same.csv
run gate ecg.txt --phase 6 -o phase.csv
run gate "$from/triggers_odd_s.npy" --phase 6 -o odd.csv
run gate belt.csv --phase 4 -o of_trace.csv
run gate belt.csv --levels=-0.5,1 -o levels.csv
run gate events.csv --from-data centroid --amplitude 4 -o centroid.csv --signal z.csv
run gate events.csv --from-data pca --phase 4 -o pca.csv --signal pca_z.csv
check "gates" "$from" <<'END'
import sys

from checks import *


def gates(name, at):
    rows = np.loadtxt(name, delimiter=",", skiprows=1)
    k = np.searchsorted(rows[:, 1], at, side="right")
    inside = (k < len(rows)) & (at >= rows[np.minimum(k, len(rows) - 1), 0])
    return np.where(inside, rows[np.minimum(k, len(rows) - 1), 2], -1)


def load(name):
    return np.load(f"{sys.argv[1]}/{name}.npy")


ask = load("gate_ask_s")
require(np.array_equal(gates("amplitude.csv", ask), load("gate_amplitude6")), "by amplitude")
require(np.array_equal(gates("phase.csv", ask), load("gate_phase6")), "by phase")
require(np.array_equal(gates("odd.csv", ask), load("gate_phase6_odd")), "by phase, a beat missed")
trace = load("trace")
at = np.linspace(.1, 59.9, 997)
s = np.interp(at, *trace.T)
require(np.array_equal(gates("levels.csv", at), (s >= -.5) * 1 + (s >= 1)), "by levels")
for name in "z.csv", "pca_z.csv":
    z = np.loadtxt(name, delimiter=",", skiprows=1)
    require(np.allclose(z[:, 0], .25 + .5 * np.arange(len(z))), f"{name}: times")
    c = np.corrcoef(z[:, 1], np.sin(2 * np.pi * z[:, 0] / 4))[0, 1]
    require(c > .97, f"{name}: correlation {c}")
END

# ---- what is refused: nothing is written ----
expect 2 gate belt.csv -o none.csv
err_has "one of --phase, --amplitude and --levels"
expect 2 gate belt.csv --phase 4 --amplitude 4 -o none.csv
err_has "one of --phase, --amplitude and --levels"
expect 2 gate belt.csv --phase 4 --signal s.csv -o none.csv
err_has "--signal goes with --from-data"
expect 2 gate belt.csv --levels 1,a -o none.csv
err_has "--levels is '1,a'"
expect 3 gate ecg.txt --amplitude 4 -o none.csv
err_has "ecg.txt: has times alone"
expect 3 gate still.csv --from-data centroid --amplitude 4 -o none.csv
err_has "the events have no times"
expect 2 gate events.csv --from-data pca --band 0.1,3 --amplitude 4 -o none.csv
err_has "--band is 0.1 to 3 Hz"
expect 3 gate levels.csv --amplitude 4 -o none.csv
err_has "levels.csv: 3 columns; a trace has times and values"
sed '30s/,.*/,x/' belt.csv >cut.csv
expect 3 gate cut.csv --amplitude 4 -o none.csv
err_has "cut.csv: line 30, column 2 (signal): 'x' is not a number"
sed '30s/^[^,]*/0/' belt.csv >back.csv
expect 3 gate back.csv --amplitude 4 -o none.csv
err_has "back.csv: line 30: time 0 s does not rise"
expect 2 gate belt.csv --amplitude 4 -o levels.csv
err_has "levels.csv"
[ ! -e none.csv ] || fail "a refused run wrote a table"
