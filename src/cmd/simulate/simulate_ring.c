/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate for crystals on a cylinder or anywhere: list-mode events of an activity image. */
#include "simulate_tacs.h"

#include "scanner/scanner.h"

#include "core/size.h"
#include "file/npy.h"
#include "file/suffix.h"
#include "isotome/timing.h"
#include "io/kinds.h"
#include "simulate/ring/ring_scan.h"

#include "isotome/norm.h"

#include <math.h>
#include <stdlib.h>

struct inputs {
	iso_scanner *scanner;
	struct iso_array image, mu, mu_fixed, eff;
	double *offset, *fwhm; /* of crystals, ps; NULL: not given */
	iso_norm *pairs;       /* whose factors of pairs thin events; NULL: none */
	double dead_us;
	enum iso_dead_time dead_time;
	iso_poses *poses[3]; /* by enum iso_pose_kind */
	struct iso_motion_parts motion;
	iso_gates *gates;
	struct iso_field *field; /* of each gate */
	struct iso_warp *warp;
	struct tacs tacs;
};

static int read_norm_of_rings(struct cmd *c, struct inputs *in, const char *path)
{
	const int64_t n = iso_scanner_crystals(in->scanner);
	iso_norm *norm;
	int st = iso_norm_read(&norm, path, in->scanner);

	if (st) return st;
	st = iso_array_create(&in->eff, 1, &n);
	for (int64_t a = 0; a < n && !st; a++) in->eff.v[a] = (iso_real)iso_norm_efficiency(norm)[a];
	if (iso_norm_factors(norm).factor)
		in->pairs = norm;
	else
		iso_norm_free(norm);
	return st ? st : record_input(&c->record, path);
}

static int read_pair_factors(struct cmd *c, struct inputs *in, const char *path)
{
	if (in->pairs)
		return iso_fail(ISO_EARG,
		                "--pair-factors and --norm both bring factors of pairs: give one of them");
	int st = iso_norm_read(&in->pairs, path, in->scanner);

	if (!st && !iso_norm_factors(in->pairs).factor)
		st = iso_fail(ISO_EINPUT,
		              "%s: has no factors of pairs; expected components transaxial or axial", path);
	return st ? st : record_input(&c->record, path);
}

static int read_norm(struct cmd *c, struct inputs *in, const char *path)
{
	int64_t n = iso_scanner_crystals(in->scanner);
	int st;

	if (iso_norm_is(path)) return read_norm_of_rings(c, in, path);
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

static void free_inputs(struct inputs *in)
{
	iso_array_free(&in->image);
	iso_array_free(&in->mu);
	iso_array_free(&in->mu_fixed);
	iso_array_free(&in->eff);
	iso_scanner_free(in->scanner);
	iso_norm_free(in->pairs);
	free(in->offset);
	free(in->fwhm);
	for (int k = 0; k < 3; k++) iso_poses_free(in->poses[k]);
	for (int g = 0; in->field && g < iso_gates_count(in->gates); g++) iso_field_free(&in->field[g]);
	iso_gates_free(in->gates);
	free(in->field);
	free(in->warp);
	simulate_free_tacs(&in->tacs);
}

/* The tables of an object that moves, and the map of what does not. */
static int read_motion(struct cmd *c, struct inputs *in, const struct simulate *s)
{
	int st = simulate_tables(in->poses, &in->motion, c, s);

	if (st || !s->mu_fixed) return st;
	if (!(st = record_read_mu(&c->record, &in->mu_fixed, s->mu_fixed, &in->image.grid)))
		record_warn_mu(&c->record, &in->mu_fixed, s->mu_fixed);
	return st;
}

static int read_field(struct cmd *c, struct inputs *in, const struct simulate *s, int gate, const char *path)
{
	const char *axes = s->field_axes ? s->field_axes : "auto";
	const enum iso_field_axes way = strcmp(axes, "ras") == 0   ? ISO_FIELD_RAS
	                                : strcmp(axes, "lps") == 0 ? ISO_FIELD_LPS
	                                                           : ISO_FIELD_AUTO;
	struct iso_warp *w = &in->warp[gate];
	int st = ISO_OK;

	*w = (struct iso_warp){ .size = sizeof *w, .mass = s->warp_mass };
	w->grid = in->image.grid;
	if (strcmp(path, "none") == 0) return ISO_OK;
	if ((st = iso_field_read(&in->field[gate], path, way, &in->image.grid)) ||
	    (st = record_input(&c->record, path)))
		return st;
	w->field = in->field[gate].v;
	w->field_grid = in->field[gate].grid;
	return ISO_OK;
}

/* The gates, and a field for each. */
static int read_gates(struct cmd *c, struct inputs *in, const struct simulate *s)
{
	const char *at = s->fields;
	char path[PATH_MAX];
	int n, st = iso_gates_read(&in->gates, s->gates), fields = 1;

	if (st || (st = record_input(&c->record, s->gates))) return st;
	n = iso_gates_count(in->gates);
	for (const char *k = at; *k; k++) fields += *k == ',';
	if (fields != n)
		return iso_fail(ISO_EARG, "--fields has %d fields, expected one per gate (%d)", fields, n);
	in->field = calloc((size_t)n, sizeof *in->field);
	in->warp = calloc((size_t)n, sizeof *in->warp);
	if (!in->field || !in->warp) return iso_fail_memory("gates", n * (int64_t)sizeof *in->warp);
	for (int g = 0; g < n && !st; g++) {
		snprintf(path, sizeof path, "%.*s", (int)strcspn(at, ","), at);
		st = read_field(c, in, s, g, path);
		at += strcspn(at, ",") + 1;
	}
	return st;
}

/* A value of each crystal. */
static int read_crystals(struct cmd *c, double **v, const struct inputs *in, const char *path,
                         enum iso_values allowed)
{
	const int64_t n = iso_scanner_crystals(in->scanner);
	struct iso_array a = { 0 };
	int st = record_read(&c->record, &a, path, allowed);

	if (!st && a.n != n)
		st = iso_fail(ISO_EINPUT,
		              "%s: %" PRId64 " values, must be one for each of the %" PRId64
		              " crystals of %s",
		              path, a.n, n, iso_scanner_name(in->scanner));
	if (!st && !(*v = size_alloc(n, sizeof **v))) st = iso_fail_memory(path, n * (int64_t)sizeof **v);
	for (int64_t i = 0; !st && i < n; i++) (*v)[i] = (double)a.v[i];
	iso_array_free(&a);
	return st ? st : record_input(&c->record, path);
}

/* Offsets as an array, or in a file of isotome timing. */
static int read_offsets(struct cmd *c, struct inputs *in, const char *path)
{
	iso_times *t = NULL;
	int st;

	if (!iso_has_suffix(path, ".json")) return read_crystals(c, &in->offset, in, path, ISO_FINITE);
	if ((st = iso_times_read(&t, path, in->scanner))) return st;
	const int64_t bytes = iso_times_crystals(t) * (int64_t)sizeof *in->offset;

	if ((in->offset = size_alloc(bytes, 1)))
		memcpy(in->offset, iso_times_offsets(t), (size_t)bytes);
	else
		st = iso_fail_memory(path, bytes);
	iso_times_free(t);
	return st ? st : record_input(&c->record, path);
}

static const char *const dead_times[] = { "non-paralysable", "paralysable", NULL };

static int read_dead_time(struct inputs *in, const char *text)
{
	const char *colon = strchr(text, ':');

	for (int k = 0; dead_times[k] && colon; k++)
		if (strlen(dead_times[k]) == (size_t)(colon - text) &&
		    strncmp(text, dead_times[k], (size_t)(colon - text)) == 0 &&
		    iso_number(&in->dead_us, colon + 1, strlen(colon + 1)) && in->dead_us > 0) {
			in->dead_time = (enum iso_dead_time)k;
			return ISO_OK;
		}
	return iso_fail(
		ISO_EARG,
		"--dead-time is '%.60s', must be non-paralysable:TAU or paralysable:TAU, TAU in us above 0",
		text);
}

static int read_detection(struct cmd *c, struct inputs *in, const struct simulate *s)
{
	int st = s->time_offsets ? read_offsets(c, in, s->time_offsets) : ISO_OK;

	if (!st && s->crystal_fwhm) st = read_crystals(c, &in->fwhm, in, s->crystal_fwhm, ISO_NONNEGATIVE);
	return !st && s->dead_time ? read_dead_time(in, s->dead_time) : st;
}

static int read_inputs(struct cmd *c, struct inputs *in, const struct simulate *s)
{
	int st;

	if ((st = cmd_scanner(c, &in->scanner, s->scanner)) ||
	    (st = s->basis ? record_read(&c->record, &in->image, s->image, ISO_NONNEGATIVE)
	                   : record_read_image(&c->record, &in->image, s->image, ISO_NONNEGATIVE, NULL)) ||
	    (st = record_input(&c->record, s->image)) ||
	    (s->mu && (st = record_read_mu(&c->record, &in->mu, s->mu, &in->image.grid))))
		return st;
	record_warn_mu(&c->record, &in->mu, s->mu);
	if (simulate_moves(s) && (st = read_motion(c, in, s))) return st;
	if (s->gates && (st = read_gates(c, in, s))) return st;
	if ((st = simulate_read_tacs(&in->tacs, c, s, &in->image)) || (st = read_detection(c, in, s)))
		return st;
	if (s->norm && (st = read_norm(c, in, s->norm))) return st;
	return s->pair_factors ? read_pair_factors(c, in, s->pair_factors) : ISO_OK;
}

/* ---- events ---- */

static int report_photons(struct cmd *c, const struct iso_simulate *p)
{
	const struct iso_simulated_photons *f = p->photons;
	int st = record_result(&c->record, "by_scatters", simulate_orders(f->by_order));

	if (!st && p->by_rate)
		st = record_result(&c->record, "rates",
		                   record_pack("{s:f, s:f, s:f}", "decays_per_s", f->decays_per_s,
		                               "singles_per_s", f->singles_per_s, "randoms_expected",
		                               f->randoms_expected));
	return st;
}

static int report(struct cmd *c, const struct iso_simulate *p, const struct iso_simulated *i)
{
	int st = record_result(&c->record, "events",
	                       record_pack("{s:I, s:I, s:I, s:f}", "trues", (json_int_t)i->trues, "scatters",
	                                   (json_int_t)i->scatters, "randoms", (json_int_t)i->randoms,
	                                   "decays", i->decays));

	if (!st && p->dead_time_s > 0)
		st = record_result(&c->record, "lost_to_dead_time", json_integer((json_int_t)i->lost));
	if (!st && p->pairs)
		st = record_result(&c->record, "thinned_by_pair_factors",
		                   json_integer((json_int_t)i->thinned));
	if (!st && p->physics) st = report_photons(c, p);
	if (!st && p->randoms > 0)
		st = record_result(&c->record, "additive",
		                   record_pack("{s:f, s:f, s:f}", "randoms_per_pair", i->randoms_per_pair,
		                               "randoms_per_pair_per_mm_tof", i->randoms_per_pair_mm,
		                               "window_ps", i->window_ps));
	if (!st && p->half_life_s > 0)
		st = record_result(&c->record, "half_life_s", record_real(p->half_life_s));
	return st;
}

/* *info: what the list is made of. */
static int write_list(struct cmd *c, const char *path, const struct iso_simulate *p, struct tacs *tacs,
                      const char *truth_path, struct iso_simulated *info)
{
	iso_event_writer *w = NULL;
	struct simulate_truth truth = { 0 };
	struct iso_simulated_photons found = { .size = sizeof found };
	struct iso_simulate q = *p;
	int64_t n = q.decays > 0 ? 0 : llround(p->delayed ? p->counts * p->randoms : p->counts);
	int st = iso_event_writer_open(&w, path, p->scanner, n);

	if (st) return st;
	q.photons = &found;
	q.truth = truth_path ? simulate_add_truth : NULL;
	q.truth_arg = &truth;
	record_stage(&c->record, "simulate");
	st = tacs->n > 0 ? iso_simulate_curves(info, c->ctx, &q, tacs->n, tacs->c,
	                                       p->delayed ? NULL : &tacs->bins, simulate_append, w)
	                 : iso_simulate_blocks(info, c->ctx, &q, simulate_append, w);
	record_stage(&c->record, NULL);
	if (!st)
		st = p->delayed
		             ? record_result(&c->record, "delayed", json_integer((json_int_t)info->randoms))
		             : report(c, &q, info);
	if (!st && p->duration_s > 0 && !iso_kind_keeps_crystals(path))
		record_warn(&c->record,
		            "%s: %s has no place for the times of events: only their order is kept", path,
		            strrchr(path, '.') + 1);
	if (!st) cmd_tell_weight(c, path, p->scanner);
	if (!st) cmd_tell_duration(c, path, p->duration_s);
	if (!st && truth_path) st = iso_npy_bytes(truth_path, truth.order, truth.n);
	if (!st) st = cmd_close_events(c, &w);
	iso_event_writer_free(w);
	free(truth.order);
	return st;
}

static int write_singles(struct cmd *c, const char *path, const struct iso_simulate *p,
                         const struct iso_simulated *info)
{
	int64_t n = iso_scanner_crystals(p->scanner);
	struct iso_array a = { 0 };
	int st = iso_array_create(&a, 1, &n);

	if (!st && !(st = iso_simulate_singles_of(a.v, p, info->randoms_per_pair)))
		st = cmd_write(c, path, &a);
	iso_array_free(&a);
	return st;
}

static int run(struct cmd *c, const struct simulate *s)
{
	struct inputs in = { 0 };
	struct iso_simulated info = { .size = sizeof info };
	struct iso_plan plan;
	int st;

	record_stage(&c->record, "read");
	if ((st = read_inputs(c, &in, s))) goto done;
	const struct iso_pair_factors factors = iso_norm_factors(in.pairs);

	if (s->singles && factors.factor) {
		st = iso_fail(ISO_EARG,
		              "--singles: with factors of pairs (--pair-factors, --norm) randoms are no "
		              "product of two crystals' singles; write delayeds with --delayed");
		goto done;
	}
	struct iso_simulate p = {
		.size = sizeof p,
		.scanner = in.scanner,
		.activity = &in.image,
		.mu = s->mu ? &in.mu : NULL,
		.eff = in.eff.v,
		.counts = s->counts,
		.exact_counts = s->exact,
		.randoms = s->randoms,
		.bent = s->bent,
		.duration_s = s->duration_s,
		.seed = (uint64_t)s->seed,
		.isotope = s->isotope ? iso_isotope(s->isotope) : NULL,
		.tof_fwhm_ps =
			cmd_given(c, "tof-fwhm-ps") ? s->tof_fwhm_ps : iso_scanner_tof_fwhm_ps(in.scanner),
	};

	p.pairs = in.pairs ? &factors : NULL;
	p.time_offset_ps = in.offset;
	p.crystal_fwhm_ps = in.fwhm;
	p.dead_time = in.dead_time;
	p.dead_time_s = 1e-6 * in.dead_us;
	if (simulate_moves(s)) {
		p.motion = &in.motion;
		p.mu_fixed = s->mu_fixed ? &in.mu_fixed : NULL;
	}
	p.gates = in.gates;
	p.warp = in.warp;
	if (s->physics) {
		p.physics = true;
		p.decays = cmd_given(c, "decays") ? s->decays : 0;
		p.by_rate = s->by_rate;
		p.resolution = cmd_given(c, "energy-resolution") ? s->resolution : 0;
		p.rayleigh = s->object_rayleigh;
		if (cmd_given(c, "energy-window")) memcpy(p.window_kev, s->window_kev, sizeof p.window_kev);
	}
	plan = cmd_plan_begin(c);
	if (in.tacs.n > 0) p.activity = &in.tacs.c[0].activity;
	iso_simulate_plan(&plan, c->ctx, &p);
	if (in.tacs.n > 0)
		iso_plan_add(&plan, "all events, to be put in order", llround(1.1 * s->counts), 76, false);
	if ((st = cmd_plan(c, &plan)) || (st = simulate_half_life(&p.half_life_s, s)) ||
	    (st = write_list(c, s->out, &p, &in.tacs, s->truth, &info)) ||
	    (in.tacs.n > 0 && (st = simulate_tell_tacs(&in.tacs, c, s))) ||
	    (s->singles && (st = write_singles(c, s->singles, &p, &info))))
		goto done;
	p.delayed = true;
	if (s->delayed) st = write_list(c, s->delayed, &p, &in.tacs, NULL, &info);
done:
	free_inputs(&in);
	return st;
}

/* The poses are looked up by the times of events, which are worth nothing without them. */
static int check_motion(const struct simulate *s)
{
	const char *what = simulate_moves(s) ? simulate_mover(s) : "gates";
	const bool tables = s->poses || s->bed || s->gantry || s->gates;
	int st = simulate_check_orbit(s);

	if (st) return st;
	if (!s->gates != !s->fields) return iso_fail(ISO_EARG, "--gates and --fields go together");
	if (s->gates && s->physics) return iso_fail(ISO_EARG, "--gates and --physics: give one of them");
	if (s->mu_fixed && !simulate_moves(s))
		return iso_fail(ISO_EARG, "--mu-fixed needs --poses, --bed or --gantry: of an object at rest "
		                          "it is part of --mu");
	if (!simulate_moves(s) && !s->gates) return ISO_OK;
	if (!(s->duration_s > 0)) return iso_fail(ISO_EARG, "--%s needs --duration-s", what);
	if (s->physics && s->mu_fixed)
		return iso_fail(ISO_EARG, "--mu-fixed and --physics: give one of them");
	if (s->exact)
		return iso_fail(ISO_EARG,
		                "--%s and --exact: the number of events follows the poses; leave "
		                "--exact out",
		                what);
	if (tables && s->out && !iso_kind_keeps_crystals(s->out))
		return iso_fail(ISO_EARG,
		                "--%s: %s has no place for the times of events: write CASToR (.Cdh) "
		                "or PETSIRD (.petsird)",
		                what, s->out);
	return ISO_OK;
}

static int check_physics(const struct cmd *c, const struct simulate *s)
{
	static const char *const needs[] = { "decays", "energy-window", "energy-resolution", NULL };
	const char *given = cmd_given_of(c, needs);

	if (!s->physics && (s->by_rate || s->object_rayleigh || (given && !c->like)))
		return iso_fail(ISO_EARG, "--%s needs --physics",
		                s->by_rate           ? "randoms-by-rate"
		                : s->object_rayleigh ? "object-rayleigh"
		                                     : given);
	if (!s->physics) return ISO_OK;
	if (!s->mu)
		return iso_fail(ISO_EARG,
		                "--physics follows photons through the object: --mu must name its map");
	if (!c->like && cmd_given(c, "decays") && cmd_given(c, "counts"))
		return iso_fail(ISO_EARG, "--decays and --counts: give one of them");
	if (s->bent > 0)
		return iso_fail(ISO_EARG,
		                "--bent stands in for scatter, which --physics has itself: leave it out");
	if (s->by_rate && s->randoms > 0)
		return iso_fail(ISO_EARG, "--randoms and --randoms-by-rate: give one of them");
	if (s->by_rate && !(s->duration_s > 0))
		return iso_fail(ISO_EARG, "--randoms-by-rate needs --duration-s");
	if (!(s->randoms < 1))
		return iso_fail(ISO_EARG, "--randoms %g: must leave room for trues", s->randoms);
	return ISO_OK;
}

/* Of a name that no file of events can have: why. */
static int check_events(const char *path)
{
	return !path || iso_kind_to_write(path, ISO_EVENTS_FILE)
	               ? ISO_OK
	               : iso_kind_unknown(ISO_EARG, path, ISO_EVENTS_FILE, true);
}

/* What the options must be together, before anything is read. */
static int check_options(const struct cmd *c, const struct simulate *s)
{
	double t;
	int st;

	if ((st = check_events(s->out)) || (st = check_events(s->delayed))) return st;
	if (s->singles && cmd_is_events(s->singles))
		return iso_fail(ISO_EARG, "--singles %s: counts per crystal are an array, not events",
		                s->singles);
	if ((st = check_physics(c, s)) || (st = check_motion(s)) || (st = simulate_check_tacs(s))) return st;
	if (s->truth && !iso_has_suffix(s->truth, ".npy"))
		return iso_fail(ISO_EARG, "--truth %s: what events are is written as .npy", s->truth);
	if (s->singles && s->by_rate)
		return iso_fail(ISO_EARG,
		                "--singles needs --randoms; --delayed serves --randoms-by-rate, too");
	if ((s->delayed || s->singles) && !(s->randoms > 0) && !s->by_rate)
		return iso_fail(ISO_EARG, "--delayed and --singles need --randoms above 0");
	if (s->dead_time && !(s->duration_s > 0)) return iso_fail(ISO_EARG, "--dead-time needs --duration-s");
	if ((s->singles || s->isotope || s->half_life_s > 0) && !(s->duration_s > 0))
		return iso_fail(ISO_EARG, "--singles, --isotope and --half-life-s need --duration-s");
	if (s->noise > 0) return iso_fail(ISO_EARG, "--noise is for scanners of kind transducers");
	if (s->isotope && s->half_life_s > 0)
		return iso_fail(ISO_EARG, "--isotope and --half-life-s: give one of them");
	return simulate_half_life(&t, s);
}

int simulate_ring(struct cmd *c, const struct simulate *s)
{
	int st;

	c->cpu_only = false;
	if ((st = check_options(c, s)) || (st = cmd_check(c, s->out, iso_events_write_check)) ||
	    (st = cmd_check(c, s->delayed, iso_events_write_check)) ||
	    (st = cmd_check_array(c, s->singles)) || (st = cmd_check_array(c, s->truth)) ||
	    (st = cmd_begin(c)))
		return st;
	return run(c, s);
}
