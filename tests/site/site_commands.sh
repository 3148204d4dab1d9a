#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The commands of the documentation run as they are printed: those of a few pages here, of all pages with ISO_TEST_FULL=1.
# Blocks that are not run say why.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_python

# ---- what counts as a block ----
mkdir -p fake/docs
blocks() { "$PYTHON" "$SOURCE/tests/site/blocks.py" fake "$ISOTOME" "$@"; }
for name in examples tests scripts CMakeLists.txt; do ln -s "$SOURCE/$name" fake/; done
printf '<!-- not run: a reason -->\n\n```sh\nfalse\n```\n\nwords\n\n```sh\nx=1\n```\n\n```sh\n[ "$x" = 1 ]\n```\n' >fake/docs/a.md
blocks --list >out || fail "--list"
printf 'docs/a.md:3: not run: a reason\ndocs/a.md:9: run\ndocs/a.md:13: run\n' | cmp -s - out || fail "blocks: $(cat out)"
blocks --run >out || fail "a page that runs: $(cat out)"
printf '```sh\nisotome info missing.nii\ntrue\n```\n' >fake/docs/b.md
! blocks --run >out || fail "a command that fails was not told"
printf '    isotome info x.nii\n' >fake/docs/b.md
! blocks --list 2>err || fail "commands in an indented block were not told"
printf '```\nisotome info x.nii\n```\n' >fake/docs/b.md
! blocks --list 2>err || fail "commands in a plain block were not told"

# ---- the pages ----
pages=(index.md tutorials/first-ten-minutes.md tutorials/prototype-scanner.md howto/look-and-measure.md)
[ "${ISO_TEST_FULL:-0}" != 1 ] || pages=()
[ "${#pages[@]}" != 0 ] || need_ranks
"$PYTHON" "$SOURCE/tests/site/blocks.py" "$SOURCE" "$ISOTOME" --run "${pages[@]}" || fail "a page"

# ---- README.md: its commands on a scan, with a file of that name ----
solid_ring 6 >ring.yaml
run phantom cylinder --grid 16,16,8 --voxel 6 -o cylinder.nii
run simulate ring.yaml cylinder.nii --counts 5000 -o scan.Cdh
sed -n '/^```sh$/,/^```$/p' "$SOURCE/README.md" | grep '^isotome ' >lines
[ "$(wc -l <lines)" = 2 ] || fail "README.md: two commands were expected: $(cat lines)"
isotome() { "$ISOTOME" "$@"; }
. ./lines 2>err || fail "the commands of README.md"
[ -s image.nii ] && [ -s image.html ] || fail "README.md: no image, or no page"
echo "all passed"
