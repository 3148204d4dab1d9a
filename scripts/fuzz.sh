#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Feeds the readers, and whole commands in process (targets cmd_*), with damaged files and words
# until one breaks (libFuzzer, address and undefined-behaviour sanitizers); before that, readers get
# files of up to 1 MiB, or ISO_FUZZ_LARGE bytes, that were made to be slow to read.
#
#     scripts/fuzz.sh SECONDS [TARGET...]     so long for each target
#     scripts/fuzz.sh -runs=N [TARGET...]     so many inputs for each target
#
# As many targets at a time as there are cores. ISO_FUZZ_SEED=N begins with these random numbers, else with others each
# time. What breaks one stays in build-clang/fuzz/TARGET-*: keep
# it by scripts/fuzz_seeds.py --keep TARGET NAME FILE. ISOTOME_CMAKE as in test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/testing/strict.bash
build=$PWD/build-clang
dir=$build/fuzz
case ${1:-} in
	-runs=*) length=$1 ;;
	[0-9]*) length=-max_total_time=$1 ;;
	*) sed -n 's/^#     //p' "$0" >&2; exit 2 ;;
esac
shift
targets=("$@")

has_libfuzzer() {
	echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
		clang -fsanitize=fuzzer,address,undefined -x c -o /dev/null - 2>/dev/null
}

# A second is long for 1 MiB, but a target reads it three times, the sanitizers make that ten times
# as long, and the machine may be busy. No file of 4 KiB may make a reader take more than 64 MiB at
# once: gzip unpacks it to 4 MiB at most, bytes that become floats. A command has its bound in words.
# Leaks are looked for where an input took more memory than it gave back; once more at the end of each process would
# find nothing else, and takes 3 s on aarch64.
seed=${ISO_FUZZ_SEED:+-seed=$ISO_FUZZ_SEED}
options="$seed -timeout=15 -rss_limit_mb=2048 -malloc_limit_mb=64 -print_final_stats=1"
command_options="$seed -timeout=30 -rss_limit_mb=2048 -malloc_limit_mb=256 -print_final_stats=1"
large_options="-timeout=60 -rss_limit_mb=4096 -malloc_limit_mb=512"

# Words that no mutation would hit upon: the commands' options and their values, from their help.
dictionary() {
	local verb

	for verb in $("$build/isotome" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
		"$build/isotome" "$verb" --help
	done | grep -oE -e '--[a-z][a-z-]+|\b[a-z][a-z0-9-]*:|\b[a-z]{3,}\b' | sort -u |
		sed 's/^--\(.*\)/"\\x0a--\1\\x0a"\n"\1"/; t; s/.*/"&"/'
}

# fuzz_one TARGET LENGTH
fuzz_one() {
	local target=$build/tests/fuzz_$1 log=$dir/$1.log large=("$dir/large/$1"/*) more=$options

	mkdir -p "$dir/corpus/$1"
	[[ $1 != cmd_* ]] || more="$command_options -dict=$dir/words"
	# shellcheck disable=SC2086
	if ! { { [ ! -e "${large[0]}" ] || "$target" $large_options "-artifact_prefix=$dir/$1-" "${large[@]}"; } &&
	       "$target" $more "$2" -max_len=4096 "-artifact_prefix=$dir/$1-" "$dir/corpus/$1" \
			"$dir/seeds/$1"; } >"$log" 2>&1; then
		tail -n 60 "$log"
		echo "$1: broken; see $log, and $dir/$1-* for the input"
		return 1
	fi
	awk -v target="$1" '/number_of_executed_units/ { n = $2 } /average_exec/ { rate = $2 }
		END { printf "%-12s %9d inputs, %6d a second\n", target, n, rate }' "$log"
}

if ! command -v clang >/dev/null || ! has_libfuzzer; then
	missing "no clang with libFuzzer here (Debian: clang and libclang-rt-dev): the fuzzing"
	exit
fi
mkdir -p "$dir"
# shellcheck disable=SC2086
{ cmake -S . -B "$build" -DCMAKE_C_COMPILER=clang -DISO_FUZZ=ON -DISO_CUDA=OFF -DISO_TESTS_DOUBLE=OFF \
	${ISOTOME_CMAKE:-} &&
  cmake --build "$build" --target fuzz isotome_program isotome-bench -j "$(nproc)"; } >"$dir/build.log" 2>&1 ||
	{ cat "$dir/build.log"; exit 1; }
TMPDIR=$(mktemp -d "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)/isotome-fuzz-XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
rm -rf "$dir/large" "$dir/seeds"
"${PYTHON:-/usr/bin/python3}" scripts/fuzz_seeds.py "$dir/seeds"
"${PYTHON:-/usr/bin/python3}" scripts/fuzz_seeds.py --large "$dir/large"
ASAN_OPTIONS=detect_leaks=0 dictionary >"$dir/words"
export ASAN_OPTIONS=leak_check_at_exit=0
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(ls -r "$dir/seeds") # the longest, yaml, first
export -f fuzz_one
export build dir options command_options large_options
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one "$@"' fuzz {} "$length"
echo "${#targets[@]} targets, nothing found"
