/* SPDX-License-Identifier: BSD-3-Clause */
/* Round numbers for scales. */
#include "canvas.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double iso_round_below(double most)
{
	double power = pow(10, floor(log10(most)));
	double lead = most / power * (1 + 1e-9); /* 5 may have come out as 4.999... */

	return (lead >= 5 ? 5 : lead >= 2 ? 2 : 1) * power;
}

static double round_above(double least)
{
	double power = pow(10, floor(log10(least)));
	double lead = least / power * (1 - 1e-9);

	return (lead > 5 ? 10 : lead > 2 ? 5 : lead > 1 ? 2 : 1) * power;
}

void iso_tick_text(char *text, size_t size, double value)
{
	char plain[32];

	iso_snprintf(plain, sizeof plain, "%.4g", fabs(value));
	snprintf(text, size, "%s%s", value < 0 && strcmp(plain, "0") != 0 ? "\u2212" : "", plain);
}

/* "×10³" */
static void factor_text(char *text, size_t size, int exponent)
{
	static const char *const raised[] = {
		"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
		"\u2075", "\u2076", "\u2077", "\u2078", "\u2079",
	};
	char digits[16];

	snprintf(digits, sizeof digits, "%d", abs(exponent));
	size_t used = (size_t)snprintf(text, size, "\u00d710%s", exponent < 0 ? "\u207b" : "");

	for (const char *d = digits; *d && used < size; d++)
		used += (size_t)snprintf(text + used, size - used, "%s", raised[*d - '0']);
}

/* The power of ten, a multiple of three, that leaves numbers easy to read. */
static int common_exponent(double low, double high)
{
	double most = fmax(fabs(low), fabs(high));

	if (most == 0 || (most >= .01 && most < 1e4)) return 0;
	return 3 * (int)floor(log10(most) / 3);
}

static void add(struct iso_ticks *t, double value, int exponent)
{
	t->value[t->n] = value;
	iso_tick_text(t->text[t->n], sizeof t->text[0], value / pow(10, exponent));
	t->n++;
}

void iso_ticks_make(struct iso_ticks *t, double low, double high, int between)
{
	int exponent = common_exponent(low, high);

	between = between < ISO_TICKS - 2 ? between : ISO_TICKS - 2;
	*t = (struct iso_ticks){ 0 };
	if (exponent) factor_text(t->factor, sizeof t->factor, exponent);
	add(t, low, exponent);
	if (between > 0) {
		double step = round_above((high - low) / (between + 1)), clear = .5 * step;
		double first = ceil((low + clear) / step);

		for (int i = 0; i < between && (first + i) * step <= high - clear; i++)
			add(t, (first + i) * step, exponent);
	}
	add(t, high, exponent);
}
