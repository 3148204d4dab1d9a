#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the documentation site from docs/ by mkdocs.yml: static files that need nothing but a browser, from any
# folder or server. Installs mkdocs where it is missing (ISOTOME_NO_INSTALL=1: does not). The pages of the commands are
# what the program ISOTOME says of itself; without that name it is built, in build/.
#
#   scripts/site.sh [-o DIR]     into build/site, or DIR: a new folder, an empty one, or an earlier site
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
. scripts/packages.bash
case "${1:-}:$#" in
	:0) out=$PWD/build/site ;;
	-o:2) out=$(cd "$here" && realpath -m "$2") ;;
	*) sed -n 's/^#   //p' "$0" >&2; exit 2 ;;
esac
if [ -e "$out" ] && [ -n "$(ls -A "$out")" ] && [ ! -e "$out/words.js" ]; then
	echo "$out holds other things than a site: name a new or an empty folder" >&2
	exit 1
fi
# shellcheck disable=SC2086
install_packages $site_packages
if [ -z "${ISOTOME:-}" ]; then
	# shellcheck disable=SC2086
	install_packages $build_packages
	{ cmake -S . -B build && cmake --build build -j "$(nproc)" --target isotome_program isotome-bench; } >&2
	export ISOTOME=$PWD/build/isotome
fi
mkdocs build --quiet --strict --clean --site-dir "$out"
echo "site    $out/index.html"
