#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every test: installs what they need, builds with gcc and clang and under the sanitizers, and runs
# all of it. Ends with the number of CUDA tests run and skipped.
#
# ISOTOME_NO_INSTALL=1 installs nothing; ISOTOME_CMAKE holds further arguments for cmake.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.bash
# shellcheck disable=SC2086
install_packages $build_packages $test_packages

# build FOLDER ARGUMENT...: configure and build, also a folder that was made without the tests
build() {
	local dir=$1
	shift
	echo "== $dir: $*"
	# shellcheck disable=SC2086
	cmake -S . -B "$dir" -DISO_TESTS=ON "$@" ${ISOTOME_CMAKE:-} >"$dir.log" || { cat "$dir.log"; return 1; }
	cmake --build "$dir" -j "$(nproc)" >"$dir.log" 2>&1 || { cat "$dir.log"; return 1; }
	rm "$dir.log"
}

# cmocka and ctest tell what ran
run_tests() {
	echo "== tests of $1"
	ctest --test-dir "$1" --no-tests=error --output-on-failure -j "$(nproc)" "${@:2}"
}

# kernels for the card at hand; without one a single kind shows that they compile
cuda=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d . || true)
build build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES="${cuda:-90}"
run_tests build
cuda_log=build/Testing/Temporary/LastTest.log

# double storage serves the tolerances of the release build alone
build build-sanitize -DCMAKE_BUILD_TYPE=RelWithDebInfo -DISO_SANITIZE=ON -DISO_TESTS_DOUBLE=OFF
run_tests build-sanitize

if command -v clang >/dev/null; then
	build build-clang -DCMAKE_C_COMPILER=clang -DISO_CUDA=OFF -DISO_TESTS_DOUBLE=OFF
	run_tests build-clang -R '^test_'
else
	echo "== no clang here: that build is left out"
fi

echo "== damaged files for 8 s a reader"
bash scripts/fuzz.sh 8

if nm -D build/libisotome.so | grep -iE ' U cu(da)?[A-Z]'; then
	echo "libisotome.so names CUDA symbols" >&2
	exit 1
fi
run=$(grep -cE '\[ +OK \] cuda_' "$cuda_log" || true)
skipped=$(grep -cE '^\[ +SKIPPED \] cuda_' "$cuda_log" || true)
echo "CUDA: $run run, $((skipped / 2)) skipped"	# cmocka names a skipped test twice
