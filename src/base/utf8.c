/* SPDX-License-Identifier: BSD-3-Clause */
/* UTF-8, and which of it may be printed. */
#include "utf8.h"

int iso_utf8_length(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	int n = s[0] < 0x80                   ? 1
	        : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
	        : (s[0] & 0xf0) == 0xe0       ? 3
	        : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
	                                      : 0;

	for (int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80) return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

int iso_utf8_printable(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	if (s[0] < ' ' || s[0] == 127 || (s[0] == 0xc2 && s[1] < 0xa0)) return 0;
	return iso_utf8_length(text);
}

char *iso_utf8_clean(char *text)
{
	int n;

	for (char *c = text; *c; c += n ? n : 1)
		if (!(n = iso_utf8_printable(c))) *c = '?';
	return text;
}
