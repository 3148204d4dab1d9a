#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The library converts between floating point and text in base/number.c alone, where the locale of
# the process does not matter (tests/core/test_locale.c). The program never sets a locale: it may print.
. "$SOURCE/tests/cmd/lib.bash"

# raw_numbers FILE...: calls of the C library that follow the locale, as FILE: CALL
raw_numbers() {
	perl -0777 -ne '
		my $library = index($ARGV, "/cmd/") < 0;
		while (/\b(strto(?:d|f|ld)(?:_l)?|atof|setlocale|strn?casecmp)\s*\(/g) {
			print "$ARGV: $1\n";
		}
		while ($library && /\b(json_(?:loads|loadb|dumps))\s*\(/g) {
			print "$ARGV: $1\n";
		}
		while ($library && /\b(v?(?:f|d|s|sn|as)?printf|[fs]?scanf)\s*\(([^;]*);/gs) {
			my ($call, $arguments) = ($1, $2);
			my $texts = join "", $arguments =~ /"([^"]*)"/g;
			print "$ARGV: $call\n" if $texts =~ /%[-+ #0-9.*]*l?[eEfFgGaA]/;
		}' "$@"
}

printf 'x = strtod(s, 0);\n' >a.c
printf 'snprintf(s, 9,\n\t"%%d %%.3g", 1, 2.);\niso_snprintf(s, 9, "%%g", 1.);\nprintf("%%d");\n' >b.c
[ "$(raw_numbers a.c b.c)" = $'a.c: strtod\nb.c: snprintf' ] || fail "the check itself is blind"

find "$SOURCE/src" -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' |
	grep -v -e /base/number.c -e /text/json_file.c >sources
[ "$(wc -l <sources)" -gt 300 ] || fail "where are the sources?"
mapfile -t sources <sources
raw_numbers "${sources[@]}" >found
[ ! -s found ] || fail "numbers that follow the locale (base/number.h has others): $(cat found)"
