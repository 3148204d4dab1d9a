#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Where there is no cmocka, plain cmake configures a build without tests and says so; ISO_TESTS=ON, as
# scripts/test.sh has it, fails.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

cat >pkg-config <<-'END'
	#!/bin/sh
	case "$*" in *cmocka*) exit 1 ;; esac
	exec pkg-config "$@"
END
chmod +x pkg-config
configure() {
	cmake -S "$SOURCE" -B build -DISO_CUDA=OFF -DPKG_CONFIG_EXECUTABLE="$work/pkg-config" "$@" >out 2>err
}
configure || fail "cmake without cmocka"
out_has 'tests are not built'
[ ! -e build/CTestTestfile.cmake ] || fail "there are tests without cmocka"
configure -DISO_TESTS=ON && fail "ISO_TESTS=ON does without cmocka"
err_has 'ISO_TESTS=ON needs cmocka'
grep -q 'DISO_TESTS=ON' "$SOURCE/scripts/testing/stages.bash" || fail "scripts/test.sh does not insist on the tests"
echo "all passed"
