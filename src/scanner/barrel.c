/* SPDX-License-Identifier: BSD-3-Clause */
/* Barrels of long strips: what their description says besides the strips, and their geometry. */
#include "barrel.h"
#include "base/constants.h"

#define DEEPEST .1     /* mm that strips may be in each other: neighbours of a file touch to its rounding */
#define MU_WATER .0096 /* 1/mm at 511 keV */
#define FWHM_SIGMA 2.354820 /* 2 sqrt(2 log 2) */

/* ---- geometry ---- */

void iso_barrel_corners(double corner[4][2], const struct iso_barrel_strip *s)
{
	static const int side[4][2] = { { 1, 1 }, { 1, -1 }, { -1, -1 }, { -1, 1 } };
	double c = cos(s->angle), e = sin(s->angle);

	for (int k = 0; k < 4; k++) {
		double along = side[k][0] * s->depth / 2, across = side[k][1] * s->width / 2;

		corner[k][0] = s->x + along * c - across * e;
		corner[k][1] = s->y + along * e + across * c;
	}
}

/* From the axis to a line between two points. */
static double distance_to(const double p[2], const double q[2])
{
	double d[2] = { q[0] - p[0], q[1] - p[1] }, n = d[0] * d[0] + d[1] * d[1];
	double t = n > 0 ? -(p[0] * d[0] + p[1] * d[1]) / n : 0;

	t = fmin(fmax(t, 0), 1);
	return hypot(p[0] + t * d[0], p[1] + t * d[1]);
}

double iso_barrel_inner(const struct iso_barrel *b)
{
	double least = INFINITY, corner[4][2];

	if (!b) return 0;
	for (int64_t i = 0; i < b->n; i++) {
		iso_barrel_corners(corner, b->strip + i);
		for (int k = 0; k < 4; k++) least = fmin(least, distance_to(corner[k], corner[(k + 1) % 4]));
	}
	return least;
}

/* Half of a strip along a direction across the axis. */
static double reach(const struct iso_barrel_strip *s, double angle)
{
	return fabs(cos(angle - s->angle)) * s->depth / 2 + fabs(sin(angle - s->angle)) * s->width / 2;
}

double iso_barrel_overlap(const struct iso_barrel_strip *p, const struct iso_barrel_strip *q)
{
	double least = (p->length + q->length) / 2 - fabs(p->z - q->z);
	double angle[4] = { p->angle, p->angle + M_PI / 2, q->angle, q->angle + M_PI / 2 };

	for (int k = 0; k < 4; k++) {
		double apart = fabs((p->x - q->x) * cos(angle[k]) + (p->y - q->y) * sin(angle[k]));

		least = fmin(least, reach(p, angle[k]) + reach(q, angle[k]) - apart);
	}
	return least;
}

static double across(const struct iso_barrel *b, int64_t i, int64_t j)
{
	return hypot(b->strip[i].x - b->strip[j].x, b->strip[i].y - b->strip[j].y);
}

bool iso_barrel_pair(const struct iso_barrel *b, int64_t i, int64_t j)
{
	if (!b || i < 0 || j < 0 || i >= b->n || j >= b->n || i == j) return false;
	return across(b, i, j) >= b->least_distance;
}

int64_t iso_barrel_pairs(const struct iso_barrel *b)
{
	int64_t n = 0;

	if (!b) return 0;
	for (int64_t i = 0; i < b->n; i++)
		for (int64_t j = i + 1; j < b->n; j++) n += across(b, i, j) >= b->least_distance;
	return n;
}

/* Two times of an end's error give a place by half their difference, and each hit's time by their mean. */
void iso_barrel_sigma(double *z, double *dl, const struct iso_barrel *b)
{
	if (!z || !dl || !b) return;
	bool ends = b->end_sigma_ps > 0;

	*z = ends ? b->light_speed * b->end_sigma_ps / sqrt(2) : b->sigma_z;
	*dl = ISO_C_MM_PER_PS * (ends ? b->end_sigma_ps : b->crt_fwhm_ps / FWHM_SIGMA);
}

/* ---- reading ---- */

static int check_times(const struct iso_barrel *b, const struct conf_node *time)
{
	bool ends = b->end_sigma_ps > 0, plain = b->sigma_z > 0 || b->crt_fwhm_ps > 0;

	if (ends == plain || (plain && !(b->sigma_z > 0 && b->crt_fwhm_ps > 0)))
		return iso_conf_fail(time, "time needs end_sigma_ps, or both of sigma_z_mm and crt_fwhm_ps");
	if (ends && !(b->light_speed > 0))
		return iso_conf_fail(time, "end_sigma_ps needs light_speed_mm_per_ps");
	if (plain && (b->light_speed > 0 || b->light_attenuation > 0))
		return iso_conf_fail(time,
		                     "light_speed_mm_per_ps and light_attenuation_mm go with end_sigma_ps");
	for (int64_t i = 0; i < b->n; i++)
		if (b->light_attenuation > 0 && b->light_attenuation < b->strip[i].length / 20)
			return iso_conf_fail(
				time,
				"light_attenuation_mm is %g, must be a twentieth of a strip, %g, or "
				"more",
				b->light_attenuation, b->strip[i].length / 20);
	return ISO_OK;
}

static int read_time(iso_scanner *s, const struct conf_node *time)
{
	struct iso_barrel *b = &s->barrel;
	const struct conf_key keys[] = {
		/* Photons up to this far apart are a pair: for randoms. */
		{ "coincidence_ns", CONF_REAL, &s->coincidence_ns, 1, 1e-3, 1e6, false },
		/* Standard deviation of the time at one end of a strip, for a hit in its middle. */
		{ "end_sigma_ps", CONF_REAL, &b->end_sigma_ps, 1, 1e-3, 1e5, false },
		/* Of light along a strip. */
		{ "light_speed_mm_per_ps", CONF_REAL, &b->light_speed, 1, 1e-3, 1, false },
		/* Length over which light in a strip falls to 1/e: errors grow with the way. Default: they do not. */
		{ "light_attenuation_mm", CONF_REAL, &b->light_attenuation, 1, 1e-3, 1e9, false },
		/* Instead of end_sigma_ps: standard deviation of a place along a strip. */
		{ "sigma_z_mm", CONF_REAL, &b->sigma_z, 1, 1e-3, 1e5, false },
		/* With sigma_z_mm: resolution of t_a - t_b, FWHM. */
		{ "crt_fwhm_ps", CONF_REAL, &b->crt_fwhm_ps, 1, 1e-3, 1e6, false },
		{ .name = NULL },
	};
	int st = iso_conf_keys(time, keys);

	return st ? st : check_times(b, time);
}

static int check_overlaps(const struct iso_barrel *b, const struct conf_node *root)
{
	for (int64_t i = 0; i < b->n; i++)
		for (int64_t j = i + 1; j < b->n; j++) {
			double deep = iso_barrel_overlap(b->strip + i, b->strip + j);

			if (deep > DEEPEST)
				return iso_conf_fail(root,
				                     "strips %" PRId64 " and %" PRId64
				                     " overlap by %.3g mm, must be at most %g",
				                     i + b->first, j + b->first, deep, DEEPEST);
		}
	return ISO_OK;
}

/* Default: half the greatest. */
static int settle_distance(struct iso_barrel *b, const struct conf_node *root)
{
	double greatest = 0;

	for (int64_t i = 0; i < b->n; i++)
		for (int64_t j = i + 1; j < b->n; j++) greatest = fmax(greatest, across(b, i, j));
	if (!(b->least_distance > 0)) b->least_distance = greatest / 2;
	if (greatest > 0 && b->least_distance <= greatest) return ISO_OK;
	return iso_conf_fail(root,
	                     "no two strips are %g mm apart (least_pair_distance_mm): the farthest are %g",
	                     b->least_distance, greatest);
}

static int read_barrel(iso_scanner *s, const struct conf_node *root)
{
	static const char *const shadows[] = { "none", "line", NULL };
	struct iso_barrel *b = &s->barrel;
	const struct conf_node *strips = NULL, *time = NULL;
	int shadow = 1, st;
	const struct conf_key keys[] = {
		SCANNER_KEYS,
		/* Groups of strips, which are numbered on in this order. */
		{ "strips", CONF_NODE, &strips, 1, 0, 0, true },
		/* Of the strips at 511 keV. Default 0.0096, as water. */
		{ "mu_per_mm", CONF_REAL, &b->mu, 1, 1e-5, 1, false },
		/* Strips whose middles are nearer across the axis are no pair. Default: half the greatest distance. */
		{ "least_pair_distance_mm", CONF_REAL, &b->least_distance, 1, 1e-3, 1e5, false },
		/* Strips between those of a pair: line, they take photons; none. Default line. */
		{ .name = "shadow", .kind = CONF_NODE },
		{ .name = NULL },
	};

	b->mu = MU_WATER;
	if ((st = iso_conf_keys(root, keys)) || (st = iso_conf_word(&shadow, root, "shadow", shadows)))
		return st;
	b->shadow = shadow == 1;
	if (!(time = iso_conf_find(root, "time")))
		return iso_conf_fail(root, "key time is missing: how well strips measure");
	if ((st = iso_barrel_read_strips(b, root, strips)) || (st = read_time(s, time)) ||
	    (st = check_overlaps(b, root)))
		return st;
	return settle_distance(b, root);
}

const struct iso_scanner_fn iso_barrel_fn = {
	.read = read_barrel,
};
