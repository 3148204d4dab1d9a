#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Results are the first arguments of every public function (docs/abi.md): order.py, which is first shown headers that
# are wrong. Structs that may grow begin with their size: sizes.py.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

# found DECLARATION TEXT: of headers with one function more
found() {
	rm -rf include
	cp -r "$SOURCE/include" .
	sed -i "s/^ISO_END_C/$1\n&/" include/isotome/problem.h
	! "$PYTHON" "$SOURCE/tests/api/order.py" include >out 2>err || fail "not found: $2"
	out_has "problem.h: $2"
}

found 'int iso_one(const iso_problem *p, double *value);' "iso_one: 'value' is a result"
found 'int iso_two(iso_problem *p, struct iso_grid *g);' "iso_two: 'g' is a result"
found 'int iso_three(iso_op **op, int n, iso_ctx *ctx);' "iso_three: 'ctx' is the context"
found 'int iso_four(const iso_problem *p, double at[3]);' "iso_four: 'at' is a result"
found 'int iso_five_write(iso_problem *p, const char *path);' 'iso_five_write: the path'
"$PYTHON" "$SOURCE/tests/api/order.py" "$SOURCE/include" >out 2>err || fail "$(cat out)"

# ---- structs that may grow begin with their size; docs/abi.md names all others ----
rm -rf include
cp -r "$SOURCE/include" .
sed -i 's/^ISO_END_C/struct iso_of_nobody {\n\tint a;\n};\n&/' include/isotome/problem.h
! "$PYTHON" "$SOURCE/tests/api/sizes.py" include "$SOURCE/docs/abi.md" >out 2>err || fail "not found: iso_of_nobody"
out_has 'problem.h: struct iso_of_nobody has no `size`'
"$PYTHON" "$SOURCE/tests/api/sizes.py" "$SOURCE/include" "$SOURCE/docs/abi.md" >out 2>err || fail "$(cat out)"
