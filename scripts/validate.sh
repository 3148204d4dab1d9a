#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes docs/validation.md: builds, runs every test that compares numbers, on the CPU and, where there is one, on the
# GPU, and the papers' studies, and writes what was found beside its bound. Four minutes on two idle cores with --scale
# tiny; half an hour with small.
#
#   scripts/validate.sh [-o FILE] [--build DIR] [--scale tiny|small|full]     docs/validation.md, build, small
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
out=$PWD/docs/validation.md build=$PWD/build scale=small
usage() { sed -n 's/^#   //p' "$0" >&2; exit 2; }
while [ $# -gt 0 ]; do
	[ $# -gt 1 ] || usage
	case $1 in
		-o) out=$(cd "$here" && realpath -m "$2") ;;
		--build) build=$(cd "$here" && realpath -m "$2") ;;
		--scale) scale=$2 ;;
		*) usage ;;
	esac
	shift 2
done
case $scale in tiny | small | full) ;; *) usage ;; esac
[ -e "$build/CMakeCache.txt" ] || set -- -DCMAKE_BUILD_TYPE=Release
cmake -S . -B "$build" -DISO_TESTS=ON -DISO_TESTS_EXCEPT= "$@" >/dev/null
cmake --build "$build" -j "$(nproc)" >/dev/null
exec "${PYTHON:-/usr/bin/python3}" scripts/site/validate.py "$build" --scale "$scale" -o "$out"
