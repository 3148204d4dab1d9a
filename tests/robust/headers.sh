#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every public header compiles by itself, as C17 and as C++, and isotome.h has them all.
set -euo pipefail
include=${SOURCE:?}/include
cc=${CC:-cc}

for header in "$include"/isotome.h "$include"/isotome/*.h; do
	for language in c c++; do
		std=$([ $language = c ] && echo c17 || echo c++17)
		if ! echo | "$cc" -x $language -fsyntax-only - 2>/dev/null; then
			[ $language = c++ ] || { echo "no compiler: $cc"; exit 1; }
			continue	# a machine without C++
		fi
		echo "#include \"${header#"$include/"}\"" | "$cc" -x $language -std=$std -Wall -Wextra -Wpedantic \
			-Werror -Wundef -I"$include" -fsyntax-only - || { echo "$header: not by itself as $std"; exit 1; }
	done
	name=${header#"$include/"}
	[ "$name" = isotome.h ] || grep -q "^#include \"$name\"" "$include/isotome.h" ||
		{ echo "isotome.h does not include $name"; exit 1; }
done
