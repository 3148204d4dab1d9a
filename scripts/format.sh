#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Formats the C and CUDA code of the tree by .clang-format.
#
#   scripts/format.sh            rewrites what is not formatted
#   scripts/format.sh --check    changes nothing; names the places, and fails
#
# Needs clang-format 14, by that name or as clang-format: other versions break lines elsewhere. Exit code
# 77 where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
how=(-i)
case ${1:-} in
	'') ;;
	--check) how=(--dry-run -Werror) ;;
	*) sed -n 's/^#   //p' "$0" >&2; exit 2 ;;
esac
for format in clang-format-14 clang-format none; do
	"$format" --version 2>/dev/null | grep -q 'version 14\.' && break
done
[ "$format" != none ] || { echo "no clang-format 14 here (Debian 12: clang-format)" >&2; exit 77; }

find bench examples include papers src tests \( -name "*.[ch]" -o -name "*.cu" -o -name "*.cuh" \) -print0 |
	xargs -0 -P "$(nproc)" -n 40 "$format" "${how[@]}"
