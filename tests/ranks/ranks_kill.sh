#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SIGKILL of one of several ranks at random moments, then --resume with another number of them: see
# tests/ranks/ranks_kill.py. 3 here, with ISO_TEST_FULL=1 ten.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
need_ranks

kills=3
[ "${ISO_TEST_FULL:-0}" != 1 ] || kills=10
mkdir runs
cd runs
PYTHONPATH=$SOURCE/tests/robust "$PYTHON" "$SOURCE/tests/ranks/ranks_kill.py" "$kills" 1 >../out 2>../err ||
	{ cat ../out; fail "$(cat ../err)"; }
cat ../out
