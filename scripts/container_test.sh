#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the steps of packaging/Containerfile in clean roots, one for each FROM, without any tool for containers, and the
# demo in the last of them. The build is one of the steps. Knows the instructions that stand there, and refuses others;
# tells the seconds of each.
#
#     scripts/container_test.sh [-r ROOT]
#
# ROOT: a root that debootstrap made before, of which copies are taken; else one is made. Wants root; some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.bash
. scripts/clean_root.bash
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
base=$work/base
[ "${1:-}" != -r ] || { base=${2:?-r needs a root}; shift 2; }
[ -d "$base" ] || { mkdir "$base" && make_root "$base"; }
stage=0 name="" folder=/ user=root entry=""
declare -A root_of

# the place of a file inside: relative ones are in the folder of WORKDIR
place() {
	case $1 in
	/*) echo "$root$1" ;;
	*) echo "$root$folder/$1" ;;
	esac
}

copy() {
	local from=.

	case $1 in --from=*)
		from=${root_of[${1#--from=}]}
		shift
		;;
	esac
	mkdir -p "$(place "$2")"
	if [ "$from" = . ]; then # as a clone has it
		git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$(place "$2")"
	else
		cp -a "$from$1/." "$(place "$2")"
	fi
}

# run_inside COMMAND: says something where it fails
run_inside() {
	inside "$root" bash -c "cd '$folder' && $1" >"$work/log" 2>&1 </dev/null || { tail -40 "$work/log"; return 1; }
	grep -E '\.deb: ' "$work/log" || true # what package.sh made
}

while read -r word rest; do
	began=$SECONDS
	# shellcheck disable=SC2086
	case $word in
	'' | '#'*) continue ;;
	FROM)
		stage=$((stage + 1))
		root=$work/$stage folder=/ user=root
		name=${rest##* AS }
		root_of[$name]=$root
		mkdir "$root"
		make_root "$root" "$base"
		image=${rest%% *} got=$(. "$root/etc/os-release" && echo "$ID:$VERSION_ID")
		[ "$got" = "${image%-slim}" ] || echo "container_test.sh: $got in place of $image" >&2
		;;
	WORKDIR) folder=$rest; mkdir -p "$root$folder" ;;
	COPY) copy $rest ;;
	RUN) run_inside "$rest" ;;
	USER) user=$rest ;;
	ENTRYPOINT) entry=$(sed 's/[]["]//g' <<<"$rest") ;;
	*) echo "container_test.sh: $word: an instruction that it does not know" >&2; exit 1 ;;
	esac
	echo "== $word $rest: $((SECONDS - began)) s"
done <packaging/Containerfile
inside "$root" chown "$user" "$folder"
inside "$root" su "$user" -c "cd '$folder' && $entry demo -o demo -q" >/dev/null
[ -s "$root$folder/demo/report.html" ] || { echo "container_test.sh: no report" >&2; exit 1; }
echo "all passed: $(du -sh "$root" --exclude=data | cut -f 1) in all"
