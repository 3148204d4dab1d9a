# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What tests of checks share: a run that is refused, doubted, or fits.

# said CHECK WORD TEXT: what the record x.json says of a check, and a warning that holds the text
said() {
	check "the record on $1" "$@" <<-'END'
		import json
		import sys
		name, word, text = sys.argv[1:]
		r = json.load(open("x.json"))
		if r.get("checks", {}).get(name) != word:
		    raise SystemExit(f"{name} is not {word}: {r.get('checks')}")
		if text and not any(text in w for w in r["warnings"]):
		    raise SystemExit(f"no warning has '{text}': {r['warnings']}")
	END
}

# refused CHECK TEXT ARGS...: exit code 3 with the text and the way out, which leaves a warning in the record;
# also=CHECK,...: others that would be refused too
refused() {
	local name=$1 text=$2 got=0
	shift 2
	rm -f x.nii x.json
	"$ISOTOME" recon "$@" -o x.nii >out 2>err || got=$?
	[ "$got" = 3 ] || fail "isotome recon $*: exit code $got, expected 3"
	sed -i '/: warning: /d' err # of what was read
	[ "$(wc -l <err)" = 1 ] || fail "isotome recon $*: an error must be one line"
	err_has "$text"
	err_has "; --accept $name takes it all the same"
	[ ! -e x.nii ] || fail "a refused run left an image"
	run recon "$@" --accept "$name${also:+,$also}" -o x.nii
	err_has "warning: "
	said "$name" doubtful "$text"
}

# doubted CHECK TEXT ARGS...: a warning, here and in the record
doubted() {
	local name=$1 text=$2
	shift 2
	run recon "$@" --force -o x.nii
	err_has "$text"
	said "$name" doubtful "$text"
}

# fits CHECKS ARGS...: these checks, between commas, were made and found nothing
fits() {
	local names=$1 name
	shift
	run recon "$@" --force -o x.nii
	for name in ${names//,/ }; do said "$name" fits ''; done
	! grep -q doubtful x.json || fail "isotome recon $*: a false alarm"
}
