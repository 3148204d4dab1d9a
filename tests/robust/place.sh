#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A point source comes back at its own place in the world: every axis, both signs, on grids that
# are centred and that are not, with and without TOF.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

solid_ring >ring.yaml
number=0

# point X,Y,Z GRID VOXEL CENTRE: the place must be the centre of a voxel.
point() {
	local grid=(--grid "$2" --voxel "$3" --centre "$4") tof
	number=$((number + 1))
	run phantom point --at "$1" "${grid[@]}" -o "truth$number.nii"
	run simulate ring.yaml "truth$number.nii" --counts 20000 -o "e$number.lmdT"
	run sens ray --scanner ring.yaml "${grid[@]}" -o "sens$number.nii"
	for tof in 0 300; do
		run recon ray --events "e$number.lmdT" --sens "sens$number.nii" "${grid[@]}" \
			--tof-fwhm-ps "$tof" --iterations 10 -o "x${number}_$tof.nii.gz"
	done
	check "the source is not at $1" "$number" "$1" "$3" <<-'END'
		from checks import *
		number, at, voxel = sys.argv[1], *(np.array(eval(a), float) for a in sys.argv[2:])

		def centroid(path):
		    v, world = image(path).astype(float), centres(path)
		    v[v < .02 * v.max()] = 0  # noise far away would pull on it
		    return [np.sum(v * w) / np.sum(v) for w in world], [w.flat[v.argmax()] for w in world]

		near("phantom", centroid(f"truth{number}.nii")[0], at, 1e-4 * voxel)
		for tof in 0, 300:
		    mean, peak = centroid(f"x{number}_{tof}.nii.gz")
		    near(f"peak, TOF {tof} ps", peak, at, 1e-4 * voxel)
		    near(f"centroid, TOF {tof} ps", mean, at, .1 * voxel)

		# The events themselves: LORs pass by the source, and t2 - t1 says where on them it lies.
		e = np.fromfile(f"e{number}.lmdT", "<f4").reshape(-1, 7).astype(float)
		p1, p2, dt = e[:, :3], e[:, 3:6], e[:, 6]
		along = (p2 - p1) / np.linalg.norm(p2 - p1, axis=1)[:, None]
		off = np.linalg.norm(np.cross(at - p1, along), axis=1)
		require(np.median(off) < 4, f"LORs pass {np.median(off):.1f} mm from the source")
		flight = np.linalg.norm(at - p2, axis=1) - np.linalg.norm(at - p1, axis=1)
		residual = dt - flight / .299792458
		require(abs(residual.mean()) < 4, f"times are {residual.mean():.1f} ps off")
		near("TOF resolution, ps", residual.std() * 2.3548, 300, 20)
		slope = np.sum(dt * flight) / np.sum(flight**2) * .299792458
		near("slope of the times", slope, 1, .05)
	END
}

#      place         grid      voxel  centre
point  24,-20,18     31,25,11  4,5,6  0,0,0
point -30,22.5,-9    32,26,12  4,5,6  0,0,0
point  30,-28,18     21,23,9   4,5,6  10,-8,6
point -37,41,-14.5   20,19,8   6,6,5  -4,11,-2
point  41.5,47,17    16,17,10  5,6,4  44,35,7
echo "all passed"
