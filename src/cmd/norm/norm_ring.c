/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome norm of rings: reads what the words name, one call of the library, and what to tell of it. */
#include "norm_scans.h"

#include "file/out.h"
#include "io/format.h"
#include "scanner/scanner.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OFF_MM .2 /* a place that was given, off by so much and so many errors, is told */
#define OFF_SD 5
#define PIECES (6 << 20) /* bytes of events that are in memory, where they are read in pieces */
#define FAR_MM 5         /* a source so far from where it was said to be is told */
#define MOSTLY .5        /* share of randoms */
#define EDGES .2         /* share of events on pairs that the source's edge crosses */
#define UNFIXED .02      /* error of a harmonic */
#define WANTED .01       /* error of a crystal that the time to scan is told for */
#define OFF_CLASS 5      /* sd */
#define MANY_PAIRS 2e10  /* few machines hold a table of so many, as of the largest scanners */
#define FEW_PAIRS 1e9

const char *const norm_scatter_methods[] = { "sss+mc", "sss", "mc", NULL }; /* as enum iso_scatter_method */

/* ---- words ---- */

static int components_of(int *components, const char *text)
{
	static const struct {
		const char *word;
		int bit;
	} known[] = { { "crystal", ISO_NORM_CRYSTAL },
		      { "transaxial", ISO_NORM_TRANSAXIAL },
		      { "axial", ISO_NORM_AXIAL } };
	const char *at = text;

	*components = 0;
	while (*at) {
		const size_t n = strcspn(at, ",");
		int bit = 0;

		for (int i = 0; i < 3; i++)
			if (strlen(known[i].word) == n && strncmp(known[i].word, at, n) == 0)
				bit = known[i].bit;
		if (!bit)
			return iso_fail(ISO_EARG,
			                "--components is '%.60s', expected some of crystal,transaxial,axial",
			                text);
		*components |= bit;
		at += n + (at[n] == ',');
	}
	*components |= ISO_NORM_CRYSTAL;
	return ISO_OK;
}

/* fit, fit:SD or given. */
static int place_of(bool *given, double *sd, const char *text)
{
	*given = strcmp(text, "given") == 0;
	*sd = 0;
	if (*given || strcmp(text, "fit") == 0) return ISO_OK;
	if (strncmp(text, "fit:", 4) == 0 && iso_number(sd, text + 4, strlen(text + 4)) && *sd > 0 &&
	    isfinite(*sd))
		return ISO_OK;
	return iso_fail(ISO_EARG, "--place is '%.40s', expected fit, fit:MM or given", text);
}

/* Options of an estimate of scatter that nobody asks for. */
static int check_scatter(const struct cmd *c, const struct norm_ring *s)
{
	static const char *const with[] = { "scatter-seed", "scatter-error", "energy-window",
		                            "energy-resolution" };

	if (s->scatter && !s->mu)
		return iso_fail(ISO_EARG, "--scatter needs --mu, the attenuation map in 1/mm");
	for (int i = 0; i < 4 && !s->scatter; i++)
		if (cmd_given(c, with[i])) return iso_fail(ISO_EARG, "--%s needs --scatter", with[i]);
	return ISO_OK;
}

int norm_ring_check(const struct cmd *c, const struct norm_ring *s)
{
	bool given;
	double sd;
	int components, st;

	if (!s->source)
		return iso_fail(ISO_EARG, "--source is missing: where the activity was, an image or a shape");
	if (s->delayed && s->singles) return iso_fail(ISO_EARG, "--delayed and --singles exclude each other");
	if ((st = check_scatter(c, s)) || (st = components_of(&components, s->components)) ||
	    (st = place_of(&given, &sd, s->place)))
		return st;
	return iso_target_check(s->out, c->force);
}

/* ---- telling ---- */

/* By more than chance and the rounding of an image. */
static bool place_is_off(const struct iso_norm_found *f)
{
	bool off = false;

	for (int c = 0; c < 2; c++)
		off = off || fabs(f->off_mm[c]) >
		                     fmax(OFF_MM, OFF_SD * (f->off_sd[c] > 0 ? f->off_sd[c] : HUGE_VAL));
	return off;
}

static void warn(struct record *r, const struct norm_ring *s, const struct iso_norm_found *f)
{
	const double place = f->places > 0 ? hypot(f->place_mm[0], f->place_mm[1]) : 0;

	if (f->randoms > MOSTLY * f->counts)
		record_warn(r, "%.0f %% of the events are randoms: a weaker source gives better factors",
		            100 * f->randoms / f->counts);
	if (f->edges > EDGES * f->all_counts)
		record_warn(r,
		            "%.0f %% of the events lie on pairs that are left out, because the source misses "
		            "some of the "
		            "lines between their crystals",
		            100 * f->edges / f->all_counts);
	if (f->astray > .01 * f->all_counts)
		record_warn(r, "%.3g of %.3g events lie on no pair of crystals of %s", f->astray,
		            f->all_counts, s->scanner);
	if (place > FAR_MM)
		record_warn(r, "the source is %.1f mm from where --source says: check its place", place);
	if (place_is_off(f))
		record_warn(
			r,
			"the source of scan %d rather lies %+.2f +- %.2f mm in x, %+.2f +- %.2f mm in y from "
			"where --source says, which --place given takes as exact: efficiencies are wrong by "
			"several per cent a mm; --place fit finds it",
			f->off_scan + 1, f->off_mm[0], f->off_sd[0], f->off_mm[1], f->off_sd[1]);
	if (f->parts > 1)
		record_warn(r,
		            "the crystals fall into %" PRId64
		            " parts that no event joins: this source does not fix their "
		            "common scale; use a wider one, or several places",
		            f->parts);
	for (int m = 1; m < f->harmonics; m++)
		if (f->parts == 1 && f->error[m] > UNFIXED)
			record_warn(r,
			            "this source does not fix harmonic %d round the ring: its error is %.2g "
			            "%%; use a wider "
			            "source, or several places",
			            m, 100 * f->error[m]);
	if (f->worst_class > OFF_CLASS)
		record_warn(r,
		            "classes of pairs are up to %.1f sd off: factors of pairs are needed "
		            "(--components crystal,transaxial,axial)",
		            f->worst_class);
	if (f->chi2_sd > 0 && fabs(f->chi2 - f->chi2_expected) > 3 * f->chi2_sd)
		record_warn(r,
		            "the mean of (y - ybar)^2/ybar is %.4g, expected %.4g +- %.2g: the model does "
		            "not fit the events",
		            f->chi2, f->chi2_expected, f->chi2_sd);
}

static void say_crystals(struct cmd *c, const struct norm_inputs *in, const struct iso_norm_found *f)
{
	const double more = f->mean_sd * f->mean_sd / (WANTED * WANTED);

	term_say(&c->term,
	         "%.4g events on %" PRId64
	         " pairs, %.3g of them randoms; %.3g events at the source's edges left out",
	         f->counts, f->pairs, f->randoms, f->edges);
	if (f->scattered > 0) term_say(&c->term, "%.3g of them scattered", f->scattered);
	term_say(&c->term, "%d steps, %d products; dead crystals: %" PRId64 ", weak: %" PRId64, f->steps,
	         f->products, f->dead, f->weak);
	term_say(&c->term, "mean error of a crystal: %.2f %%%s", 100 * f->mean_sd,
	         f->exact ? "" : " (by its own counts)");
	if (more > 1 && in->duration_s > 0)
		term_say(&c->term, "for 1 %%: %.3g events, or %.3g s of such a scan", more * f->counts,
		         more * in->duration_s);
	else if (more > 1)
		term_say(&c->term, "for 1 %%: %.3g events", more * f->counts);
}

static void say(struct cmd *c, const struct norm_inputs *in, const struct iso_norm_found *f)
{
	say_crystals(c, in, f);
	if (f->resumed_from > 0) term_say(&c->term, "resumed after %d of the steps", f->resumed_from);
	if (f->places > 0)
		term_say(&c->term,
		         "the source is %+.3f +- %.3f mm in x, %+.3f +- %.3f mm in y from where it was said",
		         f->place_mm[0], f->place_sd[0], f->place_mm[1], f->place_sd[1]);
	if (f->places == 4)
		term_say(&c->term, "it leans by %+.2f +- %.2f mrad to x, %+.2f +- %.2f mrad to y",
		         1e3 * f->place_mm[2], 1e3 * f->place_sd[2], 1e3 * f->place_mm[3],
		         1e3 * f->place_sd[3]);
	for (int m = 0; m < f->harmonics; m++)
		term_say(&c->term,
		         "harmonic %d round the ring: error %.3f %%, variance %.3g times that of as many "
		         "crystals",
		         m, 100 * f->error[m], f->gain[m]);
	if (f->chi2_sd > 0)
		term_say(&c->term, "mean of (y - ybar)^2/ybar: %.4f, expected %.4f +- %.4f", f->chi2,
		         f->chi2_expected, f->chi2_sd);
	if (f->unreached_t + f->unreached_z > 0)
		term_say(&c->term,
		         "the source does not reach %" PRId64 " classes of pairs: their factor is 1",
		         f->unreached_t + f->unreached_z);
	if (f->zero_t + f->zero_z > 0)
		term_say(&c->term, "%" PRId64 " classes of pairs count nothing: their factor is 0",
		         f->zero_t + f->zero_z);
}

static int record_found(struct cmd *c, const struct iso_norm_found *f)
{
	json_t *o = record_pack(
		"{s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:b, s:f, s:f, s:f, "
		"s:f}",
		"counts", f->counts, "randoms", f->randoms, "edges", f->edges, "astray", f->astray, "loglik",
		f->loglik, "all_counts", f->all_counts, "steps", f->steps, "products", f->products, "pairs",
		(json_int_t)f->pairs, "parameters", (json_int_t)f->parameters, "dead", (json_int_t)f->dead,
		"weak", (json_int_t)f->weak, "parts", (json_int_t)f->parts, "exact_sd", (int)f->exact,
		"mean_sd", f->mean_sd, "chi2", f->chi2, "worst_class_sd", f->worst_class, "scattered",
		f->scattered);

	if (o && f->places > 0) {
		json_object_set_new(o, "place_mm", record_reals(f->places, f->place_mm));
		json_object_set_new(o, "place_sd", record_reals(f->places, f->place_sd));
	}
	if (o && f->off_sd[0] > 0) {
		json_object_set_new(o, "off_mm", record_reals(2, f->off_mm));
		json_object_set_new(o, "off_sd", record_reals(2, f->off_sd));
	}
	return record_result(&c->record, "norm", o);
}

/* ---- the run ---- */

/* Beside the output. What is left of an earlier run is of no use to one that begins anew. */
static int set_checkpoint(struct cmd *c, struct iso_norm_fit *p, char path[PATH_MAX],
                          const struct norm_ring *s)
{
	static const char *const not_in_key[] = { "output", "threads", "memory-limit", "device-memory-limit",
		                                  NULL };

	if (snprintf(path, PATH_MAX, "%s.ckpt", s->out) >= PATH_MAX) return ISO_OK;
	if (!s->resume) iso_out_remove(path);
	if (s->resume && access(path, F_OK) != 0)
		record_note(&c->record, "there is no %s: beginning at the start", path);
	p->checkpoint = path;
	p->resume = s->resume;
	return record_key(&c->record, &p->key, not_in_key);
}

static int compute(struct cmd *c, const struct norm_ring *s, const struct norm_inputs *in,
                   struct iso_norm_fit *p)
{
	struct iso_norm_found found = { .size = sizeof found };
	char path[PATH_MAX];
	iso_norm *norm = NULL;
	int st;

	if ((st = set_checkpoint(c, p, path, s))) return st;
	record_stage(&c->record, "norm");
	st = iso_norm_make(&norm, &found, c->ctx, p);
	record_stage(&c->record, NULL);
	if (st) return st;
	warn(&c->record, s, &found);
	say(c, in, &found);
	if (!(st = record_found(c, &found)) && !(st = cmd_text(c)))
		st = iso_norm_write(s->out, norm, c->text, c->force);
	if (!st && p->checkpoint) iso_out_remove(p->checkpoint);
	iso_norm_free(norm);
	return st;
}

static struct iso_scatter scatter_of(const struct norm_ring *s)
{
	return (struct iso_scatter){ .size = sizeof(struct iso_scatter),
		                     .method = s->scatter ? (enum iso_scatter_method)opt_place(
								    norm_scatter_methods, s->scatter)
		                                          : ISO_SCATTER_SSS_MC,
		                     .window_kev = { s->window_kev[0], s->window_kev[1] },
		                     .resolution = s->resolution,
		                     .error = s->scatter_error,
		                     .seed = (uint64_t)s->scatter_seed };
}

/* Whether the fit can do without tables of pairs. */
static bool without_tables(const struct cmd *c, const struct norm_inputs *in, const struct iso_norm_fit *p)
{
	return p->place_given && in->scans == 1 && norm_is_shape(in->words->source) && !*in->words->mu &&
	       !iso_ctx_is_cuda(c->ctx) && iso_ctx_ranks(c->ctx) == 1;
}

/* Of tables, and of events that are read whole or in pieces. */
static bool fits(struct iso_plan *plan, const struct cmd *c, const struct iso_norm_fit *p, int64_t events)
{
	iso_plan_free(plan);
	iso_norm_plan(plan, c->ctx, p);
	iso_plan_add(plan, "events", events, 1, false);
	return iso_plan_check(c->ctx, plan) == ISO_OK;
}

/* Where memory is short, events are read in pieces, and if that does not help, the fit does without tables of pairs. */
static int plan_memory(struct cmd *c, struct norm_inputs *in, struct iso_norm_fit *p,
                       const struct norm_ring *s)
{
	struct iso_plan plan = { 0 };
	const int64_t whole = norm_scans_bytes(in, s), piece = whole < PIECES ? whole : PIECES;

	if (fits(&plan, c, p, whole) || !norm_scans_in_pieces(in)) return cmd_plan(c, &plan);
	in->in_pieces = true;
	p->no_tables = !fits(&plan, c, p, piece) && without_tables(c, in, p);
	if (p->no_tables) fits(&plan, c, p, piece);
	record_note(&c->record, "memory is short: events are read in pieces%s",
	            p->no_tables ? ", and expected counts are made in every pass" : "");
	return cmd_plan(c, &plan);
}

static int begin(struct cmd *c, struct norm_inputs *in, struct iso_norm_fit *p, const struct norm_ring *s)
{
	int st;

	record_stage(&c->record, "read");
	if ((st = cmd_scanner(c, &in->scanner, s->scanner))) return st;
	if (iso_scanner_kind(in->scanner) != ISO_CYLINDER && iso_scanner_kind(in->scanner) != ISO_DETECTORS)
		return iso_fail(
			ISO_EARG,
			"%s: its norm is written as .npy; NAME.norm.json is of rings and free detectors",
			s->scanner);
	if ((st = components_of(&p->components, s->components)) ||
	    (st = place_of(&p->place_given, &p->place_sd_mm, s->place)) || (st = norm_scans_split(in, s)))
		return st;
	if (!(s->pair_share > 0) && iso_scanner_pairs(in->scanner) > MANY_PAIRS)
		return iso_fail(ISO_EARG,
		                "%s has %.2g pairs of crystals: fit a share of them, --pair-share %.1g",
		                s->scanner, (double)iso_scanner_pairs(in->scanner),
		                FEW_PAIRS / (double)iso_scanner_pairs(in->scanner));
	in->scatter = scatter_of(s);
	p->scanner = in->scanner;
	p->scan = in->scan;
	p->scans = in->scans;
	return plan_memory(c, in, p, s);
}

int norm_ring_run(struct cmd *c, const struct norm_ring *s)
{
	struct norm_inputs in = { 0 };
	struct iso_norm_fit p = { .size = sizeof p,
		                  .no_mirror = s->no_mirror,
		                  .relative = s->relative,
		                  .rays = (int)s->rays,
		                  .tolerance = s->tolerance,
		                  .pair_share = s->pair_share };
	int st = begin(c, &in, &p, s);

	if (!st && !(st = norm_scans_read(c, &in, s))) {
		p.mask = s->mask ? in.mask.v : NULL;
		st = compute(c, s, &in, &p);
	}
	norm_scans_free(&in);
	return st;
}
