#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A small run of every model, and two problems on two threads, under clang's thread sanitizer, in the folder build-tsan or the one named:
#
#	bash scripts/tsan.sh [FOLDER]
#
# Needs clang, and libomp with Archer, the library that tells the sanitizer of OpenMP's barriers; gcc's
# OpenMP has none, so that every parallel loop would look like a race.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${1:-build-tsan}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2086
cmake -S . -B "$dir" -DCMAKE_C_COMPILER=clang -DISO_SANITIZE=thread -DISO_CUDA=OFF -DISO_TESTS=OFF \
	${ISOTOME_CMAKE:-} >"$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$dir" -j "$(nproc)" --target isotome_program two_problems >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

archer=$(clang -print-resource-dir)/../../libarcher.so
[ -f "$archer" ] || { echo "no libarcher.so beside clang's libomp: without it every loop is a race" >&2; exit 1; }
export OMP_TOOL_LIBRARIES=$archer SMALL_RUNS_THREADS=4 OMP_WAIT_POLICY=passive SMALL_RUNS_EVENTS=6000
# libomp itself is not instrumented: what it reads and writes is its own affair
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66 halt_on_error=0"
${PYTHON:-/usr/bin/python3} tests/robust/small_runs.py "$dir/isotome" . "$work/runs" \
	sens_5point project backproject ray_plain ray_all ray_stream filter filter_median \
	srm_add srm_import srm_analytic norm srm_project srm_correlation \
	strip strip_tan strip_direct strip_follow ubp sradon_project sradon_tv svoxel svoxel_rect svoxel_direct
"$dir/tests/two_problems" examples/scanners/small-animal.yaml examples/scanners/bialas2015.yaml
echo "no data races"
