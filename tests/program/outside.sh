#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Commands that are programs of their own: isotome-NAME beside isotome or on the PATH, and what is said where it is not.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"
plain=$PATH

# ---- somebody's own command gets its words, and its exit code is the program's ----
mkdir tools
printf '#!/bin/sh\nprintf "[%%s]" "$@"\nexit "${CODE:-0}"\n' >tools/isotome-hello
chmod +x tools/isotome-hello
PATH=$plain::/nowhere:$work/tools
expect 0 hello 'two words' --and=one ''
out_has '[two words][--and=one][]'
expect 0 help hello
out_has '[--help]'
CODE=3 "$ISOTOME" hello >out 2>err && fail "the exit code of a command is lost"
[ $? = 3 ] || fail "the exit code of a command is another"
"$ISOTOME" --help=next: >out
! grep -q hello out || fail "the table has a command of somebody else"
cp tools/isotome-hello tools/isotome-recon
expect 2 recon
err_has 'isotome recon: '

# ---- what is none ----
chmod -x tools/isotome-hello
expect 2 hello
err_has "unknown command 'hello'; try 'isotome --help'"
expect 2 recno
err_has "did you mean 'recon'"
mkdir isotome-x
cp tools/isotome-recon isotome-x/y
expect 2 x/y
err_has "unknown command 'x/y'"
expect 2 "$(printf '%0300d' 0)"
mkdir -p tools/isotome-folder
expect 2 folder
err_has "unknown command 'folder'"

# ---- isotome-bench: beside the program, on the PATH, nowhere ----
PATH=$plain
bench=$(dirname "$ISOTOME")/isotome-bench
"$bench" ray --dry-run --json >direct
expect 0 bench ray --dry-run --json
cmp -s out direct || fail "isotome-bench ray is not isotome bench ray"
"$bench" reproduce --help >direct
expect 0 reproduce --help
cmp -s out direct || fail "isotome-bench reproduce is not isotome reproduce"
mkdir alone
cp "$ISOTOME" alone/isotome
LD_LIBRARY_PATH=$(dirname "$ISOTOME")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
ISOTOME=$work/alone/isotome
for command in bench reproduce; do
	expect 2 $command --help
	err_has "isotome $command: "
	err_has "isotome-bench, which is neither beside isotome nor on the PATH"
	err_has "'cmake --build build --target isotome-bench'"
done
expect 0 --help
out_has '  bench '
ln -s "$bench" tools/isotome-bench
PATH=$work/tools:$plain
expect 0 bench limits --dry-run
out_has 'arrays beyond the caches'
expect 2 bench nothing
err_has "isotome bench: 'nothing' is not a benchmark"
echo "all passed"
