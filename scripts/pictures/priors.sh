#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the pictures of docs/priors.md: a short scan of hot and cold spheres by OSEM, with and without a filter, with
# relative differences, and with Bowsher weights of a perfect anatomical image, at about equal noise; and prints the
# figures that the page quotes. A minute or two on two cores.
#
#   scripts/pictures/priors.sh [PROGRAM]      default: build/isotome
set -euo pipefail
source=$(realpath "$(dirname "$0")/../..")
program=$(realpath "${1:-$source/build/isotome}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p "$source/docs/pictures/priors"
grid=(--grid '80,64,24' --voxel 4)
scanner=$source/examples/scanners/clinical-ring.yaml
"$program" phantom spheres "${grid[@]}" --mu mu.nii -o truth.nii -q
"$program" simulate "$scanner" truth.nii --mu mu.nii --counts 5e5 --randoms 0.3 --delayed late.lmdT --seed 3 -q -o e.lmdT
"$program" sens ray --scanner "$scanner" --mu mu.nii "${grid[@]}" -q -o sens.nii

recon() { # NAME ARGS...
	"$program" recon ray --events e.lmdT --delayed late.lmdT --scanner "$scanner" --mu mu.nii --sens sens.nii \
		"${grid[@]}" -q "${@:2}" -o "$1.nii"
}
svrg=(--method svrg --penalty rdp:rel=0.4)
recon osem --method osem --subsets 8 --iterations 5
recon filtered --method osem --subsets 8 --iterations 5 --filter gaussian:8
recon rdp "${svrg[@]}"
recon bowsher "${svrg[@]}" --bowsher truth.nii

# draw NAME TITLE TOP
draw() {
	"$program" view "$1.nii" --at 0,0,0 --zoom 3 --title="$2" --labels none --window "0,$3" -q -o "$1.png"
	cp "$1.png" "$source/docs/pictures/priors/$1.png"
}
draw truth 'the phantom' 4.4
for name in osem filtered rdp bowsher; do
	"$program" measure nema $name.nii --like-phantom spheres --json >$name.nema
	top=$(python3 -c "import json; print(4.4 * json.load(open('$name.nema'))['results']['spheres'][-1]['background'])")
	case $name in
	osem) draw osem 'OSEM' "$top" ;;
	filtered) draw filtered 'OSEM, gaussian:8' "$top" ;;
	rdp) draw rdp 'rdp:rel=0.4' "$top" ;;
	bowsher) draw bowsher 'rdp:rel=0.4, --bowsher' "$top" ;;
	esac
	echo "$name"
	"$program" measure nema $name.nii --like-phantom spheres
done
