#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What an object that moves costs on a GPU, beside the targets. Simulates all that it needs; about a minute on an H200.
#
#   bench/motion_gpu.sh [BUILD]       BUILD: the folder with the programs, default build
#
# DEVICE=cpu runs the same on the CPU, at a size that ends soon.
set -euo pipefail
build=$(realpath "${1:-build}")
source=$(realpath "$(dirname "$0")/..")
isotome=$build/isotome
device=${DEVICE:-cuda}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
small=()
events=400000 short=10 long=50
if [ "$device" = cpu ]; then
	small=(--events 2e4 --lines 2e4 --frame-events 4000 --size 32)
	events=4000 short=3 long=6
fi

bench() { # WHAT TARGET ARGS...
	echo "== $1; target: $2"
	shift 2
	"$isotome" bench poses --device "$device" -q "${small[@]}" "$@"
}

bench 'the sensitivity by lines, 300 poses, clinical ring, 4 mm' '1 s' --case sens --repeats 2
bench 'its distance from that by 16 times as many lines' '0.5 % rms' --case accuracy --repeats 1
bench 'a warp and its transpose' '25 % and 8 % of the limit' --case warp --repeats 20
bench 'a step of EM with poses' '1.02 of that without' --case step --repeats 10
bench 'a step of 8 gates with fields' '1.2 of a still step and the warps' --case gates --repeats 10
bench 'a frame of isotome motion without its file' '10 ms' --case frame --repeats 10

# ---- isotome motion, from a file ----

seconds() { # COMMAND... -> seconds that it takes
	local from
	from=$(date +%s.%N)
	"$@" >&2
	echo "$(date +%s.%N) $from" | awk '{ print $1 - $2 }'
}

scan() { # SECONDS: a head for so long, $events a second
	"$isotome" simulate "$source/examples/scanners/clinical-ring.yaml" head.nii --poses poses.csv --duration-s "$1" \
		--counts $((events * $1)) --device "$device" --force -q -o "scan$1.Cdh"
	seconds "$isotome" motion "scan$1.Cdh" --scanner "$source/examples/scanners/clinical-ring.yaml" --events-per-frame 0 --rounds 1 --device "$device" --force -q -o "found$1.csv"
}

{
	echo 'time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm'
	for ((k = 0; k <= long; k++)); do
		awk -v k="$k" 'BEGIN { a = .02 * sin(k); printf "%d,%.9g,0,0,%.9g,%.9g,0,%.9g\n", k, cos(a), sin(a), 3 * sin(.7 * k), 2 * cos(k) }'
	done
} >poses.csv
cat >head.yaml <<END
shapes: # scalp, grey and white matter, ventricles, ganglia, cerebellum
  - {type: ellipsoid, radius_mm: [72, 88, 78], activity: 0.6}
  - {type: ellipsoid, centre_mm: [0, 5, -2], radius_mm: [64, 80, 68], activity: 4}
  - {type: ellipsoid, centre_mm: [0, 5, -2], radius_mm: [52, 68, 56], activity: 1.6}
  - {type: ellipsoid, centre_mm: [18, 10, 5], radius_mm: [9, 26, 14], activity: 0.2}
  - {type: ellipsoid, centre_mm: [-18, 10, 5], radius_mm: [9, 26, 14], activity: 0.2}
  - {type: ellipsoid, centre_mm: [25, -5, -8], radius_mm: [9, 12, 9], activity: 5}
  - {type: ellipsoid, centre_mm: [-25, -5, -8], radius_mm: [9, 12, 9], activity: 5}
  - {type: ellipsoid, centre_mm: [0, -50, -40], radius_mm: [38, 22, 20], activity: 4}
END
"$isotome" phantom head.yaml --voxel 2 -o head.nii -q --force
echo "== isotome motion, $events events a frame; target: 10 ms a frame"
a=$(scan $short)
b=$(scan $long)
awk -v a="$a" -v b="$b" -v n=$((long - short)) -v s=$short -v l=$long \
	'BEGIN { printf "%.3g s for %d frames, %.3g s for %d: %.3g ms for each further frame\n", a, s, b, l, 1e3 * (b - a) / n }'
