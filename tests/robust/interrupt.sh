#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ctrl-C, SIGTERM and SIGHUP in every stage of a run, from reading to writing: see interrupt.py.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

need_python
export ISOTOME SOURCE
mkdir runs
cd runs
"$PYTHON" "$SOURCE/tests/robust/interrupt.py" "$(size 2e6 1e6)" >../out 2>../err || {
	cat ../out
	fail "$(cat ../err)"
}
cat ../out
