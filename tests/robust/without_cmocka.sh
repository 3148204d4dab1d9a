#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Where there is no cmocka, plain cmake configures a build without tests and says so; ISO_TESTS=ON, as
# scripts/test.sh has it, fails. isotome-bench is then built where it is asked for, and not by plain `cmake --build`.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

cat >pkg-config <<-'END'
	#!/bin/sh
	case "$*" in *cmocka*) exit 1 ;; esac
	exec pkg-config "$@"
END
chmod +x pkg-config
configure() {
	cmake -S "$SOURCE" -B build -G "Unix Makefiles" -DISO_CUDA=OFF -DPKG_CONFIG_EXECUTABLE="$work/pkg-config" "$@" >out 2>err
}
configure || fail "cmake without cmocka"
out_has 'tests are not built'
[ ! -e build/CTestTestfile.cmake ] || fail "there are tests without cmocka"
# in_all: whether isotome-bench is made with all the rest
in_all() {
	cmake --build build --target help >out
	grep -q isotome-bench out || fail "no target isotome-bench"
	grep -q '^all:.*isotome-bench.dir/all' build/CMakeFiles/Makefile2
}
! in_all || fail "plain builds have isotome-bench"
configure -DISO_BENCH=ON || fail "cmake -DISO_BENCH=ON"
in_all || fail "-DISO_BENCH=ON does not build isotome-bench"
configure -DISO_TESTS=ON && fail "ISO_TESTS=ON does without cmocka"
err_has 'ISO_TESTS=ON needs cmocka'
grep -q 'DISO_TESTS=ON' "$SOURCE/scripts/testing/stages.bash" || fail "scripts/test.sh does not insist on the tests"
echo "all passed"
