#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The library is called by other programs than ours: its texts name no option and no command of the
# command line.
# shellcheck source=tests/cmd/lib.bash
. "$SOURCE/tests/cmd/lib.bash"

# Every command, from the table of the program: "\|"-separated.
commands=$("$ISOTOME" --help | sed -nE 's/^  ([a-z]+)  .*/\1/p' | paste -sd '|')
[[ $commands == *recon*measure* || $commands == *measure*recon* ]] || fail "the commands are not known: $commands"

# words FILE...: string literals with an option or a command, as FILE: TEXT
words() {
	commands=$commands perl -0777 -ne '
		s{/\*.*?\*/}{}gs;
		while (/"((?:[^"\\\n]|\\.)*)"/g) {
			my $text = $1;
			print "$ARGV: $text\n" if $text =~ /(?<![-\w])--[a-z%]/ || $text =~ /isotome (?:$ENV{commands})\b/;
		}' "$@"
}

printf 'f("--resume goes on"); /* "--comment" */ g("a -- b", "isotome-recon");\n' >a.c
printf 'f("x "\n\t"isotome recon: no");\n' >b.c
[ "$(words a.c b.c)" = $'a.c: --resume goes on\nb.c: isotome recon: no' ] || fail "the check itself is blind"

find "$SOURCE/src" -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | grep -vE '/src/(cmd|problem|report)/' >sources
[ "$(wc -l <sources)" -gt 200 ] || fail "where are the sources?"
mapfile -t sources <sources
words "${sources[@]}" >found
[ ! -s found ] || fail "words of the command line in the library: $(cat found)"
