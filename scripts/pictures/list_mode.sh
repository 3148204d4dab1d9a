#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the pictures of docs/list-mode.md from small runs of the program, and prints the figures that
# the page quotes. Takes a few minutes on two cores.
#
#   scripts/pictures/list_mode.sh [PROGRAM]      default: build/isotome
set -euo pipefail
program=$(realpath "${1:-$(dirname "$0")/../../build/isotome}")
source=$(realpath "$(dirname "$0")/../..")
pictures=$source/docs/pictures
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

isotome() { "$program" "$@" -q; }

cp "$source/examples/scanners/clinical-ring.yaml" scanner.yaml
grid=(--grid 79,62,49 --voxel 4)
counts=(--counts 3e6 --exact)
isotome phantom spheres -o truth.nii --mu mu.nii
isotome simulate scanner.yaml truth.nii --mu mu.nii "${counts[@]}" -o events.lmdT
isotome simulate scanner.yaml truth.nii --mu mu.nii "${counts[@]}" --randoms 0.4 \
	-o mixed.lmdT --delayed delayed.lmdT
isotome sens ray --scanner scanner.yaml "${grid[@]}" -o geometry.nii
isotome sens ray --scanner scanner.yaml --mu mu.nii "${grid[@]}" -o sens.nii
isotome sens ray --scanner scanner.yaml --mu mu.nii "${grid[@]}" --projector joseph \
	-o joseph-sens.nii

# picture NAME TITLE OPTIONS...: reconstructs, draws, and prints the figures
picture() {
	local name=$1 title=$2
	shift 2
	isotome recon ray "${grid[@]}" "$@" -o "$name.nii"
	draw "$name" "$title"
	figures "$name"
}

figures() {
	"$program" measure rmse "$1.nii" truth.nii --mask truth.nii --scale fit >rmse
	"$program" measure nema "$1.nii" --like-phantom spheres >nema
	awk -v name="$1" '
		$1 == "NRMSE" { error = 100 * $2 }
		$1 == "17" { sphere = $4 }
		$1 == "lung" { lung = $3 }
		END { printf "%-14s error %.0f %%, sphere %.0f %%, lung %.0f %%\n", name, error, sphere, lung }
	' rmse nema
}

draw() {
	isotome view "$1.nii" --at 0,0,0 --percent 0,99.9 --zoom 2 --title "$2" --labels none \
		-o "$1.png"
	cp "$1.png" "$pictures/list-mode-$1.png"
}

data=(--events events.lmdT --tof-fwhm-ps 0)
mixed=(--events mixed.lmdT --scanner scanner.yaml --tof-fwhm-ps 0 --sens sens.nii --mu mu.nii)
osem=(--method osem --subsets 8 --iterations 3)
smooth=("${osem[@]}" --filter gaussian:5)

draw truth 'the phantom'
picture baseline 'S = 1' "${data[@]}" "${smooth[@]}" --sens none
picture sensitivity 'S of the scanner' "${data[@]}" "${smooth[@]}" --sens geometry.nii
picture attenuation 'S with attenuation' "${data[@]}" "${smooth[@]}" --sens sens.nii
picture precorrected 'precorrected' "${data[@]}" "${smooth[@]}" --sens geometry.nii --mu mu.nii \
	--precorrected
picture tof 'TOF 390 ps' --events events.lmdT --tof-fwhm-ps 390 "${smooth[@]}" --sens sens.nii
picture randoms '40 % randoms, ignored' "${mixed[@]}" "${smooth[@]}" --iterations 8
picture modelled '40 % randoms, modelled' "${mixed[@]}" "${smooth[@]}" --iterations 8 \
	--delayed delayed.lmdT
grep sum_of_sensitivity_times_image modelled.json
picture mlem 'MLEM, 3 iterations' "${data[@]}" --iterations 3 --sens sens.nii
picture osem 'OSEM, 3 iterations of 8 subsets' "${data[@]}" "${osem[@]}" --sens sens.nii
picture joseph 'Joseph' "${data[@]}" "${osem[@]}" --sens joseph-sens.nii \
	--projector joseph
picture psf 'PSF 5 mm' "${data[@]}" "${osem[@]}" --sens sens.nii --psf 5
picture gaussian 'Gaussian 6 mm' "${data[@]}" "${osem[@]}" --sens sens.nii --filter gaussian:6
picture median 'median 3, every iteration' "${data[@]}" "${osem[@]}" --sens sens.nii \
	--filter median:3 --filter-every 1
du -bc "$pictures"/list-mode-*.png | tail -n 1
