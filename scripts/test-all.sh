#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test.sh and test-more.sh with nothing left to a sample: five minutes for each fuzz target, 500 kills,
# every allocation failed in turn, clang's release build too. A stage that fails does not end it; the
# last lines of each tell the result and the seconds of its stages. Hours on two cores.
export ISO_TEST_FULL=1
status=0
bash "$(dirname "$0")/test.sh" || status=1
bash "$(dirname "$0")/test-more.sh" || status=1
exit $status
