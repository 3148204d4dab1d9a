#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Man pages and completion in shells say what --help says.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

# ---- man pages: every option of the help, with its text, and nothing that troff warns of ----
if [ "$(size full quick)" = full ]; then
	bash "$SOURCE/scripts/man.sh" "$ISOTOME" man || fail "man.sh"
else
	mkdir man
	for words in recon 'recon strip' 'measure roi' simulate; do
		# shellcheck disable=SC2086
		"$ISOTOME" $words --help=man >"man/isotome-${words/ /-}.1" || fail "$words --help=man"
	done
fi
for page in recon-strip measure-roi; do
	[ -s man/isotome-$page.1 ] || fail "no page $page"
done
check "a page lacks what --help says" "$ISOTOME" man <<'END'
import glob, os, re, subprocess, sys
pages = sorted(glob.glob(sys.argv[2] + "/isotome-*.1"))
plain = lambda text: " ".join(re.sub(r"\s+", " ", text).split())
for page in pages:
    words = os.path.basename(page)[len("isotome-"):-2].split("-", 1)    # bench end-to-end
    helped = subprocess.run([sys.argv[1], *words, "--help"], capture_output=True, text=True, check=True).stdout
    roff = open(page).read()
    text = plain(re.sub(r"(?m)^\.(TP|nf|fi|B|SH|BR)\b *", "", re.sub(r"\\f[A-Z]|\\&", "", roff)).replace("\\e", "\\").replace("\\-", "-"))
    options = re.findall(r"(?m)^ +(?:-\w, )?(--[a-z][a-z0-9-]+)", helped.split("\nExamples:")[0])
    if len(options) < 2 or any(option not in text for option in options):
        sys.exit(f"{page}: {[o for o in options if o not in text]} of {options}")
    for paragraph in (helped.split("\n\nusage:")[0], helped.split("\nExamples:")[1]):
        if plain(paragraph) not in text:
            sys.exit(f"{page} lacks: {plain(paragraph)}")
END
for page in man/isotome.1 man/isotome-{recon,recon-strip,simulate}.1; do
	[ -e "$page" ] || continue
	if command -v groff >/dev/null; then
		groff -man -Tutf8 -ww -z "$page" 2>err || fail "groff $page"
		[ ! -s err ] || fail "groff warns of $page"
	fi
	if command -v mandoc >/dev/null; then	# a page of no date is the same on every day
		mandoc -T lint -W warning "$page" | grep -v 'missing date' >err && fail "mandoc warns of $page"
	fi
done

# ---- completion: asked as bash would ----
# next WANTED WORD...: WANTED are the candidates for the last of the words after the program's name
next() {
	local wanted=$1 got
	shift
	got=$(cd "$SOURCE" && bash -c '
		compopt() { :; }	# of a completion that bash itself began
		. completion/isotome.bash
		complete -p isotome | grep -q _isotome || exit 1
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_isotome "$1"
		echo "${COMPREPLY[*]}"' bash "$ISOTOME" "$@")
	[ "$got" = "$wanted" ] || fail "after '$*': '$got', expected '$wanted'"
}
next 'response recon resample report reproduce' re
next 'motion' mot
next 'recon' help rec
models=$(grep -o '&model_[a-z]*' "$SOURCE/src/problem/model.c" | sed 's/&model_//')
# shellcheck disable=SC2086
next "$(echo $models)" recon ''
next 'strip' recon st
next 'README.md' recon READ
next 'README.md' recon ray READ
next '' recon no-such-model --
next '--kernel' recon strip --ker
next 'eq7 tan gauss' recon strip --kernel ''
next 'tan' recon strip --kernel = t
next '--scanner --scanner-differs --scatter --scatter-rounds --scatter-scale --scatter-seed --scatter-error --scatter-extend --scatter-poses-mm --scatter-save --scratch' recon ray -o x.nii --method=osem --sc
next 'README.md' recon ray --scanner READ
next 'README.md' recon ray --scanner = READ
next 'docs' demo -o 'do'
next 'LICENSE' info README.md LIC
next '' recon ray -- --ke
next 'rmse' measure rm
next 'README.md' recon --like READ
next 'README.md' measure nema x.nii --spheres READ
next '--scale' measure rmse a.nii b.nii --sca
"$ISOTOME" --help=next: | cut -f 1 >names
"$ISOTOME" --help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }' | cmp -s - names ||
	fail "completion knows other commands than --help"
expect 2 recon ray --help=html
err_has '--help=html: must be --help=man, or --help=next:WORD'
expect 2 --help=html
expect 0 recon --help=next:	# what is asked is answered, whatever stands before
expect 0 phantom spheres -o x.nii -- --help=next:
[ ! -e x.nii ] || fail "completion ran a command"

# ---- the other shells, where they are: syntax, and what fish says ----
! command -v zsh >/dev/null || zsh -n "$SOURCE/completion/_isotome" || fail "zsh: _isotome"
if command -v fish >/dev/null; then
	ln -s "$ISOTOME" isotome
	PATH=$PWD:$PATH HOME=$PWD fish -c "source $SOURCE/completion/isotome.fish
		complete -C 'isotome recon strip --kernel=t'; complete -C 'isotome rec'" >out 2>err || fail "fish"
	cut -f 1 out | paste -sd ' ' | grep -qx -- '--kernel=tan recon' || fail "fish: $(cat out)"
fi
echo "all passed"
