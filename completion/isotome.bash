# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Completion for bash. The program says what may come next: --help=next:WORD (src/cmd/opt.h).

_isotome() {
	local cur=${COMP_WORDS[COMP_CWORD]} before=() word

	# bash makes three words of --name=value
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		[ "$word" = = ] || before+=("$word")
	done
	[ "$cur" != = ] || cur=
	[ "${before[0]-}" != help ] || before=()
	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		case $word in
		@file)
			compopt -o filenames
			mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur")
			;;
		@folder)
			compopt -o filenames
			mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$cur")
			;;
		"$cur"*) COMPREPLY+=("$word") ;;
		esac
	done < <("${1/#\~/$HOME}" "${before[@]}" "--help=next:$cur" 2>/dev/null)
}
complete -F _isotome isotome
