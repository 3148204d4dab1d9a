# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by test.sh and test-more.sh: stages with their seconds, by the clock and of all processors; builds and tests of
# a folder.
full=${ISO_TEST_FULL:-0}
export OMP_WAIT_POLICY=passive # a thread that waits leaves its core to the test beside it
stages=()
failed=0

# Sets worked: the seconds that processors worked for this script so far. On a busy machine they tell more than the clock.
processors() {
	times >"$python_work/times"
	worked=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", 60 * ($1 + $3) + $2 + $4 }' "$python_work/times")
}

# stage COMMAND...: runs it and keeps its seconds. A failure ends everything; with ISO_TEST_FULL=1 it is told at the end.
stage() {
	local begin=$SECONDS result=passed before

	processors
	before=$worked
	echo "== $*"
	"$@" || { result=FAILED; failed=1; }
	processors
	stages+=("$(printf '%6d s  %6d s of processors  %s  %s' $((SECONDS - begin)) $((worked - before)) "$result" "$*")")
	[ $result = passed ] || [ "$full" = 1 ] || finish
}

# finish [LINE...]: prints the stages, then the lines, and ends
finish() {
	rm -rf "$python_work"
	printf '%s\n' "== stages" "${stages[@]}" "$(printf '%6d s  %6d s of processors  in all' "$SECONDS" "$worked")" "$@"
	exit "$failed"
}

# build FOLDER ARGUMENT...: configures and builds, also a folder that was made without the tests. Programs of tests that
# match $except are left out.
build() {
	local dir=$1
	shift
	! command -v ninja >/dev/null || export CMAKE_GENERATOR="${CMAKE_GENERATOR:-Ninja}" # of a folder that is new
	# shellcheck disable=SC2086
	cmake -S . -B "$dir" -DISO_TESTS=ON -DISO_REQUIRE_ALL="$ISO_TEST_STRICT" -DISO_TESTS_EXCEPT="$except" "$@" ${ISOTOME_CMAKE:-} >"$dir.log" ||
		{ cat "$dir.log"; return 1; }
	cmake --build "$dir" -j "$(nproc)" >"$dir.log" 2>&1 || { cat "$dir.log"; return 1; }
	rm "$dir.log"
}

# release ARGUMENT...: the folder build, with kernels for the card at hand; without a card one kind shows that they compile
release() {
	build build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES="${cuda:-90}" "$@"
}

# tests FOLDER [ARGUMENT...]: those that do not match $except; cmocka and ctest tell what ran
tests() {
	ctest --test-dir "$1" --no-tests=error --output-on-failure -j "$(nproc)" ${except:+-E "$except"} "${@:2}"
}

# leave_out EXPRESSION: tests that match it run only with ISO_TEST_FULL=1
leave_out() {
	except=
	[ "$full" = 1 ] || except=$1
}

cuda=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d . || true)
# of kernels that no card here runs: a third less time
if [ -n "$cuda" ]; then kernel_flags=; else kernel_flags="-Xptxas -O0"; fi
