#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The tests of test.sh with nothing left to a sample: five minutes for each fuzz target, 500 kills,
# every allocation failed in turn, clang's release build too. A stage that fails does not end it; the
# last lines tell the result and the seconds of each. Hours on two cores.
export ISO_TEST_FULL=1
exec bash "$(dirname "$0")/test.sh"
