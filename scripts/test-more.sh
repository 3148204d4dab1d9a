#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What test.sh leaves to a machine that has more time, in a tree where test.sh has passed: attacks, packages and a
# browser on the release build, the Python wheel, clang's sanitizers (in full, or without clang, gcc's), fuzzing and data
# races. Ends with the seconds of each stage. With test.sh at most 35 minutes on two idle cores: what would take longer
# runs as a fixed sample, and in full by test-all.sh. The environment is test.sh's.
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
install_packages $build_packages $test_packages $wheel_packages $package_packages $site_packages
# where it does not come from a package (Ubuntu has none), it may be there all the same
command -v chromium >/dev/null || install_packages $browser_packages

fuzz() {
	bash scripts/fuzz.sh "$1"
}

# small_runs FOLDER: one of every command and model
small_runs() {
	local work status=0

	work=$(mktemp -d)
	ASAN_OPTIONS=detect_leaks=0 "${PYTHON:-/usr/bin/python3}" tests/robust/small_runs.py "$1/isotome" . "$work" \
		>"$work.log" 2>&1 || { status=1; cat "$work.log"; }
	rm -rf "$work" "$work.log"
	return $status
}

data_races() {
	bash scripts/tsan.sh
}

no_clang() {
	missing "no clang here: its build, the fuzzing and the thread sanitizer"
}

# Debian packages, the steps of the container and the conda recipe, in clean roots
clean_roots() {
	bash scripts/package.sh -o build-package/dist && bash scripts/package_test.sh build-package/dist &&
		bash scripts/container_test.sh && bash scripts/conda_lint.sh
}

# sanitized FOLDER ARGUMENT...: under the sanitizers a small run of every command, and the tests less those that take
# longest
sanitized() {
	leave_out "$longest"
	stage build "$@" -DISO_TESTS_DOUBLE=OFF
	stage small_runs "$1"
	stage tests "$1"
	stage python_sanitized "$1" "$(runtime "$1")" "$(gcc -print-file-name=libstdc++.so)"
}

# runtime FOLDER: the library of the sanitizer that the folder was built with
runtime() {
	if [ "$1" = build-clang ]; then
		clang -print-file-name="libclang_rt.asan-$(uname -m).so"
	else
		gcc -print-file-name=libasan.so
	fi
}

leave_out "$only_full"
stage release -DISO_CUDA=ON -DISO_TESTS_DOUBLE=ON -DCMAKE_CUDA_FLAGS="$kernel_flags"
stage tests build -R "$not_functional"
stage python_wheel
stage python_wheel_tests
stage python_install
stage python_documents
[ "$full" != 1 ] || stage python_frameworks
[ "$full" != 1 ] || stage clean_roots

if [ "$full" = 1 ] || ! command -v clang >/dev/null; then
	sanitized build-sanitize -DCMAKE_BUILD_TYPE=RelWithDebInfo -DISO_SANITIZE=ON
fi

# one build for clang's warnings and sanitizers and for the fuzz targets, which replay their corpus
if command -v clang >/dev/null; then
	lld=$(command -v ld.lld || true) # links a test in a quarter of the time
	sanitized build-clang -DCMAKE_C_COMPILER=clang -DISO_FUZZ=ON -DISO_CUDA=OFF \
		${lld:+"-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld"}
	if [ "$full" = 1 ]; then
		stage fuzz 300
	else
		ISO_FUZZ_LARGE=65536 ISO_FUZZ_SEED=1 stage fuzz 1
	fi
	stage data_races
	if [ "$full" = 1 ]; then
		leave_out ""
		stage build build-clang-release -DCMAKE_C_COMPILER=clang -DISO_CUDA=OFF
		stage tests build-clang-release
	fi
else
	stage no_clang
fi

finish
