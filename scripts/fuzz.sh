#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Feeds the readers with damaged files until one breaks (libFuzzer, address and undefined-behaviour
# sanitizers), after files of up to 1 MiB that were made to be slow to read.
#
#     scripts/fuzz.sh SECONDS [READER...]     so long for each reader
#     scripts/fuzz.sh -runs=N [READER...]     so many files for each reader
#
# As many readers at a time as there are cores. What breaks one stays in build-fuzz/READER-*: put
# it into tests/fuzz/corpus/READER as regression-NAME. ISOTOME_CMAKE as in test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=build-fuzz
case ${1:-} in
	-runs=*) length=$1 ;;
	[0-9]*) length=-max_total_time=$1 ;;
	*) sed -n 's/^#     //p' "$0" >&2; exit 2 ;;
esac
shift
readers=("$@")

has_libfuzzer() {
	echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
		clang -fsanitize=fuzzer,address,undefined -x c -o /dev/null - 2>/dev/null
}

# A second is long for 1 MiB, but a target reads it three times, the sanitizers make that ten times
# as long, and the machine may be busy. No file of 4 KiB may make a reader take more than 64 MiB at
# once: gzip unpacks it to 4 MiB at most, bytes that become floats.
options="-timeout=15 -rss_limit_mb=2048 -malloc_limit_mb=64 -print_final_stats=1"
large_options="-timeout=60 -rss_limit_mb=4096 -malloc_limit_mb=512"

# fuzz_one READER LENGTH
fuzz_one() {
	local target=$dir/tests/fuzz_$1 log=$dir/$1.log artifacts=-artifact_prefix=$dir/$1-

	mkdir -p "$dir/corpus/$1"
	# shellcheck disable=SC2086
	if ! { "$target" $large_options "$artifacts" "$dir/large/$1"/* &&
	       "$target" $options "$2" -max_len=4096 "$artifacts" "$dir/corpus/$1" \
			"tests/fuzz/corpus/$1"; } >"$log" 2>&1; then
		tail -n 60 "$log"
		echo "$1: broken; see $log, and $dir/$1-* for the file"
		return 1
	fi
	awk -v reader="$1" '/number_of_executed_units/ { n = $2 } /average_exec/ { rate = $2 }
		END { printf "%-12s %9d files, %6d a second\n", reader, n, rate }' "$log"
}

if ! command -v clang >/dev/null || ! has_libfuzzer; then
	echo "== no clang with libFuzzer here (Debian: clang and libclang-rt-dev): no fuzzing"
	exit 0
fi
mkdir -p "$dir"
# shellcheck disable=SC2086
{ cmake -S . -B "$dir" -DCMAKE_C_COMPILER=clang -DISO_FUZZ=ON -DISO_TESTS=OFF -DISO_CUDA=OFF \
	-DISO_NATIVE=OFF ${ISOTOME_CMAKE:-} &&
  cmake --build "$dir" --target fuzz -j "$(nproc)"; } >"$dir/build.log" 2>&1 ||
	{ cat "$dir/build.log"; exit 1; }
TMPDIR=$(mktemp -d "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)/isotome-fuzz-XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
rm -rf "$dir/large"
"${PYTHON:-/usr/bin/python3}" scripts/fuzz_seeds.py --large "$dir/large"
[ $# -gt 0 ] || mapfile -t readers < <(ls tests/fuzz/corpus)
export -f fuzz_one
export dir options large_options
printf '%s\n' "${readers[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one "$@"' fuzz {} "$length"
