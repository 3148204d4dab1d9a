#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# ISO_TEST_STRICT=1: what would be skipped fails, in scripts, in cmocka programs and in scripts/test.sh;
# and what is said of CUDA tests is right.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
# shellcheck source=scripts/testing/strict.bash
. "$SOURCE/scripts/testing/strict.bash"

# ends CODE COMMAND...: with that exit code
ends() {
	local want=$1 got=0
	shift
	"$@" >out 2>err || got=$?
	[ "$got" = "$want" ] || fail "$*: exit code $got, expected $want"
}

# ---- scripts: without NumPy ----
ends 77 env ISO_TEST_STRICT=0 PYTHON=false bash "$SOURCE/tests/cmd/filter.sh"
out_has "skipped: false can't import numpy"
ends 1 env ISO_TEST_STRICT=1 PYTHON=false bash "$SOURCE/tests/cmd/filter.sh"
err_has "ISO_TEST_STRICT=1, and this test would be skipped: false can't import numpy"

# ---- programs: tests/test.h, as it is used by all of them ----
cat >skips.c <<'END'
#include "test.h"
static void lacks(void **state) { (void)state; skip_without("no such library"); }
static void cuda_lacks(void **state) { (void)state; skip(); }
static void has(void **state) { (void)state; }
int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lacks), cmocka_unit_test(cuda_lacks), cmocka_unit_test(has) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
END
mkdir -p DOUBLE/isotome # headers of double storage, as CMakeLists.txt makes them
sed 's/^typedef float iso_real;/typedef double iso_real;/' "$SOURCE/include/isotome/status.h" >DOUBLE/isotome/status.h
cp "$SOURCE/include/isotome.h" DOUBLE
for storage in FLOAT DOUBLE; do	# optimised: what test.h calls of the library is not called here
	cc -O1 -DISO_$storage -I$storage -I"$SOURCE/tests" -I"$SOURCE/include" skips.c -o skips_$storage -lcmocka -lm 2>err ||
		fail "skips.c"
	ends 0 env ISO_TEST_STRICT=0 ./skips_$storage
	cp out log_$storage
	ends 1 env ISO_TEST_STRICT=1 ./skips_$storage
	err_has 'ISO_TEST_STRICT=1: no such library'
done
grep -q 'SKIPPED \] cuda_lacks' log_FLOAT || fail "a test of the CUDA half is not skipped"
! grep -q cuda_lacks log_DOUBLE || fail "a test of the CUDA half is there in double"
grep -q 'OK \] has' log_DOUBLE || fail "other tests are not there in double"

# every skip goes one of these ways
if grep -rnE '\bskip\(\)|\bexit 77\b' "$SOURCE/tests" --include='*.[ch]' --include='*.sh' --include='*.bash' |
	grep -vE 'tests/(test\.h|cmd/lib\.bash|robust/strict\.sh):'; then
	fail "a skip that ISO_TEST_STRICT=1 does not see"
fi

# ---- scripts/test.sh ----
strict() { # WANT SETTING... -- ARGUMENT...
	local want=$1 got
	got=$(env "${@:2}" bash -c '. "$SOURCE/scripts/testing/strict.bash"; strict_or_not ${ARGUMENTS:-}')
	[ "$got" = "$want" ] || fail "strict is '$got' for ${*:2}, expected $want"
}
export SOURCE
mkdir debian && printf '#!/bin/sh\n' >debian/apt-get && chmod +x debian/apt-get
debian=PATH=$PWD/debian:$PATH
strict 1 ISO_TEST_STRICT= ISOTOME_NO_INSTALL= "$debian"
strict 0 ISO_TEST_STRICT= ISOTOME_NO_INSTALL=1 "$debian"
strict 0 ISO_TEST_STRICT=0 ISOTOME_NO_INSTALL= "$debian"
strict 1 ISO_TEST_STRICT=1 ISOTOME_NO_INSTALL=1
strict 1 ISO_TEST_STRICT=0 ARGUMENTS=--strict
ISO_TEST_STRICT=0 ends 0 missing "no clang here:"
ISO_TEST_STRICT=1 ends 1 missing "no clang here:"
out_has "no clang here: left out"

# ---- the count of CUDA tests ----
cat >log <<'END'
1/3 Testing: test_a
[==========] Running 5 test(s).
[ RUN      ] cuda_one
[       OK ] cuda_one
[ RUN      ] cuda_two
no table of this size[  SKIPPED ] cuda_two
[ RUN      ] cpu_cuda_like
[       OK ] cpu_cuda_like
[ RUN      ] slow
[  SKIPPED ] slow
[  FAILED  ] cuda_bad
[==========] 5 test(s) run.
[  SKIPPED ] 2 test(s), listed below:
[  SKIPPED ] cuda_two
[  SKIPPED ] slow
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] cuda_bad
2/3 Testing: test_b
[       OK ] cuda_one
[  SKIPPED ] cuda_three
3/3 Testing: cmd_x
END
[ "$(cuda_run log) $(cuda_skipped log)" = "3 2" ] || fail "$(cuda_run log) run, $(cuda_skipped log) skipped, expected 3 and 2"
: >log
[ "$(cuda_run log) $(cuda_skipped log)" = "0 0" ] || fail "tests of an empty log"
echo "all passed"
