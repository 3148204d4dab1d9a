#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SIGKILL at random moments and within the commit, over all methods: see kill.py. 4 here, with
# ISO_TEST_FULL=1 500.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

KILL_AT=${KILL_AT:-$(dirname "$ISOTOME")/tests/libkill_at.so}
export KILL_AT
kills=4
[ "${ISO_TEST_FULL:-0}" != 1 ] || kills=500
mkdir runs
cd runs
"$PYTHON" "$SOURCE/tests/robust/kill.py" "$kills" 1 >../out 2>../err || fail "$(cat ../err)"
cat ../out
