/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate for two panels: a phantom or image seen through photon transport, as a histogram
   of LORs and, if asked for, as a list of events; or the sensitivity at a point. */
#include "simulate.h"

#include "file/npy.h"
#include "io/format.h"
#include "io/kinds.h"
#include "text/json_file.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 5 }; /* an axis, in voxels that a phantom's surface crosses */

/* ---- options ---- */

void simulate_panels_options(struct opt o[SIMULATE_PANELS_OPTIONS], struct simulate *s)
{
	const struct opt table[SIMULATE_PANELS_OPTIONS] = {
		{ 0, "point", .real = s->point, .count = 3, .value = "X,Y,Z", .alone = true, .absent = "none",
		  .help = "simulate no scan; print the share of decays at this point that is recorded, for "
		          "every readout and window" },
		{ 0, "pairs", .real = &s->pairs, .value = "N", .min = 1, .max = 1e13,
		  .help = "decays for --point" },
		{ 0, "list", .text = &s->list, .file = OPT_WRITES, .value = "FILE",
		  .help = "also write the events one by one (.lmdT or .npy)" },
		{ 0, "list-times", .text = &s->list_times, .file = OPT_WRITES, .value = "FILE",
		  .help = "also write the times of the events of --list in s (.npy), for --event-times of "
		          "recon; with --poses, --bed or --gantry" },
		{ 0, "centroid", .flag = &s->transport.centroid,
		  .help = "place a hit at the mean of its deposits, not at the largest deposit" },
		{ 0, "first-layer", .flag = &s->transport.first_layer,
		  .help = "take the layer of a hit from its first interaction" },
		{ 0, "positron", .text = &s->transport.positron, .value = "NAME",
		  .help = "simulate the positron range in water of F-18, C-11, O-15 or Ga-68" },
		{ 0, "rayleigh", .flag = &s->rayleigh,
		  .help = "Rayleigh scatter in crystals; --no-rayleigh turns it off" },
		{ 0, "reentry", .flag = &s->reentry,
		  .help = "photons that leave a head may enter the other; with --no-reentry they are lost" },
		{ 0 },
	};

	memcpy(o, table, sizeof table);
}

static int check_point(const struct cmd *c)
{
	static const char *const scan[] = {
		"output",  "counts",     "exact",       "decays", "list",       "randoms", "randoms-by-rate",
		"delayed", "duration-s", "mu",          "truth",  "list-times", "poses",   "bed",
		"gantry",  "isotope",    "half-life-s", "orbit",  NULL,
	};
	const char *given = cmd_given_of(c, scan);

	if (given) return iso_fail(ISO_EARG, "--point: there is no scan, so leave out --%s", given);
	if (cmd_given(c, "image"))
		return iso_fail(ISO_EARG, "--point: there is no scan, so leave out the image");
	return ISO_OK;
}

/* Of a scan in which something moves. */
static int check_moving(const struct simulate *s)
{
	const char *what = simulate_mover(s);
	int st = simulate_check_orbit(s);

	if (st) return st;
	if (!simulate_moves(s) && (s->isotope || s->half_life_s > 0))
		return iso_fail(ISO_EARG, "--%s of two panels needs --gantry, --bed or --poses",
		                s->isotope ? "isotope" : "half-life-s");
	if (!simulate_moves(s) && s->list_times)
		return iso_fail(ISO_EARG,
		                "--list-times needs --gantry, --bed or --poses: else events have no times");
	if (!simulate_moves(s)) return ISO_OK;
	if (!(s->duration_s > 0)) return iso_fail(ISO_EARG, "--%s needs --duration-s", what);
	if (s->randoms > 0 || s->by_rate || s->delayed)
		return iso_fail(ISO_EARG,
		                "--%s: two panels have no randoms yet while something moves; leave out --%s",
		                what,
		                s->randoms > 0 ? "randoms"
		                : s->by_rate   ? "randoms-by-rate"
		                               : "delayed");
	if (s->exact)
		return iso_fail(ISO_EARG,
		                "--%s and --exact: the number of events follows the poses; leave --exact out",
		                what);
	if (s->isotope && s->half_life_s > 0)
		return iso_fail(ISO_EARG, "--isotope and --half-life-s: give one of them");
	if (s->list_times && !s->list)
		return iso_fail(ISO_EARG, "--list-times has the times of the events of --list: name it, too");
	return ISO_OK;
}

static int check_scan(const struct cmd *c, const struct simulate *s)
{
	int st = check_moving(s);

	if (st) return st;

	if (!c->like && cmd_given(c, "decays") && cmd_given(c, "counts"))
		return iso_fail(ISO_EARG, "--decays and --counts: give one of them");
	if (!c->like && cmd_given(c, "pairs"))
		return iso_fail(ISO_EARG, "--pairs is for --point; a scan has --decays or --counts");
	if (s->by_rate && s->randoms > 0)
		return iso_fail(ISO_EARG, "--randoms and --randoms-by-rate: give one of them");
	if (!simulate_moves(s) && s->by_rate != (s->duration_s > 0))
		return iso_fail(ISO_EARG, "--randoms-by-rate and --duration-s need each other");
	if (s->delayed && !s->by_rate && !(s->randoms > 0))
		return iso_fail(ISO_EARG, "--delayed needs --randoms above 0, or --randoms-by-rate");
	if (!(s->randoms < 1))
		return iso_fail(ISO_EARG, "--randoms %g: must leave room for trues", s->randoms);
	if (s->object_rayleigh && !s->mu)
		return iso_fail(ISO_EARG, "--object-rayleigh needs an object: --mu must name its map");
	if (s->truth && !s->list)
		return iso_fail(ISO_EARG, "--truth says what the events of --list are: name it, too");
	if (s->truth && !iso_has_suffix(s->truth, ".npy"))
		return iso_fail(ISO_EARG, "--truth %s: what events are is written as .npy", s->truth);
	if ((st = cmd_check_array(c, s->out)) || (st = cmd_check_array(c, s->delayed)) ||
	    (st = cmd_check_array(c, s->truth)) || (st = cmd_check_array(c, s->list_times)))
		return st;
	return s->list ? iso_events_write_check(s->list, c->force) : ISO_OK;
}

/* ---- a scan ---- */

struct work {
	struct cmd *c;
	const struct simulate *s;
	iso_scanner *scanner;
	const struct iso_panels *panels;
	struct iso_array image, mu, lors;
	iso_panel_scan_run *run;
	iso_event_writer *writer;
	struct simulate_truth truth;
	iso_poses *table[3];
	struct iso_motion_parts motion;
	struct iso_array times; /* s, of the list so far */
	int64_t room;           /* of them */
};

/* Counted as an image that was read; with --dry-run it is not made either. */
static int raster(struct work *w, const iso_phantom *phantom, const struct iso_grid *g)
{
	int64_t bytes = iso_grid_voxels(g) * (int64_t)sizeof(iso_real);
	int st;

	w->c->record.read.inputs += bytes;
	w->image.n = iso_grid_voxels(g);
	if (w->c->dry_run) return ISO_OK;
	if ((st = iso_memory_check(w->c->ctx, "image", bytes)) || (st = iso_array_on_grid(&w->image, g)))
		return st;
	return iso_phantom_raster(w->image.v, NULL, w->c->ctx, phantom, g, SAMPLES);
}

/* A phantom becomes an image on the scanner's grid. */
static int read_image(struct work *w)
{
	const char *name = w->s->image;
	iso_phantom *phantom = NULL;
	struct iso_grid g;
	int st;

	iso_panels_grid(&g, w->panels);
	if (iso_kind_is(name, ISO_ARRAY_FILE)) {
		st = record_input(&w->c->record, name);
		return st ? st : record_read_map(&w->c->record, &w->image, name, &g);
	}
	st = simulate_phantom(w->c, &phantom, name);
	if (!st) st = raster(w, phantom, &g);
	iso_phantom_free(phantom);
	return st;
}

/* With a gantry one for each of its known rows, the first axis. */
static int make_histograms(struct work *w)
{
	const int64_t n = iso_panel_simulate_info(w->run)->histograms;
	struct iso_array one = { 0 };
	int64_t dim[8] = { n };
	int st;

	if (!w->s->gantry) return iso_panel_histogram(&w->lors, w->panels);
	if ((st = iso_panel_histogram(&one, w->panels))) return st;
	memcpy(dim + 1, one.dim, (size_t)one.n_dim * sizeof *dim);
	st = iso_array_create(&w->lors, one.n_dim + 1, dim);
	memcpy(w->lors.unit, one.unit, sizeof one.unit);
	iso_array_free(&one);
	return st;
}

static int prepare(struct work *w)
{
	const struct simulate *s = w->s;
	struct iso_plan plan;
	int st;

	if ((st = cmd_scanner(w->c, &w->scanner, s->scanner))) return st;
	w->panels = iso_scanner_panels(w->scanner);
	if (s->by_rate && !(w->panels->coincidence > 0))
		return iso_fail(ISO_EARG, "--randoms-by-rate: %s says no coincidence_ns", s->scanner);
	if ((st = read_image(w)) ||
	    (s->mu && (st = record_read_mu(&w->c->record, &w->mu, s->mu, &w->image.grid))))
		return st;
	record_warn_mu(&w->c->record, &w->mu, s->mu);
	if (simulate_moves(s) && (st = simulate_tables(w->table, &w->motion, w->c, s))) return st;
	plan = cmd_plan_begin(w->c);
	iso_panel_simulate_plan(&plan, w->c->ctx, w->panels, w->image.n, s->list);
	if (s->gantry)
		iso_plan_add(&plan, "histograms of further rows", iso_poses_rows(w->motion.gantry) - 1,
		             iso_panels_lors(w->panels) * (int64_t)sizeof(iso_real), false);
	if ((st = cmd_plan(w->c, &plan))) return st;

	struct iso_panel_simulate p = {
		.size = sizeof p,
		.scanner = w->scanner,
		.activity = &w->image,
		.transport = s->transport,
		.counts = s->counts,
		.decays = cmd_given(w->c, "decays") ? s->decays : 0,
		.exact = s->exact,
		.randoms = s->randoms,
		.by_rate = s->by_rate,
		.duration_s = s->duration_s,
		.mu = s->mu ? &w->mu : NULL,
		.rayleigh = s->object_rayleigh,
		.truth = s->truth ? simulate_add_truth : NULL,
		.truth_arg = &w->truth,
		.motion = simulate_moves(s) ? &w->motion : NULL,
	};

	if ((st = simulate_half_life(&p.half_life_s, s))) return st;
	st = iso_panel_simulate_open(&w->run, w->c->ctx, &p);
	if (!st) st = make_histograms(w);
	iso_array_free(&w->image);
	iso_array_free(&w->mu);
	return st;
}

/* Into the file of the list, and their times. */
static int keep_events(void *arg, const struct iso_events *block)
{
	struct work *w = arg;
	int st = simulate_append(w->writer, block);

	if (st || !w->s->list_times) return st;
	if (w->times.n + block->n > w->room) {
		const int64_t room = 2 * w->times.n + block->n;
		iso_real *more = realloc(w->times.v, (size_t)room * sizeof *more);

		if (!more) return iso_fail_memory("times of events", room * (int64_t)sizeof *more);
		w->times.v = more;
		w->room = room;
	}
	for (int64_t i = 0; i < block->n; i++)
		w->times.v[w->times.n + i] = (iso_real)(1e-3 * (double)block->time_ms[i]);
	w->times.n += block->n;
	return ISO_OK;
}

static int write_times(struct work *w)
{
	if (!w->s->list_times) return ISO_OK;
	w->times.n_dim = 1;
	w->times.dim[0] = w->times.n;
	strcpy(w->times.unit, "s");
	return cmd_write(w->c, w->s->list_times, &w->times);
}

static int make_events(struct work *w)
{
	const struct iso_panel_simulated *i = iso_panel_simulate_info(w->run);
	int st = ISO_OK;

	if (w->s->by_rate)
		st = record_result(&w->c->record, "rates",
		                   record_pack("{s:f, s:f, s:f, s:f}", "decays_per_s", i->decays_per_s,
		                               "singles_upper_per_s", i->singles_upper_per_s,
		                               "singles_lower_per_s", i->singles_lower_per_s, "randoms_share",
		                               i->share));
	if (!st && w->s->list) st = iso_event_writer_open(&w->writer, w->s->list, w->scanner, i->expected);
	if (st) return st;
	record_stage(&w->c->record, "simulate");
	st = iso_panel_simulate_events(w->lors.v, w->run, w->writer ? keep_events : NULL, w);
	record_stage(&w->c->record, NULL);
	if (st) return st;
	st = record_result(&w->c->record, "events",
	                   record_pack("{s:I, s:I, s:I}", "trues", (json_int_t)i->trues, "randoms",
	                               (json_int_t)i->randoms, "decays", (json_int_t)i->decays));
	if (st || !w->s->mu) return st;
	int64_t by_order[ISO_ORDERS];

	st = iso_panel_simulate_orders(by_order, w->run);
	return st ? st : record_result(&w->c->record, "by_scatters", simulate_orders(by_order));
}

static int write_prompts(struct work *w)
{
	int st = w->s->truth ? iso_npy_bytes(w->s->truth, w->truth.order, w->truth.n) : ISO_OK;

	if (!st && w->writer) st = cmd_close_events(w->c, &w->writer);
	if (!st) st = write_times(w);
	return st ? st : cmd_write(w->c, w->s->out, &w->lors);
}

/* In the prompts' array. */
static int write_delayed(struct work *w)
{
	int64_t n;
	int st;

	memset(w->lors.v, 0, (size_t)w->lors.n * sizeof *w->lors.v);
	if ((st = iso_panel_simulate_delayed(w->lors.v, &n, w->run)) ||
	    (st = record_result(&w->c->record, "delayed", json_integer((json_int_t)n))))
		return st;
	return cmd_write(w->c, w->s->delayed, &w->lors);
}

static int scan(struct cmd *c, const struct simulate *s)
{
	struct work w = { .c = c, .s = s };
	int st;

	record_stage(&c->record, "read");
	if (!(st = prepare(&w)) && !(st = make_events(&w)) && !(st = write_prompts(&w)) && s->delayed)
		st = write_delayed(&w);
	iso_event_writer_free(w.writer);
	iso_panel_simulate_free(w.run);
	free(w.truth.order);
	iso_array_free(&w.image);
	iso_array_free(&w.mu);
	iso_array_free(&w.lors);
	iso_array_free(&w.times);
	for (int k = 0; k < 3; k++) iso_poses_free(w.table[k]);
	iso_scanner_free(w.scanner);
	return st;
}

/* ---- the sensitivity at a point ---- */

static const char *const modes[] = { "head", "block", "crystal" };

/* All readouts that the scanner has; three windows, and its own if that is another. */
static int list_readings(struct iso_panel_reading r[ISO_PANEL_READINGS], const struct iso_panels *p)
{
	const double window[4][2] = {
		{ 250, 750 }, { 350, 750 }, { 400, 750 }, { p->window[0], p->window[1] }
	};
	int n = 0, windows = 4;

	for (int i = 0; i < 3; i++)
		if (window[i][0] == window[3][0] && window[i][1] == window[3][1]) windows = 3;
	for (int m = 0; m < 3; m++)
		for (int i = 0; i < windows && !(m == ISO_READ_BLOCK && p->block < 1); i++)
			r[n++] = (struct iso_panel_reading){
				(enum iso_readout)m, { window[i][0], window[i][1] }, 0, 0
			};
	return n;
}

static int print_json(const struct iso_panel_reading *r, int n)
{
	json_t *all = json_object(), *mode = NULL;
	char *text, name[64];

	for (int i = 0; i < n; i++) {
		if (i == 0 || r[i].readout != r[i - 1].readout)
			json_object_set_new(all, modes[r[i].readout], mode = json_object());
		snprintf(name, sizeof name, "%g-%g", r[i].window[0], r[i].window[1]);
		json_object_set_new(mode, name,
		                    record_pack("{s:f, s:f}", "fraction", r[i].share, "error", r[i].error));
	}
	text = iso_json_text(all, JSON_INDENT(2));
	if (text) puts(text);
	json_decref(all);
	if (!text) return iso_fail(ISO_ENOMEM, "simulate: no memory for the results");
	free(text);
	return CMD_DONE;
}

static int print_text(const struct iso_panel_reading *r, int n)
{
	for (int i = 0; i < n; i++)
		printf("%-8s %3g-%g keV  %8.4f %% +- %.4f\n", modes[r[i].readout], r[i].window[0],
		       r[i].window[1], 100 * r[i].share, 100 * r[i].error);
	return CMD_DONE;
}

static int point(struct cmd *c, const struct simulate *s)
{
	struct iso_panel_reading r[ISO_PANEL_READINGS];
	struct iso_plan p = { 0 };
	iso_scanner *scanner = NULL;
	int st, n;

	if ((st = iso_scanner_read(&scanner, s->scanner))) goto done;
	iso_panel_sensitivity_plan(&p, c->ctx);
	if ((st = cmd_plan(c, &p))) goto done;
	n = list_readings(r, iso_scanner_panels(scanner));
	if ((st = iso_panel_sensitivity(r, n, c->ctx, iso_scanner_panels(scanner), &s->transport, s->point,
	                                llround(s->pairs))))
		goto done;
	term_clear(&c->term);
	st = (c->json ? print_json : print_text)(r, n);
done:
	iso_scanner_free(scanner);
	return st;
}

int simulate_panels(struct cmd *c, const struct simulate *s)
{
	bool at_point = cmd_given(c, "point");
	int st = at_point ? check_point(c) : check_scan(c, s);

	c->cpu_only = simulate_moves(s);
	if (st || (st = cmd_begin(c))) return st;
	return at_point ? point(c, s) : scan(c, s);
}
