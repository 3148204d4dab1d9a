#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every test: installs what they need, builds with gcc and with clang's sanitizers (in full, or without
# clang, with gcc's), runs all of it, and fuzzes. Ends with the seconds of each stage, and the number of CUDA tests run and
# skipped. At most 20 minutes on two idle cores: what would take longer runs as a fixed sample, and
# in full by test-all.sh.
#
#     scripts/test.sh [--strict]
#
# --strict, or ISO_TEST_STRICT=1: what would be left out for want of a library, a module of Python or a
# compiler fails; only a GPU may be missing. So it is wherever the packages can be installed, unless
# ISO_TEST_STRICT=0. ISOTOME_NO_INSTALL=1 installs nothing; ISOTOME_CMAKE holds further arguments for cmake.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.bash
. scripts/strict.bash
. scripts/test_python.bash
ISO_TEST_STRICT=$(strict_or_not "$@")
export ISO_TEST_STRICT
# shellcheck disable=SC2086
install_packages $build_packages $test_packages $wheel_packages $package_packages $site_packages
# where it does not come from a package (Ubuntu has none), it may be there all the same
command -v chromium >/dev/null || install_packages $browser_packages
full=${ISO_TEST_FULL:-0}
stages=()
failed=0

# stage COMMAND...: with its seconds. A failure ends everything, or with ISO_TEST_FULL=1 is told at
# the end.
stage() {
	local begin=$SECONDS result=passed

	echo "== $*"
	"$@" || { result=FAILED; failed=1; }
	stages+=("$(printf '%6d s  %s  %s' $((SECONDS - begin)) "$result" "$*")")
	[ $result = passed ] || [ "$full" = 1 ] || finish
}

# finish [LINE...]: the stages, then the lines
finish() {
	rm -rf "$python_work"
	printf '%s\n' "== stages" "${stages[@]}" "$(printf '%6d s  in all' "$SECONDS")" "$@"
	exit "$failed"
}

# build FOLDER ARGUMENT...: configure and build, also a folder that was made without the tests; programs of tests that
# match $except are left out
build() {
	local dir=$1
	shift
	# shellcheck disable=SC2086
	cmake -S . -B "$dir" -DISO_TESTS=ON -DISO_REQUIRE_ALL="$ISO_TEST_STRICT" -DISO_TESTS_EXCEPT="$except" "$@" ${ISOTOME_CMAKE:-} >"$dir.log" ||
		{ cat "$dir.log"; return 1; }
	cmake --build "$dir" -j "$(nproc)" >"$dir.log" 2>&1 || { cat "$dir.log"; return 1; }
	rm "$dir.log"
}

# tests FOLDER: all that do not match $except; cmocka and ctest tell what ran
tests() {
	ctest --test-dir "$1" --no-tests=error --output-on-failure -j "$(nproc)" ${except:+-E "$except"}
}

# leave_out EXPRESSION: tests that match it run in full alone
leave_out() {
	except=
	[ "$full" = 1 ] || except=$1
}

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
	"${PYTHON:-/usr/bin/python3}" scripts/structure.py
}

# what the release build runs in full alone
only_full='^test_(map|map_run|mc|patches|pdhg|prior_step|ratio_step|ratio|ray|ray_rings|scatter|scatter_recon|scatter_with|simulate_physics|srm|sss|strip)_double$|^test_(scatter|scatter_with|seen|srm_stream|ranks_.*_[34]|ranks_ray_problem_1)$|^cmd_(bench_end_to_end|reproduce_nema|reproduce_priors)$'

stage structure
stage format
# kernels for the card at hand; without one a single kind shows that they compile
cuda=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d . || true)
leave_out "$only_full"
stage build build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES="${cuda:-90}"
stage tests build
cuda_log=build/Testing/Temporary/LastTest.log
stage cuda_tests
stage no_cuda_symbols
stage python_wheel
stage python_wheel_tests
stage python_install
stage python_tests
[ "$full" != 1 ] || stage clean_roots

# Under the sanitizers a small run of every command, the tests of commands less those that take longest, and the tests
# of functions less theirs; in full all of them, under gcc's sanitizers too. Double storage serves the tolerances
# of the release build alone
longest='^cmd_(bench.*|browser|castor|demo|device|events_npy|exchange|files|filter|follow|formats|frames|help|interrupt|live|live_hostile|measure|memory.*|norm|one_command|optoacoustic|petlink|petsird|pipeline|place|priors.*|ranks.*|recon|report|recordings|reproduce.*|resume|simulate.*|site.*|sound.*|srm.*|stages|stream|strip|strip_files|units|validate|vectors|view|view_page)$|^test_(cg|commit|core|custom|em|fft|filter|fista|histories|kernel|ladder|locale|map|map_few|material|mc|measure|panel_norm|panel_scan|panel_simulate|patches|pdhg|phantom|picture|prior|prior_step|problem|psf|randoms|ranks_(ray|report|resample|ring|s).*|ratio|ratio_step|ray_brick|ray_rings|rods|scatter|scatter_recon|scatter_with|seen|simulate|simulate_physics|spheres|sradon|sradon_arcs|sradon_brick|srm|srm_op|srm_op_cuda|srm_stream|srm_tables|sss|stop|stream|strip|strip_simulate|svoxel|transport|ubp)$'

# sanitized FOLDER ARGUMENT...
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
		stage build build-clang-release -DCMAKE_C_COMPILER=clang -DISO_CUDA=OFF
		stage tests build-clang-release
	fi
else
	stage no_clang
fi

finish "CUDA: $(cuda_run "$cuda_log") run, $(cuda_skipped "$cuda_log") skipped"
