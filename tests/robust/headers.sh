#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every public header compiles by itself, as C17 and, where there is a compiler for it, as C++17; isotome.h
# has them all. The compiler warns of a status that nobody looks at.
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

# ignoring FUNCTION: whether a call of it, whose result is not looked at, compiles
ignoring() {
	printf '#include <isotome.h>\nvoid f(void);\nvoid f(void)\n{\n\t%s(0);\n}\n' "$1" |
		cc -x c -std=c17 -Wall -Werror -I"$include" -c -o /dev/null - 2>/dev/null
}
ignoring iso_grid_voxels || { echo "a call of iso_grid_voxels does not compile"; exit 1; }
! ignoring iso_grid_check || { echo "nobody warns of a status that is not looked at"; exit 1; }
