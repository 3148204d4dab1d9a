#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The page of description files has the keys that the source reads, and says something of each.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
"$PYTHON" "$SOURCE/scripts/keys.py" --check 2>err || fail "docs/descriptions.md is not current"
rows=$(grep -c '^| `' "$SOURCE/docs/descriptions.md")
[ "$rows" -ge 80 ] || fail "the page has $rows keys"
! grep -n '^| `.*| *|$' "$SOURCE/docs/descriptions.md" || fail "a key of which nothing is said: a comment above its row says it"
