/* SPDX-License-Identifier: BSD-3-Clause */
/* The data side of model ray, per event: the factor m (attenuation, normalisation, decay, live
   time) and the additive term r (scatter and randoms). */
#include "model_ray.h"

#include "core/size.h"
#include "core/status.h"

#include <math.h>
#include <stdlib.h>

#define C_MM_PER_PS 0.299792458

/* ---- reading ---- */

static int load_mu(struct cmd *c)
{
	int st;

	if (!ray.mu)
		return ray.precorrected ? iso_fail(ISO_EARG, "--precorrected needs --mu") : ISO_OK;
	st = cmd_read_map(&ray.mu_map, ray.mu, &ray.grid);
	return st ? st : record_input(&c->record, ray.mu);
}

bool ray_norm_per_crystal(void)
{
	return ray.s && ray.factors.n == iso_scanner_crystals(ray.s);
}

/* The file's factors hold attenuation and normalisation at once: options replace them whole. */
static bool factors_of_file(void)
{
	return ray.e.mult && !ray.mu && !ray.norm;
}

bool ray_factors_per_event(void)
{
	return factors_of_file() || (ray.norm && !ray_norm_per_crystal());
}

static int load_norm(struct cmd *c)
{
	int st;

	if (!ray.norm)
		return ISO_OK;
	if ((st = iso_read(&ray.factors, ray.norm, ISO_NONNEGATIVE)) ||
	    (st = record_input(&c->record, ray.norm)))
		return st;
	bool per_event = ray.e.n && ray.factors.n == ray.e.n;

	if (ray_norm_per_crystal() && per_event)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values fit both the crystals and the events",
				ray.norm, ray.factors.n);
	if (ray_norm_per_crystal() || per_event)
		return ISO_OK;
	if (!ray.s)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one per event (%" PRId64 "); "
				"efficiencies per crystal need --scanner", ray.norm, ray.factors.n, ray.e.n);
	return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one per crystal (%" PRId64 ") or "
			"per event (%" PRId64 ")", ray.norm, ray.factors.n,
			iso_scanner_crystals(ray.s), ray.e.n);
}

int ray_load_factors(struct cmd *c)
{
	int st;

	if ((st = load_mu(c))) return st;
	if ((st = load_norm(c))) return st;
	if (ray.e.mult && !factors_of_file())
		record_warn(&c->record, "%s: its factors per event are not used: --mu and --norm take "
			    "their place", ray.events);
	return ISO_OK;
}

static bool is_number(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && !*end;
}

static int load_add(struct cmd *c)
{
	int st;

	if (!ray.additive)
		return ISO_OK;
	if (is_number(ray.additive, &ray.add_constant)) {
		if (ray.add_constant >= 0 && isfinite(ray.add_constant))
			return ISO_OK;
		return iso_fail(ISO_EARG, "--additive is %s, must be 0 or above", ray.additive);
	}
	if ((st = iso_read(&ray.add, ray.additive, ISO_NONNEGATIVE)) ||
	    (st = record_input(&c->record, ray.additive)))
		return st;
	if (ray.add.n != ray.e.n)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one per event (%" PRId64 ")",
				ray.additive, ray.add.n, ray.e.n);
	return ISO_OK;
}

/* ---- randoms ---- */

static int randoms_of(const struct iso_events *late, struct cmd *c)
{
	int64_t bad = 0;
	int st = iso_randoms_from_delayed(ray.rate, &bad, c->ctx, ray.s, late);

	if (!st && bad)
		record_warn(&c->record, "%s: %" PRId64 " of %" PRId64 " delayed events lie on no pair of "
			    "crystals and are left out", ray.delayed, bad, late->n);
	return st;
}

static int load_delayed(struct cmd *c)
{
	int st;

	if ((st = iso_events_read(&ray.late, ray.delayed, &ray.read)) ||
	    (st = record_input(&c->record, ray.delayed)))
		return st;
	return randoms_of(&ray.late, c);
}

static int load_singles(struct cmd *c)
{
	struct iso_array a = { 0 };
	int st;

	if (!(ray.e.duration_s > 0))
		return iso_fail(ISO_EARG, "--singles needs the duration of the scan, which %s does not "
				"say: give --duration-s", ray.events);
	if (!(ray.coincidence_ns > 0))
		return iso_fail(ISO_EARG, "--singles needs the coincidence window: --coincidence-ns, or "
				"time: {coincidence_ns: ...} of the scanner");
	if ((st = iso_read(&a, ray.singles, ISO_NONNEGATIVE))) return st;
	if ((st = record_input(&c->record, ray.singles))) goto done;
	if (a.n != iso_scanner_crystals(ray.s))
		st = iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one per crystal (%" PRId64 ")",
			      ray.singles, a.n, iso_scanner_crystals(ray.s));
	else
		st = iso_randoms_from_singles(ray.rate, ray.s, a.v, ray.e.duration_s,
					      ray.coincidence_ns);
done:
	iso_array_free(&a);
	return st;
}

static int load_randoms(struct cmd *c)
{
	if (!ray.delayed && !ray.singles)
		return ISO_OK;
	if (ray.delayed && ray.singles)
		return iso_fail(ISO_EARG, "--delayed and --singles exclude each other");
	if (!ray.s)
		return iso_fail(ISO_EARG, "--%s needs --scanner", ray.delayed ? "delayed" : "singles");
	if (ray.coincidence_ns == 0)
		ray.coincidence_ns = iso_scanner_coincidence_ns(ray.s);
	if (ray.tof > 0 && !(ray.coincidence_ns > 0))
		return iso_fail(ISO_EARG, "randoms with time of flight need the coincidence window: "
				"--coincidence-ns, or time: {coincidence_ns: ...} of the scanner");
	int64_t n = iso_scanner_crystals(ray.s);

	if (!(ray.rate = size_alloc(n, sizeof *ray.rate)))
		return iso_fail_memory("randoms", n * (int64_t)sizeof *ray.rate);
	return ray.delayed ? load_delayed(c) : load_singles(c);
}

static bool additive_given(void)
{
	return ray.additive || ray.delayed || ray.singles;
}

int ray_load_additive(struct cmd *c)
{
	int st;

	if (ray.precorrected && (additive_given() || ray.e.add))
		return iso_fail(ISO_EARG, "--precorrected data can't carry an --additive term or randoms");
	if (ray.e.add && additive_given())
		record_warn(&c->record, "%s: its additive term is not used: the options' takes its place",
			    ray.events);
	if ((st = load_add(c))) return st;
	return load_randoms(c);
}

/* ---- the additive term of the frame in force ---- */

/* r of a row is in counts without TOF, per mm of the LOR with it, or per bin of w = c bin / 2. */
static double bin_mm(double bin_ps)
{
	return C_MM_PER_PS * bin_ps / 2;
}

/* Randoms are uniform over |t1 - t2| <= tau, c tau mm of the LOR. */
static double unit_of_randoms(void)
{
	double window_mm = C_MM_PER_PS * 1e3 * ray.coincidence_ns;

	if (ray.tof == 0)
		return 1;
	return (ray.bin > 0 ? bin_mm(ray.bin) : 1) / window_mm;
}

/* From the unit of the events' file to that in force. */
static int unit_of_file(double *unit)
{
	bool tof = ray.e.tof_fwhm_ps > 0 || ray.e.tof_bin_ps > 0;

	if (tof != (ray.tof > 0))
		return iso_fail(ISO_EINPUT, "%s: its additive term is %s time of flight, the model %s; "
				"give --additive", ray.events, tof ? "of" : "without",
				tof ? "has none" : "has it");
	*unit = (ray.bin > 0 ? bin_mm(ray.bin) : 1) /
		(ray.e.tof_bin_ps > 0 ? bin_mm(ray.e.tof_bin_ps) : 1);
	return ISO_OK;
}

static int64_t file_number(int64_t j)
{
	return ray.number ? ray.number[j] : j;
}

static int64_t crystal_of(int64_t j, int end)
{
	const struct iso_event *e = ray.now.v + j;
	const float *p = end ? e->p2 : e->p1;
	double distance;

	if (ray.now.crystal)
		return ray.now.crystal[2 * j + end];
	return iso_scanner_nearest(ray.s, (double[]){ p[0], p[1], p[2] }, &distance);
}

static int unknown_share(void)
{
	return iso_fail(ISO_EARG, "the additive term is of the whole scan, and its share in a frame is "
			"not known: %s does not say how long the scan took; give --duration-s",
			ray.events);
}

static int add_given(iso_real *add)
{
	double unit = 1;
	int st;

	if (!ray.additive && (!ray.e.add || additive_given()))
		return ISO_OK;
	if (isnan(ray.frame.share))
		return unknown_share();
	if (!ray.additive && (st = unit_of_file(&unit)))
		return st;
	for (int64_t j = 0; j < ray.now.n; j++) {
		double r = !ray.additive ? (double)ray.now.add[j] * unit
			 : ray.add.v ? (double)ray.add.v[file_number(j)] : ray.add_constant;

		add[j] = (iso_real)(r * ray.frame.share);
	}
	return ISO_OK;
}

/* Delayed events of the frame itself, where they have times; else the frame's share. */
static int rates_of_frame(double *share, struct cmd *c)
{
	struct iso_events part = { 0 };
	int64_t *number = NULL;
	int st;

	*share = ray.frame.share_randoms;
	if (ray.frame.all || !ray.late.time_ms)
		return isnan(*share) ? unknown_share() : ISO_OK;
	*share = 1;
	if ((st = ray_between(&part, &number, &ray.late, &ray.frame)))
		return st;
	if (part.n > 0)
		st = randoms_of(&part, c);
	else
		*share = 0;
	iso_events_free(&part);
	free(number);
	return st;
}

/* r = rate_a rate_b, in the unit in force. */
static int add_randoms(iso_real *add, struct cmd *c)
{
	double unit = unit_of_randoms(), share;
	int st;

	if (!ray.rate)
		return ISO_OK;
	if ((st = rates_of_frame(&share, c)))
		return st;
	for (int64_t j = 0; j < ray.now.n; j++)
		if (!iso_event_bad(ray.now.v + j))
			add[j] += (iso_real)(ray.rate[crystal_of(j, 0)] * ray.rate[crystal_of(j, 1)] *
					     share * unit);
	return ISO_OK;
}

static int additive(iso_real **add, struct cmd *c)
{
	int st;

	if (!ray.needs_add || (!additive_given() && !ray.e.add))
		return ISO_OK;
	if (!(*add = size_alloc(ray.now.n, sizeof **add)))
		return iso_fail_memory("additive term", ray.now.n * (int64_t)sizeof **add);
	if ((st = add_given(*add))) return st;
	return add_randoms(*add, c);
}

/* ---- the factors of the frame in force ---- */

/* Efficiencies of the two crystals, and the weight of their pair. */
static double pair_factor(int64_t j)
{
	const struct iso_event *e = ray.now.v + j;
	double p1[3] = { e->p1[0], e->p1[1], e->p1[2] }, p2[3] = { e->p2[0], e->p2[1], e->p2[2] };
	double f = ray.s ? iso_scanner_pair_weight(ray.s, p1, p2) : 1;

	if (ray_norm_per_crystal())
		f *= (double)ray.factors.v[crystal_of(j, 0)] * ray.factors.v[crystal_of(j, 1)];
	return f;
}

/* Without attenuation, unless the file's own factor holds it; 0 leaves a bad event out. */
static double factor(int64_t j)
{
	if (iso_event_bad(ray.now.v + j))
		return 0;
	if (factors_of_file())
		return ray.now.mult[j];
	return ray_factors_per_event() ? (double)ray.factors.v[file_number(j)] : pair_factor(j);
}

/* m_j = attenuation x efficiencies x pair weight x the frame's factor; with --precorrected the
   attenuation leaves it, and its inverse weighs the event (Van Gendt 2021 eq. 7). */
int ray_data(struct model_data *d, struct cmd *c)
{
	int64_t n = ray.now.n;
	int st;

	if ((st = additive(&d->add, c))) return st;
	if (!(d->mult = size_alloc(n, sizeof *d->mult)) || !(d->y = size_alloc(n, sizeof *d->y)))
		return iso_fail_memory("factors", n * (int64_t)sizeof *d->mult);
	for (int64_t j = 0; j < n; j++)
		d->y[j] = 1;
	if (ray.mu && (st = iso_ray_attenuation(d->y, c->ctx, &ray.mu_map, &ray.now))) return st;
	for (int64_t j = 0; j < n; j++) {
		double alpha = d->y[j], count = ray.now.count ? (double)ray.now.count[j] : 1;

		d->mult[j] = (iso_real)(factor(j) * ray.frame.factor * (ray.precorrected ? 1 : alpha));
		d->y[j] = (iso_real)(ray.precorrected ? count / alpha : count);
	}
	if (!ray.precorrected && !ray.now.count) {
		free(d->y);
		d->y = NULL;
	}
	return ISO_OK;
}
