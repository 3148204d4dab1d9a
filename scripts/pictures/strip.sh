#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the pictures of docs/strip.md from small runs of the program, and prints the figures that the
# page quotes. Takes about a minute on two cores.
#
#   scripts/pictures/strip.sh [PROGRAM]      default: build/isotome
set -euo pipefail
program=$(realpath "${1:-$(dirname "$0")/../../build/isotome}")
source=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

isotome() { "$program" "$@" -q; }

cp "$source/examples/scanners/bialas2015.yaml" scanner.yaml
isotome phantom ellipses -o truth.nii
isotome simulate scanner.yaml ellipses --counts 1e6 -o events.f32

# picture NAME TITLE OPTIONS...: reconstructs, draws, and prints the error where the phantom is
picture() {
	local name=$1 title=$2
	shift 2
	isotome recon strip --scanner scanner.yaml --events events.f32 "$@" -o "$name.nii"
	draw "$name" "$title"
	"$program" measure rmse "$name.nii" truth.nii --mask truth.nii --scale fit |
		awk -v name="$name" '$1 == "NRMSE" { printf "%-8s error %.1f %%\n", name, 100 * $2 }'
}

draw() {
	isotome view "$1.nii" --zoom 4 --title "$2" --labels none --force -o "$1.png"
	cp "$1.png" "$source/docs/pictures/strip-$1.png"
}

draw truth 'the phantom'
picture direct 'direct' --method direct
picture eq7 'eq7, 10 iterations' --iterations 10
picture tan 'tan with the ends, 10 iterations' --kernel tan --edge --iterations 10
picture gauss 'gauss, 10 iterations' --kernel gauss --iterations 10
picture raw 'raw, 10 iterations' --form raw --iterations 10
picture eq3 'eq3, 10 iterations' --form eq3 --iterations 10
picture follow "followed, blocks of 100 000 events" --follow --idle-s 0.5 --kernel tan --edge
du -bc "$source"/docs/pictures/strip-*.png | tail -n 1
