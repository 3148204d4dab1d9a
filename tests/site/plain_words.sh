#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Pages, help texts and public headers are free of the turns that scripts/plain-words.py bans; the script can fail.
. "$SOURCE/tests/cmd/lib.bash"

words() {
	"$PYTHON" "$SOURCE/scripts/plain-words.py" "$@"
}

words --self-test || fail "the self-test of plain-words.py"

# ---- a small tree: each turn of the list is found by file and line, with what to write instead ----
mkdir -p tree/docs tree/include
printf '# Title\n\nIsotome reads files.\n' >tree/README.md
words --root tree || fail "a finding in a clean tree"
printf '# Title\n\nA line.\n\n- Of a name, the last part counts.\n' >tree/docs/page.md
printf '/* The run continues what is there. */\n' >tree/include/x.h
words --root tree >out && fail "banned turns pass"
grep -qF 'docs/page.md:5: of-first: ' out || fail "a page: no file and line"
grep -qF 'Of a name, the last part counts.' out || fail "a page: no sentence"
grep -qF "write: begin with the subject" out || fail "a page: not what to write"
grep -qF 'include/x.h:1: what-is-there: ' out || fail "a header: no file and line"

# ---- the length of README.md ----
words --root tree --readme >out || fail "a short README.md is refused"
{ echo '# Title' && printf 'word %.0s' {1..701}; } >tree/README.md
words --root tree --readme >out && fail "a README.md of 700 words and more passes"

# ---- this source ----
words "$ISOTOME" || fail "banned turns: see above"
words --readme || fail "README.md is too long"
echo "all passed"
