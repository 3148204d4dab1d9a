/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as text. Most are read by one multiplication or division that rounds once. */
#define _GNU_SOURCE /* uselocale */
#include "number.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 63, POWERS = 23 };

/* Powers of ten that a double holds exactly. */
static const double power[POWERS] = {
	1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

struct decimal {
	uint64_t digits; /* value = digits x 10^exponent */
	int exponent, n; /* n: digits read */
	bool exact;      /* no digit was lost */
};

/* step: what the exponent changes by with each digit, 0 before the point and -1 behind it. */
static const char *take_digits(struct decimal *d, const char *p, const char *end, int step)
{
	for (; p < end && *p >= '0' && *p <= '9'; p++, d->n++) {
		if (d->digits > (UINT64_MAX - 9) / 10) {
			d->exact = false;
			continue;
		}
		d->digits = 10 * d->digits + (uint64_t)(*p - '0');
		d->exponent += step;
	}
	return p;
}

static const char *take_exponent(struct decimal *d, const char *p, const char *end)
{
	bool minus = p < end && *p == '-';
	const char *first;
	int e = 0;

	p += p < end && (*p == '-' || *p == '+');
	for (first = p; p < end && *p >= '0' && *p <= '9'; p++) e = e < 10000 ? 10 * e + (*p - '0') : e;
	d->exponent += minus ? -e : e;
	return p == first ? NULL : p;
}

static bool scan(struct decimal *d, const char *p, const char *end)
{
	p = take_digits(d, p, end, 0);
	if (p < end && *p == '.') p = take_digits(d, p + 1, end, -1);
	if (p < end && (*p == 'e' || *p == 'E')) p = take_exponent(d, p + 1, end);
	return p == end && d->n > 0;
}

/* By strtod: numbers that one multiplication or division would not round correctly. */
static bool slow(double *v, const char *text, size_t length)
{
	char copy[TEXT_MOST + 1], *end;
	void *was = iso_number_locale();

	memcpy(copy, text, length);
	copy[length] = '\0';
	*v = strtod(copy, &end);
	iso_number_locale_back(was);
	return !*end && isfinite(*v);
}

bool iso_number(double *v, const char *text, size_t length)
{
	struct decimal d = { .exact = true };
	bool sign = length > 0 && (*text == '-' || *text == '+');
	int e;

	if (length > TEXT_MOST || !scan(&d, text + sign, text + length)) return false;
	e = abs(d.exponent);
	if (!d.exact || d.digits > 1ull << 53 || e >= POWERS) return slow(v, text, length);
	*v = d.exponent < 0 ? (double)d.digits / power[e] : (double)d.digits * power[e];
	*v = *text == '-' ? -*v : *v;
	return true;
}

int iso_numbers(double *v, int most, const char *text)
{
	for (int n = 0; n < most; n++) {
		size_t length = strcspn(text, ",");

		if (!iso_number(&v[n], text, length)) return 0;
		if (text[length] == '\0') return n + 1;
		text += length + 1;
	}
	return 0;
}

int iso_vsnprintf(char *text, size_t size, const char *fmt, va_list ap)
{
	void *was = iso_number_locale();
	int n = vsnprintf(text, size, fmt, ap);

	iso_number_locale_back(was);
	return n;
}

int iso_snprintf(char *text, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = iso_vsnprintf(text, size, fmt, ap);
	va_end(ap);
	return n;
}

/* glibc and musl have the C locale ready: newlocale allocates nothing there and can't fail. */
void *iso_number_locale(void)
{
	return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

void iso_number_locale_back(void *was)
{
	locale_t c = uselocale((locale_t)was);

	if (c != (locale_t)was) freelocale(c);
}
