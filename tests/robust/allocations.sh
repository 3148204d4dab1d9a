#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# No memory: each allocation of a small run of every command fails, alone and with all after it. The run
# must end with code 4 and one line, or as if nothing had happened; no file may be wrong or half written.
# In CI about 2 allocations of each run, evenly spread; all of them (of HDF5's
# thousands, 2000) with ISO_TEST_FULL=1.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
: "${FAIL_ALLOC:?libfail_alloc.so}"
most=2 jobs=1
if [ "${ISO_TEST_FULL:-0}" = 1 ]; then
	most=2000 jobs=$(nproc)
fi
"$PYTHON" "$SOURCE/tests/robust/allocations.py" "$ISOTOME" "$SOURCE" "$FAIL_ALLOC" "$work/runs" $most "$jobs" ||
	fail "failed allocations"
echo "all passed"
