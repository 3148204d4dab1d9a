/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate for crystals on a cylinder or anywhere: list-mode events of an activity image. */
#include "simulate.h"

#include "io/format.h"

#include <math.h>

struct inputs {
	iso_scanner *scanner;
	struct iso_array image, mu, eff;
};

static int read_norm(struct cmd *c, struct inputs *in, const char *path)
{
	int64_t n = iso_scanner_crystals(in->scanner);
	int st;

	if ((st = record_read(&c->record, &in->eff, path, ISO_NONNEGATIVE)) ||
	    (st = record_input(&c->record, path)))
		return st;
	if (in->eff.n != n)
		return iso_fail(ISO_EINPUT,
		                "%s: %" PRId64 " values, must be one for each of the %" PRId64
		                " crystals of %s",
		                path, in->eff.n, n, iso_scanner_name(in->scanner));
	return ISO_OK;
}

static int read_inputs(struct cmd *c, struct inputs *in, const struct simulate *s)
{
	int st;

	if ((st = cmd_scanner(c, &in->scanner, s->scanner)) ||
	    (st = record_read_image(&c->record, &in->image, s->image, ISO_NONNEGATIVE, NULL)) ||
	    (st = record_input(&c->record, s->image)) ||
	    (s->mu && (st = record_read_mu(&c->record, &in->mu, s->mu, &in->image.grid))))
		return st;
	return s->norm ? read_norm(c, in, s->norm) : ISO_OK;
}

static int half_life(double *half_life_s, const struct simulate *s)
{
	*half_life_s = s->half_life_s;
	return s->isotope ? iso_half_life(half_life_s, s->isotope) : ISO_OK;
}

static int report(struct cmd *c, const struct iso_simulate *p, const struct iso_simulated *i)
{
	int st = record_result(&c->record, "events",
	                       record_pack("{s:I, s:I, s:I, s:f}", "trues", (json_int_t)i->trues, "scatters",
	                                   (json_int_t)i->scatters, "randoms", (json_int_t)i->randoms,
	                                   "decays", i->decays));

	if (!st && p->randoms > 0)
		st = record_result(&c->record, "additive",
		                   record_pack("{s:f, s:f, s:f}", "randoms_per_pair", i->randoms_per_pair,
		                               "randoms_per_pair_per_mm_tof", i->randoms_per_pair_mm,
		                               "window_ps", i->window_ps));
	if (!st && p->half_life_s > 0)
		st = record_result(&c->record, "half_life_s", record_real(p->half_life_s));
	return st;
}

static int write_list(struct cmd *c, const char *path, const struct iso_simulate *p)
{
	iso_event_writer *w = NULL;
	struct iso_simulated info;
	int64_t n = llround(p->delayed ? p->counts * p->randoms : p->counts);
	int st = iso_event_writer_open(&w, path, p->scanner, n);

	if (st) return st;
	record_stage(&c->record, "simulate");
	st = iso_simulate_blocks(&info, c->ctx, p, simulate_append, w);
	record_stage(&c->record, NULL);
	if (!st)
		st = p->delayed ? record_result(&c->record, "delayed", json_integer((json_int_t)info.randoms))
		                : report(c, p, &info);
	if (!st && p->duration_s > 0 && iso_has_suffix(path, ".lmdT"))
		record_warn(&c->record,
		            "%s: lmdT has no place for the times of events: only their order is kept", path);
	if (!st) st = cmd_close_events(c, &w);
	iso_event_writer_free(w);
	return st;
}

static int write_singles(struct cmd *c, const char *path, const struct iso_simulate *p)
{
	int64_t n = iso_scanner_crystals(p->scanner);
	struct iso_array a = { 0 };
	int st = iso_array_create(&a, 1, &n);

	if (!st && !(st = iso_simulate_singles(a.v, p))) st = cmd_write(c, path, &a);
	iso_array_free(&a);
	return st;
}

static int run(struct cmd *c, const struct simulate *s)
{
	struct inputs in = { 0 };
	struct iso_plan plan;
	int st;

	record_stage(&c->record, "read");
	if ((st = read_inputs(c, &in, s))) goto done;
	plan = cmd_plan_begin(c);
	/* events go to the file a round of blocks at a time: 64 of 8192, give or take */
	iso_plan_add(&plan, "events", 600000, sizeof(struct iso_event) + 12, false);
	iso_plan_add(&plan, "emission tables", in.image.n, s->scatters > 0 ? 44 : 28, false);
	if ((st = cmd_plan(c, &plan))) goto done;

	struct iso_simulate p = {
		.size = sizeof p,
		.scanner = in.scanner,
		.activity = &in.image,
		.mu = s->mu ? &in.mu : NULL,
		.eff = in.eff.v,
		.counts = s->counts,
		.exact_counts = s->exact,
		.randoms = s->randoms,
		.scatters = s->scatters,
		.duration_s = s->duration_s,
		.seed = (uint64_t)s->seed,
		.isotope = s->isotope ? iso_isotope(s->isotope) : NULL,
		.tof_fwhm_ps =
			cmd_given(c, "tof-fwhm-ps") ? s->tof_fwhm_ps : iso_scanner_tof_fwhm_ps(in.scanner),
	};

	if ((st = half_life(&p.half_life_s, s)) || (st = write_list(c, s->out, &p)) ||
	    (s->singles && (st = write_singles(c, s->singles, &p))))
		goto done;
	p.delayed = true;
	if (s->delayed) st = write_list(c, s->delayed, &p);
done:
	iso_array_free(&in.image);
	iso_array_free(&in.mu);
	iso_array_free(&in.eff);
	iso_scanner_free(in.scanner);
	return st;
}

/* What the options must be together, before anything is read. */
static int check_options(const struct simulate *s)
{
	double t;

	if (!cmd_is_events(s->out) || (s->delayed && !cmd_is_events(s->delayed)))
		return iso_fail(ISO_EARG, "%s: events are written as .lmdT or .Cdh",
		                cmd_is_events(s->out) ? s->delayed : s->out);
	if (s->singles && cmd_is_events(s->singles))
		return iso_fail(ISO_EARG, "--singles %s: counts per crystal are an array, not events",
		                s->singles);
	if ((s->delayed || s->singles) && !(s->randoms > 0))
		return iso_fail(ISO_EARG, "--delayed and --singles need --randoms above 0");
	if ((s->singles || s->isotope || s->half_life_s > 0) && !(s->duration_s > 0))
		return iso_fail(ISO_EARG, "--singles, --isotope and --half-life-s need --duration-s");
	if (s->noise > 0) return iso_fail(ISO_EARG, "--noise is for scanners of kind transducers");
	if (s->isotope && s->half_life_s > 0)
		return iso_fail(ISO_EARG, "--isotope and --half-life-s: give one of them");
	return half_life(&t, s);
}

int simulate_ring(struct cmd *c, const struct simulate *s)
{
	int st;

	if ((st = check_options(s)) || (st = cmd_check_output(c, s->out)) ||
	    (st = cmd_check_output(c, s->delayed)) || (st = cmd_check_array(c, s->singles)) ||
	    (st = cmd_begin(c)))
		return st;
	return run(c, s);
}
