#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# clang-tidy 14 with the checks of .clang-tidy, over the C code of src, papers and bench or over the files
# named; fails if it finds something. A configured folder is enough for it, nothing is compiled.
#
#   scripts/tidy.sh [FILE...]
set -euo pipefail
cd "$(dirname "$0")/.."
build="build-tidy"
for tidy in clang-tidy-14 clang-tidy none; do
	"$tidy" --version 2>/dev/null | grep -q 'version 14\.' && break
done
[ "$tidy" != none ] || { echo "no clang-tidy 14 here (Debian 12: clang-tidy)" >&2; exit 77; }

# not for this machine's processor: clang 14 knows no -march=native on some
# shellcheck disable=SC2086
cmake -S . -B $build -DCMAKE_C_COMPILER=clang -DISO_NATIVE=OFF -DISO_TESTS=OFF -DISO_CUDA=OFF \
	${ISOTOME_CMAKE:-} >$build.log || { cat $build.log; exit 1; }
rm $build.log
files=("$@")
[ $# -gt 0 ] || mapfile -t files < <(sed -n 's/^ *"file": "\(.*\)",*$/\1/p' $build/compile_commands.json | sort -u)
printf '%s\0' "${files[@]}" |
	xargs -0 -P "$(nproc)" -n 4 "$tidy" -quiet -p $build 2> >(grep -vE 'warnings? (generated|treated)|^Suppressed|^Use -header' >&2)
echo "${#files[@]} files, nothing found"
