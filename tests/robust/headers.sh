#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every public header compiles by itself, as C17 and, where there is a compiler for it, as C++17; isotome.h
# has them all.
set -euo pipefail
include=${SOURCE:?}/include
standards=(c17)
! echo | cc -x c++ -fsyntax-only - 2>/dev/null || standards+=(c++17)

for header in "$include"/isotome.h "$include"/isotome/*.h; do
	name=${header#"$include/"}
	for std in "${standards[@]}"; do
		echo "#include \"$name\"" | cc -x "${std%17}" -std="$std" -Wall -Wextra -Wpedantic -Werror -Wundef \
			-I"$include" -fsyntax-only - || { echo "$name: not by itself as $std"; exit 1; }
	done
	[ "$name" = isotome.h ] || grep -q "^#include \"$name\"" "$include/isotome.h" ||
		{ echo "isotome.h does not include $name"; exit 1; }
done
