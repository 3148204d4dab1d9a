#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The page of description files has the keys that the source reads, and says something of each.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
"$PYTHON" "$SOURCE/scripts/keys.py" >page.md 2>err || fail "a table of keys is in no part of the page"
rows=$(grep -c '^| `' page.md)
[ "$rows" -ge 80 ] || fail "the page has $rows keys"
! grep -n '^| `.*| *|$' page.md || fail "a key of which nothing is said: a comment above its row says it"
