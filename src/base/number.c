/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as text. Short ones are read by one multiplication or division that rounds once, longer ones by
   integers of 128 bits; strtod reads what is left. */
#define _GNU_SOURCE /* uselocale */
#include "number.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 63, POWERS = 23, FIVES = 28, MANTISSA = 53 /* bits of a double */ };

/* Powers of ten that a double holds exactly. */
static const double power[POWERS] = {
	1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* Powers of five that 64 bits hold. */
static const uint64_t five[FIVES] = {
	1u,
	5u,
	25u,
	125u,
	625u,
	3125u,
	15625u,
	78125u,
	390625u,
	1953125u,
	9765625u,
	48828125u,
	244140625u,
	1220703125u,
	6103515625ull,
	30517578125ull,
	152587890625ull,
	762939453125ull,
	3814697265625ull,
	19073486328125ull,
	95367431640625ull,
	476837158203125ull,
	2384185791015625ull,
	11920928955078125ull,
	59604644775390625ull,
	298023223876953125ull,
	1490116119384765625ull,
	7450580596923828125ull,
};

struct decimal {
	uint64_t digits; /* value = digits x 10^exponent, */
	int exponent, n; /* n: digits read */
	bool exact;      /* or, where other digits than 0 did not fit any more, less than 1 above `digits` */
};

/* step: what the exponent changes by with each digit, 0 before the point and -1 behind it. */
static const char *take_digits(struct decimal *d, const char *p, const char *end, int step)
{
	for (; p < end && *p >= '0' && *p <= '9'; p++, d->n++) {
		if (d->digits > (UINT64_MAX - 9) / 10) {
			d->exact = d->exact && *p == '0';
			d->exponent += step + 1;
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

__extension__ typedef unsigned __int128 wide;

/* m x 2^e as the nearest double, of two the even one; `more`: what m stands for is above m, by less than 1. m
   has more bits than a double, and the result is no subnormal number. */
static double round_off(wide m, bool more, int e)
{
	int high = m >> 64 ? 64 : 0, bits = high + 64 - __builtin_clzll((uint64_t)(m >> high));
	int drop = bits - MANTISSA;
	uint64_t kept = (uint64_t)(m >> drop);
	wide rest = m - ((wide)kept << drop), half = (wide)1 << (drop - 1);

	kept += rest > half || (rest == half && (more || kept & 1));
	return ldexp((double)kept, drop + e);
}

/* digits x 10^e, not 0 and |e| < FIVES, rounded once: 10^e is 5^e 2^e, and the product with 5^e fits 128 bits.
   A quotient is one of integers, of 64 bits or 65: the remainder tells on which side of it the value lies. */
static double scale(uint64_t digits, int e)
{
	int up = __builtin_clzll(digits);

	if (e >= 0) return round_off(((wide)digits << up) * five[e], false, e - up);
	int down = __builtin_clzll(five[-e]);
	wide over = (wide)(digits << up) << 64, quotient = over / (five[-e] << down);

	return round_off(quotient, quotient * (five[-e] << down) != over, e + down - up - 64);
}

/* Digits that did not fit change nothing where the next number of `digits` is rounded to the same. */
static bool scale_both(double *v, const struct decimal *d)
{
	if (d->digits == 0 || abs(d->exponent) >= FIVES) return false;
	*v = scale(d->digits, d->exponent);
	return d->exact || (d->digits < UINT64_MAX && *v == scale(d->digits + 1, d->exponent));
}

/* By strtod: all other numbers. */
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
	if (d.exact && d.digits <= 1ull << MANTISSA && e < POWERS)
		*v = d.exponent < 0 ? (double)d.digits / power[e] : (double)d.digits * power[e];
	else if (!scale_both(v, &d))
		return slow(v, text, length);
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
