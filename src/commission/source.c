/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes of --source, and the lines that cross them. */
#include "source.h"

#include "base/fail.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *word;
	enum source_kind kind;
	int least, most; /* numbers */
	int positive; /* number of the first one that must be above 0; those behind it too, up to `until` */
	int until;
} shapes[] = {
	{ "cylinder:", SOURCE_CYLINDER, 5, 5, 3, 5 },
	{ "plane:", SOURCE_PLANE, 7, 7, 3, 6 },
	{ "orbit:", SOURCE_ORBIT, 3, 3, 0, 3 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes, NUMBERS = 7 };

static int shape_of(const char *text)
{
	for (int i = 0; i < SHAPES; i++)
		if (strncmp(text, shapes[i].word, strlen(shapes[i].word)) == 0) return i;
	return -1;
}

bool source_is_shape(const char *text)
{
	return text && shape_of(text) >= 0;
}

static void take(struct source *s, const double v[NUMBERS])
{
	const double angle = v[6] * M_PI / 180;

	if (s->kind == SOURCE_ORBIT) {
		s->orbit = v[0];
		s->radius = v[1];
		s->length = v[2];
		return;
	}
	memcpy(s->centre, v, sizeof s->centre);
	s->radius = v[3];
	s->length = v[4];
	for (int a = 0; a < 3; a++) s->half[a] = .5 * v[3 + a];
	s->turn[0] = cos(angle);
	s->turn[1] = sin(angle);
}

/* The text without a last ",x", ",y" or ",z", of which *axis is the number; 2 where there is none. */
static size_t cut_axis(int *axis, const char *text)
{
	const size_t n = strlen(text);

	*axis = 2;
	if (n < 2 || text[n - 2] != ',' || !strchr("xyz", text[n - 1])) return n;
	*axis = text[n - 1] - 'x';
	return n - 2;
}

int source_parse(struct source *s, const char *text)
{
	struct source r = { .axis = 2 };
	double v[NUMBERS] = { 0 };
	char numbers[256];
	const int i = shape_of(text);

	if (i < 0) return iso_fail(ISO_EARG, "source '%.80s' is no shape, expected " SOURCE_WORDS, text);
	const char *rest = text + strlen(shapes[i].word);
	const size_t n = shapes[i].kind == SOURCE_CYLINDER ? cut_axis(&r.axis, rest) : strlen(rest);

	r.kind = shapes[i].kind;
	snprintf(numbers, sizeof numbers, "%.*s", (int)(n < sizeof numbers ? n : sizeof numbers - 1), rest);
	const int found = iso_numbers(v, NUMBERS, numbers);

	if (found < shapes[i].least || found > shapes[i].most)
		return iso_fail(ISO_EARG, "source '%.80s': expected %d numbers, " SOURCE_WORDS, text,
		                shapes[i].least);
	for (int k = 0; k < found; k++)
		if (!isfinite(v[k]) || (k >= shapes[i].positive && k < shapes[i].until && !(v[k] > 0)))
			return iso_fail(ISO_EARG, "source '%.80s': number %d is %g, must be %s", text, k + 1,
			                v[k], isfinite(v[k]) ? "above 0" : "finite");
	take(&r, v);
	*s = r;
	return ISO_OK;
}

/* ---- lines: p + t d, t in mm from the first end ---- */

/* [*t0, *t1] narrowed to |p + t d| <= half. */
static void slab(double *t0, double *t1, double p, double d, double half)
{
	if (d == 0) {
		if (!(fabs(p) <= half)) *t1 = *t0 - 1;
		return;
	}
	const double a = (-half - p) / d, b = (half - p) / d;

	*t0 = fmax(*t0, fmin(a, b));
	*t1 = fmin(*t1, fmax(a, b));
}

/* Narrowed to p^2 + q^2 <= r^2 with p, q the two coordinates across an axis. */
static void disc(double *t0, double *t1, const double p[2], const double d[2], double r)
{
	const double dd = d[0] * d[0] + d[1] * d[1], pd = p[0] * d[0] + p[1] * d[1];
	const double c = p[0] * p[0] + p[1] * p[1] - r * r, root = pd * pd - dd * c;

	if (dd == 0 ? c > 0 : !(root > 0)) {
		*t1 = *t0 - 1;
		return;
	}
	if (dd == 0) return;
	*t0 = fmax(*t0, (-pd - sqrt(root)) / dd);
	*t1 = fmin(*t1, (-pd + sqrt(root)) / dd);
}

static void round_axis(double *t0, double *t1, const double p[3], const double d[3], int axis, double r,
                       double length)
{
	const int b = (axis + 1) % 3, c = (axis + 2) % 3;

	slab(t0, t1, p[axis], d[axis], .5 * length);
	disc(t0, t1, (const double[]){ p[b], p[c] }, (const double[]){ d[b], d[c] }, r);
}

static void box(double *t0, double *t1, const struct source *s, const double p[3], const double d[3])
{
	slab(t0, t1, s->turn[0] * p[0] + s->turn[1] * p[1], s->turn[0] * d[0] + s->turn[1] * d[1],
	     s->half[0]);
	slab(t0, t1, s->turn[0] * p[1] - s->turn[1] * p[0], s->turn[0] * d[1] - s->turn[1] * d[0],
	     s->half[1]);
	slab(t0, t1, p[2], d[2], s->half[2]);
}

/* Share of time that the rod covers a place at distance r from the axis:
   acos((r^2 + R^2 - a^2)/(2 r R))/pi, R the orbit, a the rod; 1 or 0 where the argument leaves [-1, 1]. */
static double share_of_time(const struct source *s, double r)
{
	const double up = r * r + s->orbit * s->orbit - s->radius * s->radius, down = 2 * r * s->orbit;

	if (up <= -down) return 1;
	return up >= down ? 0 : acos(up / down) / M_PI;
}

/* An orbit's density changes along the line: pieces of equal length, each of the density of its middle. */
static int orbit_pieces(struct source_piece *piece, const struct source *s, const double p[3],
                        const double d[3], double t0, double t1)
{
	const double step = (t1 - t0) / SOURCE_PIECES;
	int n = 0;

	for (int i = 0; i < SOURCE_PIECES; i++) {
		const double t = t0 + (i + .5) * step;
		const double density = share_of_time(s, hypot(p[0] + t * d[0], p[1] + t * d[1]));

		if (density > 0)
			piece[n++] = (struct source_piece){ t0 + i * step, t0 + (i + 1) * step, density };
	}
	return n;
}

int source_pieces(struct source_piece piece[SOURCE_PIECES], const struct source *s, const double p1[3],
                  const double p2[3])
{
	double p[3], d[3], length = 0, t0 = 0, t1;

	for (int a = 0; a < 3; a++) {
		p[a] = p1[a] - s->centre[a];
		d[a] = p2[a] - p1[a];
		length += d[a] * d[a];
	}
	t1 = length = sqrt(length);
	if (!(length > 0) || !isfinite(length)) return 0;
	for (int a = 0; a < 3; a++) d[a] /= length;
	if (s->kind == SOURCE_PLANE)
		box(&t0, &t1, s, p, d);
	else
		round_axis(&t0, &t1, p, d, s->axis, s->orbit + s->radius, s->length);
	if (!(t1 > t0)) return 0;
	if (s->kind == SOURCE_ORBIT) return orbit_pieces(piece, s, p, d, t0, t1);
	piece[0] = (struct source_piece){ t0, t1, 1 };
	return 1;
}

double source_integral(const struct source *s, const double p1[3], const double p2[3])
{
	struct source_piece piece[SOURCE_PIECES];
	const int n = source_pieces(piece, s, p1, p2);
	double sum = 0;

	for (int i = 0; i < n; i++) sum += (piece[i].to - piece[i].from) * piece[i].density;
	return sum;
}

double source_density(const struct source *s, const double at[3])
{
	double p[3];

	for (int a = 0; a < 3; a++) p[a] = at[a] - s->centre[a];
	if (s->kind == SOURCE_PLANE)
		return fabs(s->turn[0] * p[0] + s->turn[1] * p[1]) <= s->half[0] &&
		       fabs(s->turn[0] * p[1] - s->turn[1] * p[0]) <= s->half[1] && fabs(p[2]) <= s->half[2];
	if (fabs(p[s->axis]) > .5 * s->length) return 0;
	const double r = hypot(p[(s->axis + 1) % 3], p[(s->axis + 2) % 3]);

	return s->kind == SOURCE_ORBIT ? share_of_time(s, r) : r <= s->radius;
}
