#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The documentation site builds without a warning, has no broken link, no page that is not listed, and asks nobody; its
# reference says what program, tables and headers say.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

# ---- the reference: pages that are made ----
"$PYTHON" "$SOURCE/scripts/commands.py" "$ISOTOME" commands 2>err || fail "the pages of the commands can't be made"
for command in $("$ISOTOME" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
	[ -s "commands/$command.md" ] || fail "no page of $command"
	grep -qF "[$command]($command.md)" commands/index.md || fail "the list of commands lacks $command"
	for option in $("$ISOTOME" "$command" --help | grep -oE '^ +(-.,)? *--[a-z-]+' | grep -oE -e '--[a-z-]+'); do
		grep -qF -e "$option" "commands/$command.md" || fail "the page of $command lacks $option"
	done
done
suffixes=$(sed -n '/^static const struct iso_kind kinds/,/^};/s/^\t{ "\(\.[^"]*\)".*/\1/p' "$SOURCE/src/io/kinds.c" | sort -u)
[ "$(wc -w <<<"$suffixes")" -gt 20 ] || fail "the table of src/io/kinds.c was not understood"
for suffix in $suffixes; do
	case $suffix in .yml | .ckpt | .dcm) continue ;; esac	# other names of what is there; what users do not open
	grep -qF "\`$suffix\`" "$SOURCE/docs/formats.md" || fail "docs/formats.md does not tell of $suffix"
done

# ---- the examples of the reference: words that the program takes; what they name is not there. A dry run also looks at
# the memory that is free, of which whatever else this machine does leaves more or less: it is told that there is enough ----
mkdir empty
check "an example of the commands" "$ISOTOME" commands <<'END'
import pathlib, re, shlex, subprocess, sys
program, folder = sys.argv[1:]
wrong, n = [], 0
for page in sorted(pathlib.Path(folder).glob("*.md")):
    found = re.search(r"^## Examples\n.*?```sh\n(.*?)```", page.read_text(), re.S | re.M)
    for line in found[1].replace("\\\n", " ").strip().split("\n") if found and page.stem != "bench" else []:
        words = shlex.split(re.split(r" [|>] ", line.split("isotome ", 1)[1])[0])
        quick = ["--dry-run", "--memory-limit", "1000"] if page.stem in ("phantom", "reproduce", "demo") else []
        code = subprocess.run([program, *words, *quick], cwd="empty", stdin=subprocess.DEVNULL, capture_output=True).returncode
        n += 1
        if code not in (0, 3):
            wrong.append(f"{page.name}: exit code {code}: {line}")
if wrong or n < 60:
    sys.exit("\n".join([f"{n} examples", *wrong]))
END

# ---- the site ----
command -v mkdocs >/dev/null || skip "no mkdocs here (Debian: mkdocs)"
ISOTOME=$ISOTOME ISOTOME_NO_INSTALL=1 bash "$SOURCE/scripts/site.sh" -o site >out 2>err || fail "the site does not build"
[ ! -s err ] || fail "mkdocs warns"
"$PYTHON" "$SOURCE/tests/site/links.py" "$SOURCE" site >out || { cat out; fail "links"; }
for name in $(grep -ohE '\biso_[a-z0-9_]+\(' "$SOURCE"/src/exports.map.in "$SOURCE"/include/isotome/problem.h | sort -u); do
	grep -qF "$name" site/c-api/*.html || fail "the C reference lacks $name"
done
grep -q 'Content-Security-Policy' site/index.html || fail "no policy against requests"

# ---- the search: what users type, and the place that they want ----
searched() { # WORDS PLACE
	"$CHROMIUM" --headless --no-sandbox --virtual-time-budget=3000 --dump-dom "file://$PWD/site/index.html?q=$1" 2>/dev/null |
		tr -d '\n' | sed -n 's/.*<ol id="found">.\{0,9\}<a href="\([^"]*\)".*/\1/p' | grep -q "$2\$" ||
		fail "the first hit of $1 is not $2"
}
CHROMIUM=${CHROMIUM:-chromium}
if command -v "$CHROMIUM" >/dev/null; then
	searched orientation conventions.html#units-and-axes
	searched Bq/ml units.html#units-bqml-and-suv
	searched scatter scatter.html#scatter
	searched NaN conventions.html#values-refused
	searched CASToR formats.html#castor
	searched install howto/build.html#build-and-install
fi

# ---- what links.py must find ----
cp -r site broken
sed -i 's/href="models.html"/href="modles.html"/; s|<img |<img src="https://example.org/x.png"><img |' broken/index.html
sed -i 's/#normalisation"/#norm"/' broken/howto/corrections.html
echo 'body { background: url(https://example.org/x.png) }' >>broken/site.css
cp site/models.html broken/orphan.html
! "$PYTHON" "$SOURCE/tests/site/links.py" "$SOURCE" broken >out || fail "links.py finds nothing"
for fault in 'index.html: modles.html leads to no file' 'corrections.html: ../list-mode.html#norm leads to no anchor' \
	'index.html: https://example.org/x.png is not a file of the site' 'site.css:' 'orphan.html is not in the list of pages'; do
	out_has "$fault"
done

# ---- where the site goes ----
mkdir mine && touch mine/thesis.txt
! ISOTOME=$ISOTOME ISOTOME_NO_INSTALL=1 bash "$SOURCE/scripts/site.sh" -o mine 2>err || fail "a folder of other things was emptied"
[ -e mine/thesis.txt ] || fail "a file is gone"
echo "all passed"
