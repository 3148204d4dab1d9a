#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# isotome scatter: which time of flight a table has that no event is needed for.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_hdf5

cat >ring.yaml <<'YAML'
kind: cylinder
radius_mm: 100
rings: 4
ring_pitch_mm: 8
crystals_per_ring: 36
min_crystal_distance: 9
energy: {resolution: 0.12, window_kev: [435, 650]}
YAML
cp ring.yaml timed.yaml
echo 'tof: {fwhm_ps: 300}' >>timed.yaml
cat >phantom.yaml <<'YAML'
shapes:
  - {type: cylinder, centre_mm: [0, 0, 0], radius_mm: 40, length_mm: 20, axis: z, activity: 1, mu_per_mm: 0.0096}
YAML
run phantom phantom.yaml --grid 10,10,4 --voxel 10 -o x.nii --mu mu.nii
run simulate timed.yaml x.nii --counts 2000 --tof-fwhm-ps 500 -o e.Cdh
run simulate ring.yaml x.nii --counts 2000 -o plain.lmdT

# table NAME SCANNER ARGS...: the estimate without Monte Carlo
table() {
	run scatter "$2" x.nii --mu mu.nii --method sss --device cpu "${@:3}" -o "$1.h5"
}
as() { # NAME OTHER: the same numbers
	check "$1 and $2" "$1.h5" "$2.h5" <<'PY' || fail "$1.h5 is not $2.h5"
import sys
import h5py, numpy as np
def values(path):
    found = {}
    h5py.File(path).visititems(lambda name, d: found.update({name: d[()]}) if isinstance(d, h5py.Dataset) else None)
    return found
a, b = (values(p) for p in sys.argv[1:])
if a.keys() != b.keys() or any(np.shape(a[k]) != np.shape(b[k]) or np.any(a[k] != b[k]) for k in a):
    sys.exit(f"{sys.argv[1]} and {sys.argv[2]} differ")
PY
}

table none ring.yaml
table none0 timed.yaml --tof-fwhm-ps 0
table t300 ring.yaml --tof-fwhm-ps 300
table t500 ring.yaml --tof-fwhm-ps 500
table scanner timed.yaml
table events timed.yaml --events e.Cdh --scanner-differs
table option timed.yaml --events e.Cdh --scanner-differs --tof-fwhm-ps 300
table text timed.yaml --events plain.lmdT
as none none0
as scanner t300
as events t500 # the events' own, before the scanner's
as option t300
as text t300
cmp -s t300.h5 t500.h5 && fail "tables do not depend on the time of flight: this test is blind"
exit 0
