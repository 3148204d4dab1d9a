/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing text, HTML escapes, base64 (RFC 4648). */
#include "text.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Room for n more bytes and the final NUL. */
static bool reserve(struct iso_text *t, size_t n)
{
	if (t->failed || t->room - t->n > n) return !t->failed;
	size_t room = 2 * (t->n + n) + 1024;
	char *v = realloc(t->v, room);

	t->failed = !v;
	if (!v) return false;
	t->v = v;
	t->room = room;
	return true;
}

static void append(struct iso_text *t, const char *v, size_t n)
{
	if (!reserve(t, n)) return;
	memcpy(t->v + t->n, v, n);
	t->n += n;
	t->v[t->n] = 0;
}

void iso_text_add(struct iso_text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = iso_vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !reserve(t, (size_t)n)) return;
	va_start(ap, fmt);
	iso_vsnprintf(t->v + t->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	t->n += (size_t)n;
}

static const char *entity(char c)
{
	static const char special[] = "&<>\"'";
	static const char *const name[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };
	const char *at = strchr(special, c);

	return at ? name[at - special] : NULL;
}

/* A control character, or one that turns or breaks the lines of the text around it: U+2028 to U+202E, U+2066 to
   U+2069. It has n bytes, 0: none of UTF-8. */
static bool unprintable(const char *any, int n)
{
	const unsigned char *c = (const unsigned char *)any;

	if (n < 2) return n == 0 || c[0] < ' ' || c[0] == 127;
	if (n == 2) return c[0] == 0xc2 && c[1] < 0xa0;
	return c[0] == 0xe2 && ((c[1] == 0x80 && c[2] >= 0xa8 && c[2] <= 0xae) ||
	                        (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9));
}

void iso_text_cut(struct iso_text *t, const char *any, size_t most)
{
	for (; *any && most > 0; most--) {
		int n = iso_utf8_length(any);
		const char *e = entity(*any);

		if (e)
			append(t, e, strlen(e));
		else if (unprintable(any, n))
			append(t, "\xef\xbf\xbd", 3);
		else
			append(t, any, (size_t)n);
		any += n ? n : 1;
	}
	if (*any) append(t, "\xe2\x80\xa6", 3);
}

void iso_text_escaped(struct iso_text *t, const char *any)
{
	iso_text_cut(t, any, SIZE_MAX);
}

void iso_text_html(struct iso_text *t, const char *markup, ...)
{
	va_list ap;

	va_start(ap, markup);
	for (;;) {
		size_t n = strcspn(markup, "%");

		append(t, markup, n);
		if (!markup[n]) break;
		markup += n + 1;
		size_t most = *markup == '.' ? strtoul(markup + 1, NULL, 10) : SIZE_MAX;

		iso_text_cut(t, va_arg(ap, const char *), most);
		markup += strcspn(markup, "s") + 1;
	}
	va_end(ap);
}

void iso_text_part(struct iso_text *t, const char *before, struct iso_text *part, const char *after)
{
	if (part->n) iso_text_add(t, "%s%s%s", before, part->v, after);
	t->failed |= part->failed;
	iso_text_free(part);
}

void iso_text_json(struct iso_text *t, const char *any)
{
	append(t, "\"", 1);
	while (*any) {
		int n = iso_utf8_length(any);
		bool line = n == 3 && (memcmp(any, "\u2028", 3) == 0 || memcmp(any, "\u2029", 3) == 0);

		if (n == 0)
			append(t, "\ufffd", 3);
		else if (line)
			iso_text_add(t, "\\u202%d", any[2] & 15);
		else if ((unsigned char)*any < ' ' || strchr("\"\\<>&'\x7f", *any))
			iso_text_add(t, "\\u%04x", (unsigned)*any);
		else
			append(t, any, (size_t)n);
		any += n ? n : 1;
	}
	append(t, "\"", 1);
}

void iso_text_base64(struct iso_text *t, const void *bytes, size_t n)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *b = bytes;

	if (!reserve(t, n / 3 * 4 + 8)) return;
	for (size_t i = 0; i < n; i += 3) {
		unsigned v =
			(unsigned)b[i] << 16 | (i + 1 < n ? b[i + 1] : 0u) << 8 | (i + 2 < n ? b[i + 2] : 0u);
		char four[4] = { digit[v >> 18], digit[v >> 12 & 63], i + 1 < n ? digit[v >> 6 & 63] : '=',
			         i + 2 < n ? digit[v & 63] : '=' };

		append(t, four, sizeof four);
	}
}

void iso_text_free(struct iso_text *t)
{
	free(t->v);
	*t = (struct iso_text){ 0 };
}
