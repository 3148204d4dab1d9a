# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of event files share: images of the point source of point_source.py.
grid=(--grid '40,40,16' --voxel 4)

# found peak|tof IMAGE: it shows the source; see point_source.py.
found() { "$PYTHON" "$SOURCE/tests/cmd/point_source.py" "$@" >found.txt; }

# no_tof FILE COUNTS ARGS...: the back projection of COUNTS (.npy, one a row) finds the source.
no_tof() {
	local file=$1 counts=$2
	shift 2
	run backproject ray "$counts" --events "$file" "$@" "${grid[@]}" --tof-fwhm-ps 0 -o "$file.0.nii"
	found peak "$file.0.nii" || fail "$file, no TOF: $(cat found.txt)"
}

# images FILE COUNTS ARGS...: that, and with TOF, but not with times of the other sign.
images() {
	local file=$1 tof
	no_tof "$@"
	tof=(backproject ray "$2" --events "$file" "${@:3}" "${grid[@]}" --tof-fwhm-ps 200)
	run "${tof[@]}" -o "$file.1.nii"
	found tof "$file.1.nii" || fail "$file, TOF: $(cat found.txt)"
	run "${tof[@]}" --swap-dt -o "$file.2.nii"
	! found tof "$file.2.nii" || fail "$file, times of the wrong sign: $(cat found.txt)"
}
