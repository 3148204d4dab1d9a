#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MATLAB files of level 5 and 7.3: a variable as traces, as positions, as an image; what is refused, with the list of
# the variables that are there; damaged files.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python
M=$TEST_DATA/mat

if ! grep -q matio <<<"$("$ISOTOME" --built-with)"; then
	expect 3 info "$M/v5.mat"
	err_has 'this build has no matio'
	skip "this build has no matio"
fi

for level in v5 v5z v73; do
	run convert "$M/$level.mat:sensor_data" $level.npy
done
run convert "$M/v73.mat:positions" positions.npy
run convert "$M/v5z.mat:raw" raw.npy
check "values, and their axes" <<-END
	import numpy as np
	want = np.load("$M/sensor_data.npy").astype("f4")
	for level in ("v5", "v5z", "v73"):
	    got = np.load(level + ".npy")
	    assert got.shape == want.shape and np.array_equal(got, want), level
	assert np.array_equal(np.load("positions.npy"), np.load("$M/positions.npy").astype("f4"))
	assert np.array_equal(np.load("raw.npy"), np.trunc(1000 * np.load("$M/sensor_data.npy")).astype("f4"))
END
run info "$M/v5.mat:fs"

# traces and positions of one file
cp "$M/v5.mat" a.mat
printf '%s\n' 'kind: transducers' 'positions: a.mat:positions' 'positions_unit: m' 'speed_mm_per_us: 1.5' 'sampling_mhz: 1' \
	'first_sample_us: 0' 'samples: 12' >a.yaml
run info a.yaml
out_has 'transducers       5'
cp "$M/positions.npy" "$M/sensor_data.npy" .
sed 's/a.mat:positions/positions.npy/' a.yaml >b.yaml
tiny=(--grid '2,2,2' --voxel 1 --centre '0,0,0')
for from in a b; do
	data=a.mat:sensor_data
	[ $from = b ] && data=sensor_data.npy
	run recon ubp --data $data --scanner $from.yaml "${tiny[@]}" --weights solid-angle --band-mhz 0,0 -o $from.npy
done
same a.npy b.npy
grep -q '"name": "a.mat"' a.npy.json || fail "the record does not name the file"

# what is not there, or of another class
expect 3 info a.mat
err_has 'more than one array of numbers with rows and columns'
err_has 'sensor_data (5 x 12 double), positions (5 x 3 double), fs (1 x 1 double)'
expect 3 convert a.mat:sensordata no.npy
err_has 'a.mat: has no variable sensordata; it has sensor_data (5 x 12 double)'
expect 3 convert a.mat:names no.npy
err_has 'variable names is text, must be numbers'
expect 3 convert "$M/v5z.mat:cplx" no.npy
err_has 'variable cplx is complex'
sed 's/:positions/:sensor_data/' a.yaml >c.yaml
expect 3 info c.yaml
err_has 'variable sensor_data has 2 axes, the last of 12 values; must be (n, 3)'
expect 3 info none.mat:x
err_has 'No such file'
head -c 300 "$M/v5.mat" >cut.mat
expect 3 convert cut.mat:sensor_data no.npy
head -c 2000 "$M/v73.mat" >cut73.mat
expect 3 convert cut73.mat:sensor_data no.npy
printf 'no MATLAB file' >text.mat
expect 3 convert text.mat:x no.npy
err_has 'text.mat: '
expect 2 convert sensor_data.npy out.mat
check "bytes that are wrong" <<-END
	import os, random, subprocess
	random.seed(1)
	for level in ("v5", "v5z", "v73"):
	    whole = open("$M/" + level + ".mat", "rb").read()
	    for k in range(8):
	        b = bytearray(whole)
	        for i in range(3): b[random.randrange(128, len(b))] = random.randrange(256)
	        open("f.mat", "wb").write(b)
	        r = subprocess.run(["$ISOTOME", "convert", "f.mat:sensor_data", "f.npy", "--force"], capture_output=True)
	        assert r.returncode in (0, 3), (level, k, r)
END
[ -e no.npy ] && fail "an error left a file"
true
