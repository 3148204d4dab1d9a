#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Prints the notes of a release: what CHANGELOG.md says of a version, to go with its tag and its packages.
#
#     scripts/release_notes.sh [VERSION]
#
# VERSION: that of CMakeLists.txt unless said otherwise. Fails where CHANGELOG.md has no section of it, or an empty one.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-$(sed -n 's/^project(isotome VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)}

notes=$(awk -v version="$version" '
	/^## / { inside = $2 == version || $2 == version "," }
	inside && !/^## /' CHANGELOG.md)
[ -n "${notes//[[:space:]]/}" ] || { echo "CHANGELOG.md has nothing about version $version" >&2; exit 1; }
printf '# Isotome %s\n%s\n' "$version" "$notes"
