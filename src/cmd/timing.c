/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome timing: time offsets and resolution of the crystals of a ring. */
#include "cmd.h"
#include "commission/source.h"
#include "isotome/timing.h"
#include "io/format.h"
#include "problem/inputs.h"

#include "base/constants.h"
#include "core/size.h"
#include "text/json_file.h"

#include <math.h>
#include <string.h>

#define MANY_RANDOMS .5
#define MANY_BESIDE .2

struct timing_settings {
	const char *scanner, *events, *source, *norm, *delayed, *mu, *out;
	double share, coincidence_ns, bin_ps;
	bool per_crystal;
	struct iso_events_options read;
};

struct timing_inputs {
	iso_scanner *scanner;
	struct iso_events events, late;
	struct iso_array image, norm, mu;
	double *rate;
	double window_ps;
};

static const struct opt_usage usage = {
	"timing",
	"Find the time offset of every crystal of a ring, and the time resolution, from the events of a "
	"source "
	"whose place is known. Randoms are part of the fit. 'isotome recon --times FILE' then corrects the "
	"time "
	"differences. Offsets have mean 0: only their differences matter.",
	"  isotome timing ring.yaml flat.lmdT --source cylinder:0,0,0,100,200 -o ring.times.json\n"
	"  isotome timing ring.yaml flat.Cdh --source flat.nii --delayed late.Cdh --norm crystals.npy \\\n"
	"      --per-crystal -o ring.times.json\n"
	"  isotome recon scan.lmdT --scanner ring.yaml --times ring.times.json -o image.nii\n",
};

/* ---- reading ---- */

/* The efficiencies of crystals that a norm's JSON names. */
static int norm_file(char path[PATH_MAX], const char *json)
{
	json_t *root = NULL;
	int st = iso_json_read(&root, json);
	const char *name = st ? NULL : json_string_value(json_object_get(root, "crystals"));
	const char *slash = strrchr(json, '/');

	if (!st && !name)
		st = iso_fail(ISO_EINPUT, "%s: 'crystals' is missing, the file of the crystals' efficiencies",
		              json);
	if (!st)
		snprintf(path, PATH_MAX, "%.*s%s", slash && name[0] != '/' ? (int)(slash - json + 1) : 0,
		         json, name);
	json_decref(root);
	return st;
}

static int read_norm(struct cmd *c, struct timing_inputs *in, const char *path)
{
	const size_t n = strlen(path);
	char crystals[PATH_MAX];
	int st = ISO_OK;

	if (n > 5 && strcmp(path + n - 5, ".json") == 0) {
		if ((st = record_input(&c->record, path)) || (st = norm_file(crystals, path))) return st;
		path = crystals;
	}
	if ((st = record_read(&c->record, &in->norm, path, ISO_NONNEGATIVE)) ||
	    (st = record_input(&c->record, path)))
		return st;
	if (in->norm.n != iso_scanner_crystals(in->scanner))
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one per crystal (%" PRId64 ")",
		                path, in->norm.n, iso_scanner_crystals(in->scanner));
	return ISO_OK;
}

static int read_events(struct cmd *c, struct iso_events *e, const struct timing_settings *s,
                       const struct timing_inputs *in, const char *path, bool delayed)
{
	struct iso_events_options o = s->read;
	double most = 0;
	int st;

	o.scanner = in->scanner;
	o.ctx = c->ctx;
	o.delayeds = delayed;
	if ((st = iso_events_read(e, path, &o)) || (st = record_input(&c->record, path))) return st;
	events_warn(&c->record, path, e);
	return iso_events_crystals(e, &most, in->scanner);
}

static int read_randoms(struct cmd *c, const struct timing_settings *s, struct timing_inputs *in)
{
	const int64_t n = iso_scanner_crystals(in->scanner);
	int64_t bad = 0;
	int st;

	if (!s->delayed || strcmp(s->delayed, "none") == 0) return ISO_OK;
	if ((st = read_events(c, &in->late, s, in, s->delayed, true))) return st;
	if (!(in->rate = size_alloc(n, sizeof *in->rate)))
		return iso_fail_memory("randoms", n * (int64_t)sizeof *in->rate);
	st = iso_randoms_from_delayed(in->rate, &bad, c->ctx, in->scanner, &in->late);
	if (!st && bad > 0)
		record_warn(&c->record,
		            "%s: %" PRId64 " of %" PRId64
		            " delayed events lie on no pair of crystals and are left out",
		            s->delayed, bad, in->late.n);
	return st;
}

static int any_times(const struct timing_settings *s, const struct iso_events *e)
{
	for (int64_t j = 0; j < e->n; j++)
		if (e->v[j].dt_ps != 0) return ISO_OK;
	return iso_fail(ISO_EINPUT, "%s: all time differences are 0; timing needs events with time of flight",
	                s->events);
}

static int read_all(struct cmd *c, const struct timing_settings *s, struct timing_inputs *in)
{
	int st;

	if ((st = cmd_scanner(c, &in->scanner, s->scanner))) return st;
	if (iso_scanner_crystals(in->scanner) < 2)
		return iso_fail(ISO_EARG, "%s: timing needs a scanner with crystals", s->scanner);
	if (!source_is_shape(s->source)) {
		if ((st = record_read(&c->record, &in->image, s->source, ISO_NONNEGATIVE)) ||
		    (st = record_input(&c->record, s->source)))
			return st;
		if (!in->image.has_grid)
			return iso_fail(ISO_EINPUT, "%s: an image as source needs a grid: voxels in mm",
			                s->source);
	}
	if (s->norm && (st = read_norm(c, in, s->norm))) return st;
	if (s->mu && ((st = record_read_mu(&c->record, &in->mu, s->mu, NULL)) ||
	              (st = record_input(&c->record, s->mu))))
		return st;
	if ((st = read_events(c, &in->events, s, in, s->events, false)) || (st = any_times(s, &in->events)))
		return st;
	in->window_ps =
		1e3 * (s->coincidence_ns > 0 ? s->coincidence_ns : iso_scanner_coincidence_ns(in->scanner));
	return read_randoms(c, s, in);
}

static void forget(struct timing_inputs *in)
{
	iso_scanner_free(in->scanner);
	iso_events_free(&in->events);
	iso_events_free(&in->late);
	iso_array_free(&in->image);
	iso_array_free(&in->norm);
	iso_array_free(&in->mu);
	free(in->rate);
}

/* ---- telling ---- */

static void tell(struct cmd *c, const struct iso_timing_scan_info *i, const iso_times *t)
{
	const int64_t n = iso_times_crystals(t);
	const double *o = iso_times_offsets(t), *sd = iso_times_sd(t);
	double square = 0, most = 0;

	for (int64_t a = 0; a < n; a++) {
		square += o[a] * o[a] / (double)n;
		most = fmax(most, sd[a]);
	}
	term_say(&c->term, "resolution: %.1f +- %.1f ps FWHM; randoms: %.1f %%", iso_times_fwhm(t),
	         iso_times_fwhm_sd(t), 100 * i->fit.share);
	term_say(&c->term, "offsets: rms %.1f ps, errors up to %.2g ps, after %d steps", sqrt(square), most,
	         i->fit.steps);
	if (i->fit.parts > 1)
		record_warn(&c->record,
		            "the events join the crystals to %" PRId64
		            " parts: offsets between two parts are not known; a wider source joins them",
		            i->fit.parts);
	if (i->fit.unseen > 0)
		record_warn(&c->record, "%" PRId64 " crystals have no events: their offsets are 0",
		            i->fit.unseen);
	if (i->fit.share > MANY_RANDOMS)
		record_warn(&c->record, "randoms are %.0f %% of the events", 100 * i->fit.share);
	if ((double)i->beside > MANY_BESIDE * (double)(i->used + i->beside))
		record_warn(&c->record,
		            "%" PRId64 " of %" PRId64 " events lie on lines that miss the source and are "
		            "left out: is it where it was said?",
		            i->beside, i->used + i->beside);
}

static int write(struct cmd *c, const struct timing_settings *s, const struct iso_timing_scan_info *i,
                 const iso_times *t)
{
	int st = record_result(
		&c->record, "timing",
		record_pack("{s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:i, s:f}", "fwhm_ps", iso_times_fwhm(t),
	                    "fwhm_sd_ps", iso_times_fwhm_sd(t), "randoms_share", i->fit.share, "events",
	                    (json_int_t)i->used, "events_beside_the_source", (json_int_t)i->beside, "parts",
	                    (json_int_t)i->fit.parts, "crystals_without_events", (json_int_t)i->fit.unseen,
	                    "steps", i->fit.steps, "window_ps", i->window_ps));

	if (st || (st = cmd_text(c))) return st;
	return iso_times_write(s->out, t, c->text, c->force);
}

static int run(struct cmd *c, const struct timing_settings *s)
{
	struct timing_inputs in = { .rate = NULL };
	struct iso_timing_scan_info info = { .size = sizeof info };
	iso_times *times = NULL;
	int st;

	record_stage(&c->record, "read");
	if (!(st = read_all(c, s, &in))) {
		const struct iso_timing_scan scan = { .size = sizeof scan,
			                              .scanner = in.scanner,
			                              .events = &in.events,
			                              .source = in.image.v ? NULL : s->source,
			                              .image = in.image.v ? &in.image : NULL,
			                              .rate = in.rate,
			                              .randoms = (double)in.late.n,
			                              .eff = in.norm.v,
			                              .mu = in.mu.v ? &in.mu : NULL };
		const struct iso_timing_options o = { .size = sizeof o,
			                              .window_ps = in.window_ps,
			                              .share = s->share,
			                              .bin_ps = s->bin_ps > 0 ? s->bin_ps
			                                                      : in.events.tof_bin_ps,
			                              .per_crystal = s->per_crystal };
		struct iso_plan plan = cmd_plan_begin(c);

		iso_plan_add(&plan, "events", in.events.n, sizeof(struct iso_event) + 2 * sizeof(uint32_t),
		             false);
		iso_plan_add(&plan, "lines and weights of events", in.events.n, 44, false);
		iso_plan_add(&plan, "sums of crystals", iso_scanner_crystals(in.scanner),
		             (s->per_crystal ? 62 : 28) * (int64_t)sizeof(double), false);
		record_stage(&c->record, "fit");
		if (!(st = cmd_plan(c, &plan)) && !(st = iso_times_fit(&times, &info, c->ctx, &scan, &o))) {
			record_stage(&c->record, NULL);
			tell(c, &info, times);
			st = write(c, s, &info, times);
		}
	}
	iso_times_free(times);
	forget(&in);
	return st;
}

int main_timing(int argc, char **argv)
{
	struct timing_settings s = { .read.size = sizeof s.read };
	struct opt own[] = {
		CMD_ARGUMENT("scanner", s.scanner, OPT_READS, "SCANNER",
		             "scanner description, or a CASToR .hscan"),
		CMD_ARGUMENT("events", s.events, OPT_READS, "EVENTS", "list-mode events of the source"),
		CMD_OUTPUT(s.out, "offsets and resolution (.json)"),
		{ 0, "source", .text = &s.source, .file = OPT_MAY_READ, .value = "SHAPE|FILE",
		  .required = true,
		  .help = "where the activity is: " SOURCE_WORDS ", in mm and degrees, or an image" },
		{ 0, "delayed", .text = &s.delayed, .file = OPT_MAY_READ, .value = "FILE|none",
		  .absent = "one share of randoms, which is fitted",
		  .help = "events of the delayed window, from which the share of randoms of each pair "
		          "follows" },
		{ 0, "norm", .text = &s.norm, .file = OPT_READS, .with = "delayed", .value = "FILE",
		  .help = "efficiencies of crystals (.npy, or the .json of isotome norm)" },
		{ 0, "mu", .text = &s.mu, .file = OPT_READS, .with = "delayed", .value = "FILE",
		  .help = "attenuation map of the source, 1/mm" },
		{ 0, "randoms-share", .real = &s.share, .value = "F", .min = 1e-3, .max = .99,
		  .absent = "fitted, or by 'delayed'",
		  .help = "share of randoms of the events whose lines meet the source" },
		{ 0, "coincidence-ns", .real = &s.coincidence_ns, .unit = "ns", .value = "NS", .min = 1e-3,
		  .max = 1e6, .absent = "the scanner's",
		  .help = "two photons at most this far apart form a pair" },
		{ 0, "tof-bin-ps", .real = &s.bin_ps, .unit = "ps", .value = "PS", .min = 0, .max = 1e6,
		  .absent = "the events'", .help = "width of the bins of t1 - t2" },
		{ 0, "per-crystal", .flag = &s.per_crystal,
		  .help = "also fit the time resolution of each crystal; needs some thousand events a "
		          "crystal" },
		EVENTS_OPTS(s.read),
		{ 0 },
	};
	struct cmd c = { .cpu_only = true };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && cmd_given(&c, "delayed") && cmd_given(&c, "randoms-share"))
		st = iso_fail(ISO_EARG, "--delayed and --randoms-share exclude each other");
	if (!st) st = cmd_check(&c, s.out, iso_target_check);
	if (!st && !(st = cmd_begin(&c))) st = run(&c, &s);
	return cmd_end(&c, st);
}
