#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Writes the man pages from the program's own tables: one for it, for each command, and for each kind of
# a command that has options of its own (recon strip, measure roi).
#
#   scripts/man.sh PROGRAM FOLDER
set -euo pipefail
program=$(realpath "$1")
folder=$2
mkdir -p "$folder"
rm -f "$folder"/isotome*.1

# kinds COMMAND: the kinds of a command that have a help of their own, of the words that may follow it
kinds() {
	local kind plain

	plain=$("$program" "$1" --help)
	"$program" "$1" --help=next: | grep -v '^[@-]' | cut -f 1 | while read -r kind; do
		[ "$("$program" "$1" "$kind" --help)" = "$plain" ] || echo "$kind"
	done
}

# see_also NAME...: the pages of these names, the last section
see_also() {
	echo '.SH SEE ALSO'
	printf '.BR %s (1),\n' "${@//-/\\-}" | sed '$ s/,$//'
}

# a command of another program that is not there has no page
while IFS=$'\t' read -r command _; do
	"$program" "$command" --help >/dev/null 2>&1 || continue
	mapfile -t own < <(kinds "$command")
	for kind in "${own[@]}"; do
		{ "$program" "$command" "$kind" --help=man; see_also isotome "isotome-$command"; } \
			>"$folder/isotome-$command-$kind.1"
	done
	{ "$program" "$command" --help=man; see_also isotome "${own[@]/#/isotome-$command-}"; } \
		>"$folder/isotome-$command.1"
done < <("$program" --help=next:)

{
	printf '.TH ISOTOME 1 "" "%s" "Isotome"\n' "$("$program" --version | sed 's/^i/I/')"
	cat <<-'END'
		.SH NAME
		isotome \- from tomography measurements to images
		.SH SYNOPSIS
		.B isotome
		.I COMMAND
		[arguments and options]
		.SH DESCRIPTION
		List\-mode PET, dual\-head PET, two\-strip J\-PET and optoacoustics: simulates scans, reconstructs,
		filters, measures and shows images.
		Every command explains itself by
		.BR \-\-help ,
		and has a page of its own.
		Results go to standard output, progress and warnings to standard error; every output has a record
		beside it, a JSON file by which
		.B \-\-like
		repeats the run.
		.SH COMMANDS
	END
	"$program" --help=next: | while IFS=$'\t' read -r command help; do
		printf '.TP\n.BR isotome\\-%s (1)\n%s\n' "$command" "${help//-/\\-}"
	done
	cat <<-'END'
		.SH EXIT STATUS
		.TP
		.B 0
		done
		.TP
		.B 1
		a failure at run time: the system failed to read or write, or a figure is not below its limit
		.TP
		.B 2
		the command line is wrong
		.TP
		.B 3
		an input file is missing, damaged, or holds what is not allowed
		.TP
		.B 4
		no memory for it
		.TP
		.B 5
		the device is not there, or failed
		.TP
		.B 129, 130, 143
		interrupted by SIGHUP, SIGINT or SIGTERM, after a checkpoint where the command has one
	END
} >"$folder/isotome.1"
