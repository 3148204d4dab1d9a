/* SPDX-License-Identifier: BSD-3-Clause */
/* The data side of model ray, per event: the factor m (attenuation, normalisation, decay, live
   time) and the additive term r (scatter and randoms). */
#include "model_ray.h"

#include "commission/norm/norm_castor.h"
#include "commission/norm/norm_scanner.h"
#include "core/size.h"
#include "io/kinds.h"
#include "physics/randoms.h"
#include "problem/inputs.h"
#include "scanner/scanner.h"
#include "file/npy.h"

/* ---- reading ---- */

bool ray_norm_of_pairs(const struct ray_problem *ray)
{
	return ray->norm && (iso_norm_is(ray->norm) || norm_castor_is(ray->norm)) && ray->s &&
	       ray->s->efficiencies;
}

bool ray_norm_per_crystal(struct ray_problem *ray)
{
	return ray->s && ray->factors.n == iso_scanner_crystals(ray->s);
}

/* The scanner came with the efficiencies that are the events' factors, which then hold no attenuation. */
static bool efficiencies_of_file(struct ray_problem *ray)
{
	return ray->s && ray->s->efficiencies && !ray->norm;
}

/* Else the file's factors hold attenuation and normalisation at once: options replace them whole. The number of crystal
   pairs of a bin is neither: it stays beside 'mu'. */
static bool beside_mu(struct ray_problem *ray)
{
	return efficiencies_of_file(ray) || (ray->e.lists_all && !ray->e.attenuated);
}

static bool factors_of_file(struct ray_problem *ray)
{
	return ray->e.mult && !ray->norm && (!ray->mu || beside_mu(ray));
}

bool ray_attenuated_by_file(struct ray_problem *ray)
{
	return factors_of_file(ray) && !beside_mu(ray);
}

bool ray_factors_not_in_sens(struct ray_problem *ray)
{
	return ray_factors_per_event(ray) && !efficiencies_of_file(ray);
}

bool ray_factors_per_event(struct ray_problem *ray)
{
	return factors_of_file(ray) || (ray->norm && !ray_norm_per_crystal(ray));
}

static void invert(iso_real *v, int64_t n)
{
	for (int64_t i = 0; i < n; i++) v[i] = v[i] > 0 ? (iso_real)fmin(1 / (double)v[i], 1e30) : 0;
}

int ray_values(struct ray_problem *ray, iso_real *v, const char *path, int64_t first, int64_t n)
{
	int st = (iso_is_projection_data(path) ? iso_interfile_piece : iso_npy_piece)(v, path, first, n);

	if (!st && ray->norm_inverse && path == ray->norm) invert(v, n);
	return st;
}

/* Projection data on the bins of 'events'; streamed, or in a dry run, a->v stays NULL. */
static int load_bins(struct ray_problem *ray, struct iso_array *a, const char *path)
{
	struct iso_array r = { 0 };
	int st = iso_interfile_fits(path, ray->events, path == ray->norm);

	if (!st) st = iso_array_make(&r, path, 1, &ray->n, false);
	if (!st) ray->p->record->read.inputs += ray->disk ? 0 : r.n * (int64_t)sizeof *r.v;
	if (st || ray->disk || ray->p->record->read.dry_run) {
		*a = r;
		return st;
	}
	if ((st = iso_memory_check(ray->p->ctx, path, r.n * (int64_t)sizeof *r.v)) ||
	    (st = iso_array_create(&r, 1, &ray->n)))
		return st;
	*a = r;
	return iso_interfile_piece(r.v, path, 0, r.n);
}

/* One value an event, or another number of them. Streamed events read theirs as they go, if the
   file can be read in pieces: v is then NULL. */
static int load_values(struct ray_problem *ray, struct iso_array *a, const char *path)
{
	bool bins = !record_given(ray->p->record, path)->array.v && iso_is_projection_data(path);
	int64_t n = 0;
	int st = ray->disk && iso_has_suffix(path, ".npy") ? iso_npy_count(&n, path) : ISO_OK;

	if (st) return st;
	if (bins)
		st = load_bins(ray, a, path);
	else if (ray->disk && n == ray->n)
		a->n = n;
	else
		st = record_read(ray->p->record, a, path, ISO_NONNEGATIVE);
	if (!st && ray->norm_inverse && a == &ray->factors && a->v) invert(a->v, a->n);
	return st ? st : record_input(ray->p->record, path);
}

/* A norm of rings: efficiencies of crystals, and factors of pairs, which become those of the scanner. Its lines are
   weighted by solid angle, as it was made. */
static int load_norm_of_rings(struct ray_problem *ray)
{
	iso_norm *norm;
	int64_t n;
	int st;

	if (ray->norm_inverse)
		return iso_fail(ISO_EARG, "'norm-inverse' goes with arrays, not with %s", ray->norm);
	if (!ray->s) return iso_fail(ISO_EARG, "%s needs 'scanner'", ray->norm);
	if ((st = iso_norm_read(&norm, ray->norm, ray->s))) return st;
	n = iso_norm_crystals(norm);
	if (!(st = iso_array_create(&ray->factors, 1, &n)) &&
	    !(st = iso_norm_to_scanner(ray->factors.v, ray->s, norm)))
		st = record_input(ray->p->record, ray->norm);
	iso_norm_free(norm);
	if (!st && ray->s->kind == ISO_CYLINDER && !ray->s->solid_angle) {
		ray->s->solid_angle = true;
		record_tell(ray->p->record, ISO_NEWS,
		            "%s: pairs are weighted by solid angle, as this norm was made", ray->norm);
	}
	return st;
}

/* A normalisation file of CASToR: efficiencies of pairs, which become those of the scanner. */
static int load_norm_of_castor(struct ray_problem *ray)
{
	const int64_t n = ray->s ? iso_scanner_crystals(ray->s) : 0;
	bool attenuated = false;
	int st;

	if (ray->norm_inverse)
		return iso_fail(ISO_EARG, "'norm-inverse' goes with arrays, not with %s", ray->norm);
	if (!ray->s) return iso_fail(ISO_EARG, "%s needs 'scanner'", ray->norm);
	if ((st = iso_memory_check(ray->p->ctx, ray->norm, n * n * (int64_t)sizeof(float))) ||
	    (st = norm_castor_to_scanner(&attenuated, ray->s, ray->norm)))
		return st;
	if (attenuated && ray->mu)
		return iso_fail(ISO_EINPUT,
		                "%s: its lines hold attenuation, which 'mu' would put in a second time",
		                ray->norm);
	if ((st = iso_array_create(&ray->factors, 1, &n))) return st;
	for (int64_t a = 0; a < n; a++) ray->factors.v[a] = 1;
	return record_input(ray->p->record, ray->norm);
}

static int load_norm(struct ray_problem *ray)
{
	int st;

	if (!ray->norm) return ISO_OK;
	if (norm_castor_is(ray->norm)) return load_norm_of_castor(ray);
	if (iso_norm_is(ray->norm)) return load_norm_of_rings(ray);
	if ((st = load_values(ray, &ray->factors, ray->norm))) return st;
	int64_t n = ray->factors.n;
	bool per_event = ray->n && n == ray->n, per_crystal = ray_norm_per_crystal(ray);

	if (per_crystal && per_event)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values fit both the crystals and the events",
		                ray->norm, n);
	if (per_crystal || per_event) return ISO_OK;
	if (!ray->s)
		return iso_fail(ISO_EINPUT,
		                "%s: %" PRId64 " values, expected one per event (%" PRId64
		                "); efficiencies per crystal need 'scanner'",
		                ray->norm, n, ray->n);
	return iso_fail(ISO_EINPUT,
	                "%s: %" PRId64 " values, expected one per crystal (%" PRId64
	                ") or per event (%" PRId64 ")",
	                ray->norm, n, iso_scanner_crystals(ray->s), ray->n);
}

int ray_load_factors(struct ray_problem *ray)
{
	int st;

	if (ray->precorrected && !ray->mu) return iso_fail(ISO_EARG, "'precorrected' needs 'mu'");
	if (ray->norm_inverse && !ray->norm) return iso_fail(ISO_EARG, "'norm-inverse' needs 'norm'");
	if (ray->additive_over_m && (!ray->additive || ray->delayed || ray->singles))
		return iso_fail(ISO_EARG,
		                "'additive-over-m' needs 'additive', without 'delayed' and 'singles'");
	if ((st = ray_fields_check_maps(ray)) || (ray->mu && (st = ray_fields_read_mu(ray)))) return st;
	if ((st = load_norm(ray))) return st;
	if (ray->e.mult && !factors_of_file(ray) && !(ray->e.lists_all && !ray->e.attenuated))
		record_warn(ray->p->record,
		            "%s: its factors per event are not used: 'mu' and 'norm' take their place",
		            ray->events);
	return ISO_OK;
}

static int load_add(struct ray_problem *ray)
{
	bool number;
	int st;

	if (!ray->additive) return ISO_OK;
	number = iso_number(&ray->add_constant, ray->additive, strlen(ray->additive));
	if (number && ray->add_constant >= 0) return ISO_OK;
	if (number || (!strpbrk(ray->additive, "./") && /* nan and inf are no files either */
	               !record_given(ray->p->record, ray->additive)->array.v))
		return iso_fail(ISO_EARG, "'additive' is %s, must be 0 or above", ray->additive);
	if ((st = load_values(ray, &ray->add, ray->additive))) return st;
	if (ray->add.n != ray->n)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one per event (%" PRId64 ")",
		                ray->additive, ray->add.n, ray->n);
	return ISO_OK;
}

/* ---- randoms ---- */

enum {
	FEW = 100,   /* one delayed event in so many on no pair is no cause for a warning */
	ENOUGH = 10, /* delayed events a crystal: then its rate is known to a third */
};

static int randoms_of(struct ray_problem *ray, const struct iso_events *late)
{
	int64_t bad = 0;
	int st = iso_randoms_from_delayed(ray->rate, &bad, ray->p->ctx, ray->s, late);

	if (!st && bad)
		record_tell(ray->p->record, bad > late->n / FEW ? ISO_WARNING : ISO_DETAIL,
		            "%s: %" PRId64 " of %" PRId64
		            " delayed events lie on no pair of crystals and are left out",
		            ray->late_file, bad, late->n);
	return st;
}

/* Randoms that nobody gave are those of the events' own file, where it holds delayeds besides prompts. */
static int find_delayed(struct ray_problem *ray)
{
	iso_event_file *f;

	ray->late_file = ray->delayed && strcmp(ray->delayed, "none") != 0 ? ray->delayed : NULL;
	if (ray->delayed || ray->singles || ray->additive || ray->precorrected || ray->e.add || !ray->s ||
	    !ray->n)
		return ISO_OK;
	int st = ray_file(ray, &f, false);
	int64_t n = f ? iso_event_file_info(f)->delayeds : 0;

	if (n == 0) return st;
	if (ray->tof > 0 && !(ray->coincidence_ns > 0 || iso_scanner_coincidence_ns(ray->s) > 0)) {
		record_warn(ray->p->record,
		            "%s: its %" PRId64
		            " delayed events are not used: randoms with time of flight need 'coincidence-ns'",
		            ray->events, n);
		return ISO_OK;
	}
	record_tell(ray->p->record, ISO_NEWS,
	            "%s: randoms are taken from its %" PRId64
	            " delayed events; 'delayed' none leaves them out",
	            ray->events, n);
	if (2 * n < ENOUGH * iso_scanner_crystals(ray->s))
		record_warn(ray->p->record,
		            "%s: %.2g delayed events a crystal: randoms from so few are noisy", ray->events,
		            2 * (double)n / (double)iso_scanner_crystals(ray->s));
	ray->late_file = ray->events;
	return ISO_OK;
}

/* No delayed is a true; and the two files may be of different formats. A dry run counts them. */
static int load_delayed(struct ray_problem *ray)
{
	bool text = iso_events_only_whole(ray->late_file);
	struct iso_events_options o = { .size = sizeof o,
		                        .scanner = ray->s,
		                        .swap_dt = ray->read.swap_dt,
		                        .gate_mask = text ? ray->read.gate_mask : NULL,
		                        .ctx = ray->p->ctx,
		                        .delayeds = true,
		                        .moving = true };
	iso_event_file *f = NULL;
	int st;

	if (record_given(ray->p->record, ray->late_file)->events.v) {
		st = ray_given_events(ray, &ray->late, ray->late_file);
	} else if (ray->p->record->read.dry_run && !text) {
		if (!(st = iso_event_file_open(&f, ray->late_file, &o)))
			ray->late.n = iso_event_file_info(f)->n;
		iso_event_file_close(f);
		return st;
	} else if (!(st = ray_read_events(ray, &ray->late, ray->late_file, &o)) &&
	           strcmp(ray->late_file, ray->events) != 0) {
		st = record_input(ray->p->record, ray->late_file);
	}
	return st ? st : randoms_of(ray, &ray->late);
}

static int load_singles(struct ray_problem *ray)
{
	struct iso_array a = { 0 };
	int st;

	if (!(ray->e.duration_s > 0))
		return iso_fail(
			ISO_EARG,
			"'singles' needs the duration of the scan, which %s does not say: give 'duration-s'",
			ray->events);
	if (!(ray->coincidence_ns > 0))
		return iso_fail(ISO_EARG, "'singles' needs the coincidence window: 'coincidence-ns', or "
		                          "time: {coincidence_ns: ...} of the scanner");
	if ((st = record_read(ray->p->record, &a, ray->singles, ISO_NONNEGATIVE))) return st;
	st = record_input(ray->p->record, ray->singles);
	if (!st && a.n != iso_scanner_crystals(ray->s))
		st = iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one per crystal (%" PRId64 ")",
		              ray->singles, a.n, iso_scanner_crystals(ray->s));
	if (!st && a.v)
		st = iso_randoms_from_singles(ray->rate, ray->s, a.v, ray->e.duration_s, ray->coincidence_ns);
	iso_array_free(&a);
	return st;
}

static int load_randoms(struct ray_problem *ray)
{
	if (!ray->late_file && !ray->singles) return ISO_OK;
	if (ray->late_file && ray->singles)
		return iso_fail(ISO_EARG, "'delayed' and 'singles' exclude each other");
	if (!ray->s)
		return iso_fail(ISO_EARG, "'%s' needs 'scanner'", ray->late_file ? "delayed" : "singles");
	if (problem_given(ray->p, "coincidence-ns"))
		input_overridden(ray->p->record, iso_scanner_name(ray->s), "coincidence-ns",
		                 ray->coincidence_ns, iso_scanner_coincidence_ns(ray->s), "ns");
	else
		ray->coincidence_ns = iso_scanner_coincidence_ns(ray->s);
	if (ray->tof > 0 && !(ray->coincidence_ns > 0))
		return iso_fail(ISO_EARG, "randoms with time of flight need the coincidence window: "
		                          "'coincidence-ns', or time: {coincidence_ns: ...} of the scanner");
	int64_t n = iso_scanner_crystals(ray->s);

	if (!(ray->rate = size_alloc(n, sizeof *ray->rate)))
		return iso_fail_memory("randoms", n * (int64_t)sizeof *ray->rate);
	return ray->late_file ? load_delayed(ray) : load_singles(ray);
}

static bool additive_given(struct ray_problem *ray)
{
	return ray->additive || ray->late_file || ray->singles;
}

int ray_load_additive(struct ray_problem *ray)
{
	int st = find_delayed(ray);

	if (st) return st;
	if (ray->precorrected && (additive_given(ray) || ray->e.add))
		return iso_fail(ISO_EARG, "'precorrected' data can't carry an 'additive' term or randoms");
	if (ray->e.add && additive_given(ray))
		record_warn(ray->p->record, "%s: its additive term is not used: the options' takes its place",
		            ray->events);
	if ((st = load_add(ray))) return st;
	return load_randoms(ray);
}

/* ---- the additive term of the frame in force ---- */

/* r of a row is in counts without TOF, per mm of the LOR with it, or per bin of w = c bin / 2. */
static double width_mm(double bin_ps)
{
	return bin_ps > 0 ? ISO_C_MM_PER_PS * bin_ps / 2 : 1;
}

/* Randoms are uniform over |t1 - t2| <= tau, c tau mm of the LOR. */
static double unit_of_randoms(struct ray_problem *ray)
{
	double window_mm = ISO_C_MM_PER_PS * 1e3 * ray->coincidence_ns;

	return ray->tof == 0 ? 1 : width_mm(ray->bin) / window_mm;
}

static int64_t place(const struct ray_part *p, int64_t j)
{
	return p->number ? p->number[j] : j;
}

static int64_t crystal_of(struct ray_problem *ray, const struct ray_part *p, int64_t j, int end)
{
	double distance, p1[3], p2[3];

	if (p->e->crystal) return p->e->crystal[2 * j + end];
	ray_motion_crystals(p1, p2, ray, p->e, j);
	return iso_scanner_nearest(&distance, ray->s, end ? p2 : p1);
}

static int unknown_share(struct ray_problem *ray)
{
	return iso_fail(ISO_EARG,
	                "the additive term is of the whole scan, and its share in a frame is not known: %s "
	                "does not say how long the scan took; give 'duration-s'",
	                ray->events);
}

bool ray_has_additive(struct ray_problem *ray)
{
	return ray->needs_add && (additive_given(ray) || ray->e.add || ray->scatter.table);
}

/* Delayed events of the frame itself, where they have times; else the frame's share. */
static int rates_of_frame(struct ray_problem *ray, double *share)
{
	struct iso_events part = { 0 };
	int64_t *place = NULL;
	int st;

	double of_scan =
		ray->p->s.frames.part; /* singles are of the whole scan; delayeds are a part themselves */

	*share = ray->frame.share_randoms * (ray->singles ? ray->frame.pile_up : 1);
	if (ray->singles && of_scan > 0) *share *= of_scan;
	if (ray->frame.all || !ray->late.time_ms || (ray->frame.gate > 0 && !ray->gates.is.table))
		return isnan(*share) ? unknown_share(ray) : ISO_OK;
	*share = 1;
	st = ray->frame.gate > 0
	             ? ray_gates_pick(&part, &place, ray, &ray->late, NULL)
	             : ray_between(&part, &place, &ray->late, &ray->late_times, &ray->frame, ray->p->ctx);
	if (st) return st;
	if (part.n > 0)
		st = randoms_of(ray, &part);
	else
		*share = 0;
	iso_events_free(&part);
	free(place);
	return st;
}

int ray_prepare_data(struct ray_problem *ray)
{
	bool of_file = ray->e.add && !additive_given(ray),
	     tof = ray->e.tof_fwhm_ps > 0 || ray->e.tof_bin_ps > 0;
	double share = 1;
	int st;

	if (!ray_has_additive(ray)) return ISO_OK;
	if ((ray->additive || of_file) && isnan(ray->frame.share)) return unknown_share(ray);
	if (of_file && tof != (ray->tof > 0))
		return iso_fail(ISO_EINPUT,
		                "%s: its additive term is %s time of flight, the model %s; give 'additive'",
		                ray->events, tof ? "of" : "without", tof ? "has none" : "has it");
	ray->unit = width_mm(ray->bin) / width_mm(ray->e.tof_bin_ps);
	if (ray->rate && (st = rates_of_frame(ray, &share))) return st;
	ray->share_randoms = share;
	ray->randoms = share * unit_of_randoms(ray);
	return ISO_OK;
}

int ray_rates_sum(struct ray_problem *ray, double *sum)
{
	struct iso_fans fans = { 0 };
	int64_t n = ray->rate ? iso_scanner_crystals(ray->s) : 0;
	double *fan = size_alloc(n + 1, sizeof *fan);
	int st = fan ? ISO_OK : iso_fail_memory("randoms", n * (int64_t)sizeof *fan);

	*sum = 0;
	if (!st && ray->rate && !(st = iso_fans_create(&fans, ray->s))) {
		iso_fans_sum(fan, &fans, ray->rate);
		for (int64_t a = 0; a < n; a++) *sum += .5 * ray->rate[a] * fan[a];
	}
	iso_fans_free(&fans);
	free(fan);
	return st;
}

int ray_randoms_sum(struct ray_problem *ray, double *sum)
{
	int st = ray_rates_sum(ray, sum);

	*sum *= ray->share_randoms;
	return st;
}

static double factor(struct ray_problem *ray, const struct ray_part *p, int64_t j);

/* What was given, and r = rate_a rate_b, in the unit in force. Where pairs of energy windows have efficiencies of their
   own, and so are counted by themselves, each has an equal share of the randoms. */
static double additive(struct ray_problem *ray, const struct ray_part *p, int64_t j)
{
	double r = 0;

	if (ray->additive)
		r = (p->add ? (double)p->add[place(p, j)] : ray->add_constant) * ray->frame.share *
		    (ray->additive_over_m ? factor(ray, p, j) : 1);
	else if (p->e->add && !additive_given(ray))
		r = p->e->add[j] * ray->unit * ray->frame.share;
	r *= ray_motion_decay(ray, p->e, j) * ray_gates_additive(ray, j);
	if (ray->rate && !iso_event_bad(p->e->v + j)) {
		int64_t a = crystal_of(ray, p, j, 0), b = crystal_of(ray, p, j, 1);

		r += ray_motion_decay_randoms(ray, p->e, j) * ray_gates_randoms(ray, j) * ray->rate[a] *
		     ray->rate[b] * ray->randoms /
		     (efficiencies_of_file(ray) ? (double)iso_scanner_windows(ray->s, a, b) : 1);
	}
	return r;
}

/* ---- the factors of the frame in force ---- */

/* Efficiencies of the two crystals, and the weight of their pair. */
static double pair_factor(struct ray_problem *ray, const struct ray_part *p, int64_t j)
{
	double p1[3], p2[3];

	ray_motion_crystals(p1, p2, ray, p->e, j);
	double f = ray->s ? iso_scanner_pair_weight(ray->s, p1, p2) : 1;

	if (ray_norm_per_crystal(ray))
		f *= (double)ray->factors.v[crystal_of(ray, p, j, 0)] *
		     ray->factors.v[crystal_of(ray, p, j, 1)];
	if (ray_norm_of_pairs(ray))
		f *= efficiency_of_crystals(ray->s->efficiencies, crystal_of(ray, p, j, 0),
		                            crystal_of(ray, p, j, 1));
	return f;
}

/* Without attenuation, unless the file's own factor holds it; 0 leaves a bad event out. */
static double factor(struct ray_problem *ray, const struct ray_part *p, int64_t j)
{
	if (iso_event_bad(p->e->v + j)) return 0;
	if (factors_of_file(ray)) return p->e->mult[j];
	return ray_factors_per_event(ray) ? (double)p->norm[place(p, j)] : pair_factor(ray, p, j);
}

/* Whether factors are the weights of pairs alone, the same at all times. */
static bool weights_alone(struct ray_problem *ray)
{
	const struct ray_motion *m = &ray->motion;
	bool plain = !ray_factors_per_event(ray) && !ray_norm_per_crystal(ray) && !ray_norm_of_pairs(ray);

	return ray->s && plain && !m->all && !(m->decay > 0) && !ray->gates.now;
}

/* Factors of events j ... end - 1. */
static void fill_factors(struct ray_problem *ray, const struct ray_part *p, iso_real *mult, int64_t j,
                         int64_t end)
{
	const struct iso_event *v = p->e->v;

	if (weights_alone(ray)) {
		scanner_pair_weights(mult + j, ray->s, v + j, end - j, ray->frame.factor);
		for (; j < end; j++)
			if (iso_event_bad(v + j)) mult[j] = 0;
		return;
	}
	for (; j < end; j++)
		mult[j] = (iso_real)(factor(ray, p, j) * ray->frame.factor * ray_motion_decay(ray, p->e, j) *
		                     ray_gates_factor(ray, j));
}

enum { CHUNK = 1 << 14 }; /* events that a thread takes at a time */

int ray_fill(struct ray_problem *ray, const struct ray_part *p, iso_real *count, iso_real *mult,
             iso_real *add)
{
	const iso_ctx *ctx = ray->p->ctx;
	struct iso_clock clock = iso_clock_brief(ctx, "factors", "events", p->e->n, NULL);

#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
	for (int64_t c = 0; c < p->e->n; c += CHUNK) {
		int64_t end = p->e->n - c < CHUNK ? p->e->n : c + CHUNK;

		if (iso_stopped(ctx)) continue;
		if (mult) fill_factors(ray, p, mult, c, end);
		for (int64_t j = c; count && j < end; j++) count[j] = p->e->count ? p->e->count[j] : 1;
		for (int64_t j = c; add && j < end; j++) add[j] = (iso_real)additive(ray, p, j);
		iso_clock_add(&clock, end - c);
	}
	iso_clock_end(&clock);
	return iso_ctx_poll(ctx);
}

/* m_j = attenuation x efficiencies x pair weight x the frame's factor; with 'precorrected' the
   attenuation leaves it, and its inverse weighs the event (Van Gendt 2021 eq. 7). Scatter needs m without it. */
int ray_attenuate(struct ray_problem *ray, const struct iso_events *e, iso_real *count, iso_real *mult,
                  iso_real *add)
{
	iso_real *alpha, *scatter = NULL;
	int st;

	if (!ray->mu && !ray_motion_attenuates(ray)) return ISO_OK;
	if ((st = model_vector(&alpha, e->n, "attenuation"))) return st;
	if (ray->mu && ray_fielded(ray))
		st = ray_fields_attenuation(ray, alpha, e);
	else if (ray->mu)
		st = iso_ray_attenuation(alpha, ray->p->ctx, &ray->mu_map, e);
	else
		for (int64_t j = 0; j < e->n; j++) alpha[j] = 1;
	if (!st && ray_motion_attenuates(ray)) st = ray_motion_attenuate(ray, alpha, e);
	if (!st && add && ray->scatter.table && !(st = model_vector(&scatter, e->n, "scatter")))
		st = ray_scatter_add(ray, e, mult, scatter);
	struct iso_clock clock = iso_clock_brief(ray->p->ctx, "factors", "events", e->n, NULL);

#pragma omp parallel for num_threads(iso_ctx_threads(ray->p->ctx))
	for (int64_t c = 0; c < (st ? 0 : e->n); c += CHUNK) {
		int64_t end = e->n - c < CHUNK ? e->n : c + CHUNK;

		for (int64_t j = c; j < end; j++) {
			if (ray->precorrected)
				count[j] /= alpha[j];
			else
				mult[j] *= alpha[j];
			if (add && ray->additive_over_m) add[j] *= alpha[j];
			if (scatter) add[j] += scatter[j];
		}
		iso_clock_add(&clock, end - c);
	}
	if (!st) iso_clock_end(&clock);
	free(alpha);
	free(scatter);
	return st;
}

int ray_make_data(struct ray_problem *ray, struct model_data *d)
{
	struct ray_part p = { &ray->now, ray->number, ray->factors.v, ray->add.v };
	int st;

	if ((st = ray_prepare_data(ray)) || ray->disk) return st;
	if ((ray->precorrected || p.e->count) && (st = model_vector(&d->y, p.e->n, "factors"))) return st;
	if (ray_has_additive(ray) && (st = model_vector(&d->add, p.e->n, "factors"))) return st;
	if ((st = model_vector(&d->mult, p.e->n, "factors"))) return st;
	if ((st = ray_fill(ray, &p, d->y, d->mult, d->add))) return st;
	return ray_attenuate(ray, &ray->now, d->y, d->mult, d->add);
}

int ray_data(iso_problem *problem, struct model_data *d)
{
	struct ray_problem *ray = problem->self;

	if (ray_scatter_on(ray) && !ray->scatter.table)
		return iso_fail(ISO_EARG, "'scatter' is made with an image: recon makes both in turn");
	return ray_make_data(ray, d);
}
