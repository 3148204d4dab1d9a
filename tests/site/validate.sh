#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The page of validation: what a test program finds comes out in it, and the stored page has every part.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

build=$(dirname "$ISOTOME")
"$PYTHON" "$SOURCE/scripts/site/validate.py" "$build" --scale none -o page.md test_psf >out 2>err || fail "validate.py"
grep -q '^### test_psf$' page.md || fail "the page lacks test_psf"
check "the rows" <<'END'
import re
rows = [line.split(" | ") for line in open("page.md") if re.match(r"\| .* \| \d+ \| ", line)]
found = [re.fullmatch(r"(\S+) of (\S+)", row[2]) for row in rows]
assert len(rows) >= 2 and all(found), rows
assert all(float(f[1]) <= float(f[2]) for f in found), rows
assert any(int(row[1]) > 1 for row in rows), rows
END

# a comparison that is not below its bound ends it
mkdir -p fake/tests
printf '#!/bin/sh\necho "[ RUN      ] matrix"\necho "[  FAILED  ] matrix"\nexit 1\n' >fake/tests/test_psf
chmod +x fake/tests/test_psf
! "$PYTHON" "$SOURCE/scripts/site/validate.py" fake --scale none -o bad.md test_psf 2>err || fail "a failed test was not told"
err_has 'test_psf failed: matrix'
[ ! -e bad.md ] || fail "a page of a failed test"

# the stored page: a row at least for each program that compares with reference vectors
for program in test_ray test_strip test_srm_op test_ubp test_sradon test_svoxel test_em test_cg test_map test_prior test_mc test_sss; do
	grep -q "^### $program\$" "$SOURCE/docs/validation.md" || fail "docs/validation.md lacks $program: scripts/validate.sh"
done
for paper in vangendt2021 bialas2015 meng2019 chou2012 wang2013 nema priors; do
	grep -q "^isotome reproduce $paper " "$SOURCE/docs/validation.md" || fail "docs/validation.md lacks $paper"
done
echo "all passed"
