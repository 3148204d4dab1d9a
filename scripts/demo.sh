#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# From a bare Debian or Ubuntu machine to a reconstructed image and a page about it: installs what
# the build needs, builds, and runs 'isotome demo'. The second time it does only what has changed.
#
#   scripts/demo.sh [FOLDER]      where the files go; default: demo
set -euo pipefail
out=$(realpath -m -- "${1:-$(dirname "$0")/../demo}")
cd "$(dirname "$0")/.."
. scripts/packages.bash
build=${ISOTOME_BUILD:-build}
# shellcheck disable=SC2086
install_packages $build_packages

options=() again=()
# a new build has the kernels of the GPU that is here and of no other: that takes a fifth of the time
if [ ! -f "$build/CMakeCache.txt" ]; then
	options=(-DISO_TESTS=OFF)
	if nvidia-smi -L >/dev/null 2>&1; then
		options+=(-DCMAKE_CUDA_ARCHITECTURES=native)
	else
		options+=(-DISO_CUDA=OFF)
	fi
fi
[ ! -e "$out/truth.nii" ] || again=(--force)
echo "building in $build"
cmake -S . -B "$build" "${options[@]}" >/dev/null
cmake --build "$build" -j "$(nproc)" | grep -v '^\[' || true

if [ "$out/report.html" -nt "$build/isotome" ]; then
	echo "$out holds the run of this build; remove it to run again"
else
	"$build/isotome" demo -o "$out" "${again[@]}"
fi
echo "open $out/report.html in any browser"
