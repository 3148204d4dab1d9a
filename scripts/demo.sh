#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# From a bare Debian or Ubuntu machine to a reconstructed image: installs what the build needs,
# builds, simulates a PET scan of hot spheres in a body, and reconstructs it.
#
#   scripts/demo.sh [FOLDER]      where the files go; default: demo
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.bash
out=${1:-demo}
build=${ISOTOME_BUILD:-build}
# shellcheck disable=SC2086
install_packages $build_packages

if [ -f "$build/CMakeCache.txt" ]; then
	cmake -S . -B "$build" >/dev/null
else
	cmake -S . -B "$build" -DISO_TESTS=OFF >/dev/null
fi
cmake --build "$build" -j "$(nproc)" | grep -v '^\[' || true
isotome="$build/isotome"
scanner=examples/scanners/clinical-ring.yaml
mkdir -p "$out"

run() { echo "+ isotome $*"; "$isotome" "$@" --force; }
run phantom spheres -o "$out/truth.nii" --mu "$out/mu.nii"
run simulate "$scanner" "$out/truth.nii" --mu "$out/mu.nii" --counts 2e6 -o "$out/events.lmdT"
run recon ray --events "$out/events.lmdT" --scanner "$scanner" --mu "$out/mu.nii" \
	--grid 79,62,49 --voxel 4 --method osem --subsets 8 --iterations 2 -o "$out/image.nii"
"$isotome" info "$out/image.nii"
echo "the image is $out/image.nii, its record $out/image.json, the truth $out/truth.nii"
