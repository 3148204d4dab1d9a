#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# libisotome.so shows the functions that its headers declare, and what its own parts need: see
# scripts/exports.py, which is first shown trees that are wrong.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
build=$(dirname "$ISOTOME")

# found TEXT: of a copy of the tree in tree/
found() {
	! "$PYTHON" tree/scripts/exports.py "$build" >out 2>err || fail "not found: $1"
	out_has "$1"
}

# copy: the parts of the tree that count
copy() {
	rm -rf tree
	mkdir -p tree/src tree/scripts
	cp -r "$SOURCE/include" tree
	cp "$SOURCE/src/exports.map.in" tree/src
	cp "$SOURCE/scripts/exports.py" tree/scripts
}

copy
sed -i 's/^ISO_END_C/int iso_not_made(iso_ctx *ctx);\n&/' tree/include/isotome/context.h
found 'iso_not_made is declared, but libisotome.so does not show it'
copy
sed -i '/ iso_grid_check(/d' tree/include/isotome/grid.h
found 'iso_grid_check is shown, but neither declared nor listed'
copy
sed -i '/\tiso_fail;/d; /\tiso_fail_memory;/d' tree/src/exports.map.in
found 'iso_fail_memory is shown, but neither declared nor listed'
copy
sed -i 's,for isotome-bench .*,&\n\t\tiso_of_nobody;,' tree/src/exports.map.in
found 'iso_of_nobody is listed for isotome-bench, which does not use it'
copy
sed -i 's/\tiso_library_symbol;.*/\tiso_library_symbol;/' tree/src/exports.map.in
found 'iso_library_symbol is listed for isotome without a reason'
copy
sed -i 's/^MOST = {PROGRAM: [0-9]*,/MOST = {PROGRAM: 3,/' tree/scripts/exports.py
found 'private names, at most 3: '

"$PYTHON" "$SOURCE/scripts/exports.py" "$build" >out 2>err || fail "$(cat out)"

# ---- in a test program the CUDA half binds to the copy that the program uses ----
if [ -e "$build/libisotome_cuda.so" ]; then
	LD_DEBUG=bindings LD_DEBUG_OUTPUT=loader "$build/tests/test_core" >out 2>&1 || fail "test_core"
	grep -h 'binding file [^ ]*libisotome_cuda.so .* `iso_' loader.* >bindings || fail "the CUDA half was not opened"
	! grep -vE ' to [^ ]*libisotome_(tests|cuda).so ' bindings >err || fail "the CUDA half has another copy"
fi
