#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every functional test, C and Python: installs what they need, builds with gcc, runs them. Kernels are compiled if there is
# a card to run them; test-more.sh always compiles them. Ends with the seconds of each stage, and the number of CUDA tests
# run and skipped. At most 12 minutes on two idle cores.
#
#     scripts/test.sh [--strict]
#
# test-more.sh goes on from here with sanitizers, fuzzing, data races, packages and a browser; test-all.sh runs
# everything in full.
#
# --strict, or ISO_TEST_STRICT=1: what would be left out for want of a library, a module of Python or a
# compiler fails; only a GPU may be missing. So it is wherever the packages can be installed, unless
# ISO_TEST_STRICT=0. ISOTOME_NO_INSTALL=1 installs nothing; ISOTOME_CMAKE holds further arguments for cmake.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.bash
. scripts/testing/strict.bash
. scripts/testing/python.bash
. scripts/testing/stages.bash
. scripts/testing/lists.bash
ISO_TEST_STRICT=$(strict_or_not "$@")
export ISO_TEST_STRICT
export ISOTOME_CACHE=none # no test depends on what an earlier run kept
# shellcheck disable=SC2086
install_packages $build_packages $test_packages $wheel_packages $site_packages

# all of them, where there is a GPU
cuda_tests() {
	[ -z "$cuda" ] || [ "$ISO_TEST_STRICT" != 1 ] || [ "$(cuda_skipped "$cuda_log")" = 0 ]
}

# places that .clang-format would write otherwise; passes where its version is not to be had
format() {
	local status=0

	bash scripts/format.sh --check || status=$?
	[ $status = 77 ] || return $status
}

no_cuda_symbols() {
	local names

	names=$(nm -D build/libisotome.so) && ! grep -iE ' U cu(da)?[A-Z]' <<<"$names"
}

structure() {
	"${PYTHON:-/usr/bin/python3}" scripts/structure.py --checks all
}

stage structure
stage format
leave_out "$only_full|$not_functional"
if [ -n "$cuda" ]; then kernels=ON; else kernels=OFF; fi
stage release -DISO_CUDA="$kernels" -DISO_TESTS_DOUBLE=OFF
stage tests build
cuda_log=build/Testing/Temporary/LastTest.log
cp "$cuda_log" build/functional.log
stage cuda_tests
stage no_cuda_symbols
stage python_here

finish "CUDA: $(cuda_run build/functional.log) run, $(cuda_skipped build/functional.log) skipped"
