/* SPDX-License-Identifier: BSD-3-Clause */
/* Clock times: [YYYY-MM-DD]THH:MM[:SS[.sss]][Z|+HH:MM|-HH:MM], a space in place of T, and the time between two. */
#include "moment.h"

#include "core/status.h"

#include <math.h>
#include <string.h>

#define DAY 86400.

/* `digits` digits as a number from `least` to `most`; *p goes behind them. */
static bool take_number(int *v, const char **p, int digits, int least, int most)
{
	*v = 0;
	for (int i = 0; i < digits; i++, (*p)++) {
		if (**p < '0' || **p > '9') return false;
		*v = 10 * *v + (**p - '0');
	}
	return *v >= least && *v <= most;
}

static bool take_letter(const char **p, char letter)
{
	if (**p != letter) return false;
	(*p)++;
	return true;
}

static int days_of_month(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

/* Days from 1970-01-01: whole years, with a leap day behind each that has one, then months. */
static double days_of(int year, int month, int day)
{
	int before = year - 1;
	double days = 365. * (year - 1970) + (before / 4 - before / 100 + before / 400) - 477;

	for (int m = 1; m < month; m++) days += days_of_month(year, m);
	return days + day - 1;
}

/* A date is told from a time by its four digits. */
static bool take_date(struct moment *m, const char **p)
{
	int year, month, day;

	if (strspn(*p, "0123456789") != 4) return true;
	if (!take_number(&year, p, 4, 1, 9999) || !take_letter(p, '-') || !take_number(&month, p, 2, 1, 12) ||
	    !take_letter(p, '-') || !take_number(&day, p, 2, 1, days_of_month(year, month)))
		return false;
	m->dated = true;
	m->s = DAY * days_of(year, month, day);
	return take_letter(p, 'T') || take_letter(p, ' ');
}

static bool take_time(struct moment *m, const char **p)
{
	double part = 0;

	if (!take_number(&m->hour, p, 2, 0, 23) || !take_letter(p, ':') ||
	    !take_number(&m->minute, p, 2, 0, 59))
		return false;
	if (take_letter(p, ':')) {
		if (!take_number(&m->second, p, 2, 0, 59)) return false;
		size_t n = **p == '.' ? 1 + strspn(*p + 1, "0123456789") : 0;

		if (n > 0 && (n == 1 || !iso_number(&part, *p, n))) return false;
		*p += n;
	}
	m->s += 3600. * m->hour + 60. * m->minute + m->second + part;
	return true;
}

/* A zone ahead of UTC has the later clock. */
static bool take_zone(struct moment *m, const char **p)
{
	int hours, minutes;
	double ahead = **p == '-' ? -1 : 1;

	if (**p == '\0') return true;
	m->zoned = true;
	if (take_letter(p, 'Z')) return true;
	if (!take_letter(p, '+') && !take_letter(p, '-')) return false;
	if (!take_number(&hours, p, 2, 0, 14) || !take_letter(p, ':') || !take_number(&minutes, p, 2, 0, 59))
		return false;
	m->s -= ahead * (3600. * hours + 60. * minutes);
	return true;
}

int moment_parse(struct moment *m, const char *text)
{
	const char *p = text;
	struct moment made = { 0 };

	if (!take_date(&made, &p) || !take_time(&made, &p) || !take_zone(&made, &p) || *p)
		return iso_fail(ISO_EARG,
		                "is '%.60s', must be a time such as 14:30, 14:30:15 or 2026-11-16T14:30:15, "
		                "with a zone such as Z or +01:00 or without",
		                text);
	*m = made;
	return ISO_OK;
}

int iso_seconds_between(double *seconds, const char *from, const char *to)
{
	if (!seconds || !from || !to) return iso_fail_null(__func__);
	struct moment a, b;
	int st;

	if ((st = moment_parse(&a, from)) || (st = moment_parse(&b, to)))
		return iso_fail(st, "a clock time %s", iso_message());
	if (a.zoned != b.zoned)
		return iso_fail(ISO_EARG, "%s and %s: one of them has a time zone, the other has none", from,
		                to);
	double s = b.s - a.s;

	*seconds = a.dated && b.dated ? s : s - DAY * round(s / DAY);
	return ISO_OK;
}
