#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks of traces: speed of sound, sampling, arrival; what is refused, doubted, and what is no cause for alarm.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
# shellcheck source=tests/problem/checks.bash
. "$SOURCE/tests/problem/checks.bash"
need_python

# array NAME [KEY VALUE...]: 96 points on a sphere of 40 mm, 800 samples, 0 to 40 us; keys replace these
array() {
	local name=$1
	shift
	printf '%s\n' 'kind: transducers' 'sphere: {radius_mm: 40, rings: 8, views: 12}' 'speed_mm_per_us: 1.5' \
		'sampling_mhz: 20' 'samples: 800' 'first_sample_us: 0' >"$name.yaml"
	while [ $# -gt 0 ]; do
		sed -i "s/^$1: .*/$1: $2/" "$name.yaml"
		shift 2
	done
}
array s
run simulate s.yaml nine-spheres -o y.npy
run simulate s.yaml nine-spheres --noise 0.05 -o noisy.npy

grid=(--grid '15,15,29' --voxel 2)
all=speed,sampling,arrival
# ubp SCANNER [DATA]: the arguments of a run
ubp() { echo "ubp --scanner $1.yaml --data ${2:-y}.npy ${grid[*]}"; }

# ---- what fits: the models, noise, a part of the object, an image that the record holds most of ----
# shellcheck disable=SC2046
{
	fits $all $(ubp s)
	fits $all $(ubp s noisy)
	fits $all ubp --scanner s.yaml --data y.npy --grid 5,5,5 --voxel 1
	fits $all ubp --scanner s.yaml --data y.npy --grid 40,40,1 --voxel .7 --speeds 1.4,1.6,3
	fits $all sradon --scanner s.yaml --data y.npy --grid 9,9,13 --voxel 3 --iterations 1
	fits $all svoxel --scanner s.yaml --data y.npy --grid 9,9,13 --voxel 3 --iterations 1 --fmax-mhz .25
	run project svoxel --scanner s.yaml --fmax-mhz .25 x.nii -o spectra.npy
	fits speed,sampling svoxel --scanner s.yaml --data spectra.npy --grid 9,9,13 --voxel 3 --iterations 1 --fmax-mhz .25

	# ---- the speed of sound ----
	doubted speed 'the speed of sound is 1.8 mm/us; water and soft tissue have 1.40 to 1.60' $(ubp s) --speed 1.8
	doubted speed 'the speed of sound is 1.25 mm/us' $(ubp s) --speeds 1.2,1.25,2
	fits $all $(ubp s) --speeds 1.2,1.5,3

	# ---- a record that is too short, or too coarse: what no sample holds can't be taken ----
	array khz sampling_mhz 20000
	expect 3 recon $(ubp khz) -o no.nii
	err_has 'khz.yaml: at 1.5 mm/us: transducers: the record holds 0 to 0.03995 us, but the image is heard from'
	err_has 'mm away: is the sampling rate in kHz (MHz are expected)'
	expect 3 recon $(ubp s) --speeds 1450,1550,3 -o no.nii
	err_has 'is the speed in m/s (mm/us are expected)'
	array slow speed_mm_per_us 0.0015
	expect 3 recon $(ubp slow) -o no.nii
	err_has 'is the speed in m/us (mm/us are expected)'
	array interval sampling_mhz 0.05
	refused sampling 'interval.yaml: at 1.5 mm/us its 800 samples hold sound from 0 to 2.4e+04 mm away, one every 30 mm' $(ubp interval)
	err_has 'is the sampling rate in GHz, or the interval of samples (MHz are expected)'
	array double sampling_mhz 45
	doubted sampling 'the record holds' $(ubp double)

	# ---- an image beside the transducers is always heard, whatever the speed ----
	check "a plane of transducers" <<-'END'
		import numpy as np
		x = np.arange(16) * 2. - 15
		p = np.stack(np.meshgrid(x, x, [0.]), -1).reshape(-1, 3)
		np.save("p.npy", p)
		np.save("n.npy", p * 0 + [0, 0, 1])
		np.save("a.npy", np.full(len(p), 4.))
		t = np.arange(400) / 20
		y = np.array([np.exp(-((t - np.linalg.norm(q - [0, 0, 12]) / 1.5) / .2) ** 2) for q in p])
		np.save("flat.npy", y.astype("f4"))
		y[:, :8] += 50	# the laser's own pulse
		np.save("pulse.npy", y.astype("f4"))
	END
	near=(--grid '15,15,20' --voxel 1 --centre '0,0,10.1')
	printf '%s\n' 'kind: transducers' 'positions: p.npy' 'normals: n.npy' 'areas: a.npy' 'speed_mm_per_us: 1.5' 'sampling_mhz: 20' \
		'samples: 400' >plane.yaml
	plane=(ubp --weights solid-angle --scanner plane.yaml)
	fits $all "${plane[@]}" --data flat.npy "${near[@]}"
	fits $all "${plane[@]}" --data pulse.npy "${near[@]}"
	expect 3 recon "${plane[@]}" --data flat.npy "${near[@]}" --speeds 1400,1600,2 -o no.nii
	err_has 'plane.yaml: the speed of sound is 1400 mm/us, in water it is 1.5: is the speed in m/s (mm/us are expected); --accept speed'
	also=sampling refused speed 'plane.yaml: the speed of sound is 60 mm/us, in water it is 1.5' \
		"${plane[@]}" --data flat.npy "${near[@]}" --speed 60

	# ---- the time of the first sound ----
	array from first_sample_us 15
	doubted arrival 'of its loud sound arrives after that of the image: first after 30' $(ubp from) --grid 5,5,5 --voxel 1
	check "traces that begin 15 us before they should" <<-'END'
		import numpy as np
		y = np.load("noisy.npy")
		np.save("early.npy", np.concatenate([y[:, 300:], y[:, :300] * 0], axis=1))
	END
	doubted arrival 'of its loud sound arrives before that of the image: first after' $(ubp s early) --grid 11,11,11 --voxel 1.5
	err_has 'do speed, sampling rate and first sample fit the traces'
}
# names of checks are known
expect 2 recon ubp --scanner s.yaml --data y.npy "${grid[@]}" --accept sped -o x.nii --force
err_has "names no check 'sped'; did you mean speed"
