/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome rates: dead time of a scanner from a decaying source. */
#include "cmd.h"
#include "isotome/rates.h"

#include "core/size.h"
#include "io/format.h"
#include "motion/columns.h"
#include "problem/inputs.h"

#include <math.h>
#include <string.h>

struct rates_settings {
	const char *in, *delayed, *isotope, *frames, *out;
	double half_life_s;
	bool background;
};

/* What frames have, and the name of the column. */
enum { START, LENGTH, COUNTS, SINGLES, RANDOMS, COLUMNS_KNOWN };
static const char *const names[COLUMNS_KNOWN] = { "start_s", "length_s", "counts", "singles", "randoms" };

struct frames_table {
	int64_t n;
	double *v[COLUMNS_KNOWN]; /* NULL: not in the file */
};

static const struct opt_usage usage = {
	"rates",
	"Find the dead time of a scanner from a source that decays. SERIES is a table with a line a frame: "
	"its "
	"start and length in s, the counts of all coincidences, and if they are known the delayed "
	"coincidences "
	"(randoms) and the singles. Or it is a list of events with their times, cut by --frames. Isotome "
	"fits "
	"both models, non-paralysable and paralysable, and takes the better one. 'isotome recon --rates "
	"FILE' "
	"then finds the live share of each frame.",
	"  isotome rates series.csv --half-life-s 6586.2 -o ring.rates.json\n"
	"  isotome rates scan.Cdh --delayed late.Cdh --frames 0:600:36000 --isotope F-18 -o ring.rates.json\n"
	"  isotome recon scan.Cdh --scanner ring.yaml --rates ring.rates.json --isotope F-18 -o image.nii\n",
};

static void forget(struct frames_table *t)
{
	for (int k = 0; k < COLUMNS_KNOWN; k++) free(t->v[k]);
}

static int room_for(struct frames_table *t, int which)
{
	if (!(t->v[which] = size_alloc(t->n, sizeof **t->v)))
		return iso_fail_memory("frames", t->n * (int64_t)sizeof **t->v);
	return ISO_OK;
}

/* ---- a table ---- */

static int take_column(struct frames_table *t, const struct columns *c, int of, const char *path)
{
	int which = 0, st;

	while (which < COLUMNS_KNOWN && strcmp(c->name[of], names[which]) != 0) which++;
	if (which == COLUMNS_KNOWN || t->v[which])
		return iso_fail(
			ISO_EINPUT,
			"%s: column '%.40s' %s, expected start_s, length_s, counts, and if they are known "
			"singles and randoms",
			path, c->name[of], which == COLUMNS_KNOWN ? "is not known" : "comes twice");
	if ((st = room_for(t, which))) return st;
	for (int64_t j = 0; j < c->n; j++) t->v[which][j] = c->v[j * c->n_columns + of];
	return ISO_OK;
}

static int read_table(struct frames_table *t, const char *path)
{
	struct columns c = { 0 };
	int st = columns_read(&c, path);

	if (!st && !c.name[0][0])
		st = iso_fail(ISO_EINPUT, "%s: the first line must name the columns: start_s,length_s,counts",
		              path);
	t->n = c.n;
	for (int k = 0; k < c.n_columns && !st; k++) st = take_column(t, &c, k, path);
	for (int k = START; k <= COUNTS && !st; k++)
		if (!t->v[k]) st = iso_fail(ISO_EINPUT, "%s: column '%s' is missing", path, names[k]);
	columns_free(&c);
	return st;
}

/* ---- events ---- */

/* FIRST:STEP:LAST, or times between commas: n + 1 edges. */
static int read_edges(struct frames_table *t, const char *text)
{
	double part[3], *edge = NULL;
	const char *colon = strchr(text, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
	int st;

	if (second && iso_number(part, text, (size_t)(colon - text)) &&
	    iso_number(part + 1, colon + 1, (size_t)(second - colon - 1)) &&
	    iso_number(part + 2, second + 1, strlen(second + 1)))
		t->n = llround((part[2] - part[0]) / part[1]);
	else
		second = NULL;
	if (!second || t->n < 1 || t->n > 100000 ||
	    fabs((part[2] - part[0]) / part[1] - (double)t->n) > 1e-6 || !(part[0] >= 0))
		return iso_fail(
			ISO_EARG,
			"--frames is '%.100s', expected FIRST:STEP:LAST in s, a whole number of steps", text);
	if ((st = room_for(t, START)) || (st = room_for(t, LENGTH)) || (st = room_for(t, COUNTS))) return st;
	edge = t->v[START];
	for (int64_t j = 0; j < t->n; j++) {
		edge[j] = part[0] + (double)j * part[1];
		t->v[LENGTH][j] = part[1];
	}
	return ISO_OK;
}

static void count_block(double *count, const struct frames_table *t, const struct iso_events *e)
{
	const double from = t->v[START][0], step = t->v[LENGTH][0];

	for (int64_t i = 0; i < e->n; i++) {
		const double at = floor((1e-3 * e->time_ms[i] - from) / step + 1e-9);

		if (at >= 0 && at < (double)t->n) count[(int64_t)at]++;
	}
}

static int count_events(struct cmd *c, double *count, const struct frames_table *t, const char *path,
                        bool delayed)
{
	enum { PIECE = 1 << 18 };
	const struct iso_events_options o = { .size = sizeof o, .ctx = c->ctx, .delayeds = delayed };
	struct iso_events block = { 0 };
	iso_event_file *f = NULL;
	int st = iso_event_file_open(&f, path, &o);

	if (!st && (!iso_event_file_info(f)->has_time || iso_event_file_info(f)->has_count))
		st = iso_fail(ISO_EINPUT,
		              "%s: holds no times of its events, which frames need; CASToR list mode "
		              "(.Cdh), PETSIRD and .npy records have them",
		              path);
	if (!st) st = iso_event_file_block(&block, f, PIECE);
	for (int64_t i = 0; !st && i < iso_event_file_info(f)->n; i += PIECE) {
		const int64_t left = iso_event_file_info(f)->n - i;

		if (!(st = iso_event_file_read(&block, f, i, left < PIECE ? left : PIECE)))
			count_block(count, t, &block);
	}
	iso_events_free(&block);
	iso_event_file_close(f);
	return st ? st : record_input(&c->record, path);
}

static int read_events(struct cmd *c, struct frames_table *t, const struct rates_settings *s)
{
	int st;

	if (!s->frames) return iso_fail(ISO_EARG, "%s: events need --frames, such as 0:600:36000", s->in);
	if ((st = read_edges(t, s->frames)) || (st = count_events(c, t->v[COUNTS], t, s->in, false)))
		return st;
	if (!s->delayed) return ISO_OK;
	return (st = room_for(t, RANDOMS)) ? st : count_events(c, t->v[RANDOMS], t, s->delayed, true);
}

/* ---- the run ---- */

static void say(struct cmd *c, const char *what, const struct iso_rates *r)
{
	static const char *const models[] = { "non-paralysable", "paralysable" };

	for (int m = 0; m < ISO_DEAD_TIMES; m++)
		term_say(&c->term, "%s, %s: dead time %.5g +- %.2g us, %s %.4g%s", what, models[m],
		         1e6 * r->fit[m].tau_s, 1e6 * r->fit[m].tau_sd_s,
		         r->with_randoms ? "chi-square" : "deviance", r->fit[m].deviance,
		         m == (int)r->model ? " (taken)" : "");
}

static int fit(struct cmd *c, const struct rates_settings *s, const struct frames_table *t)
{
	struct iso_rates_series series = { .size = sizeof series,
		                           .n = t->n,
		                           .start_s = t->v[START],
		                           .length_s = t->v[LENGTH],
		                           .counts = t->v[COUNTS],
		                           .randoms = t->v[RANDOMS],
		                           .half_life_s = s->half_life_s,
		                           .background = s->background };
	struct iso_rates prompts = { .size = sizeof prompts }, singles = { .size = sizeof singles };
	int st;

	if (!t->v[RANDOMS])
		record_warn(&c->record,
		            "%s: without randoms (delayed coincidences) of the frames, randoms bias the "
		            "dead time",
		            s->in);
	if ((st = iso_rates_fit(&prompts, &series))) return st;
	say(c, "coincidences", &prompts);
	if (t->v[SINGLES]) {
		struct iso_rates_series of = series;

		of.counts = t->v[SINGLES];
		of.randoms = NULL;
		if ((st = iso_rates_fit(&singles, &of))) return st;
		say(c, "singles", &singles);
	}
	if ((st = record_result(&c->record, "frames", json_integer(t->n))) || (st = cmd_text(c))) return st;
	return iso_rates_write(s->out, &prompts, t->v[SINGLES] ? &singles : NULL, &series, c->text, c->force);
}

static int run(struct cmd *c, struct rates_settings *s)
{
	struct frames_table t = { .n = 0 };
	int st = s->isotope ? iso_half_life(&s->half_life_s, s->isotope) : ISO_OK;

	record_stage(&c->record, "read");
	if (!st && !(s->half_life_s > 0))
		st = iso_fail(ISO_EARG,
		              "rates needs the half-life of the source: --half-life-s or --isotope");
	if (!st && cmd_is_events(s->in) && !iso_has_suffix(s->in, ".csv")) {
		st = read_events(c, &t, s);
	} else if (!st && (s->frames || s->delayed)) {
		st = iso_fail(ISO_EARG, "--%s goes with events, and %s is a table",
		              s->frames ? "frames" : "delayed", s->in);
	} else if (!st && !(st = read_table(&t, s->in))) {
		st = record_input(&c->record, s->in);
	}
	record_stage(&c->record, NULL);
	if (!st) st = fit(c, s, &t);
	forget(&t);
	return st;
}

int main_rates(int argc, char **argv)
{
	struct rates_settings s = { .in = NULL };
	struct opt own[] = {
		CMD_ARGUMENT("series", s.in, OPT_READS, "SERIES",
		             "table with the columns start_s, length_s, counts, and singles and randoms if "
		             "they are "
		             "known (.csv); or events with times"),
		CMD_OUTPUT(s.out, "dead time (.json)"),
		{ 0, "half-life-s", .real = &s.half_life_s, .unit = "s", .value = "S", .min = 1e-3,
		  .max = 1e12, .absent = "the isotope's", .help = "half-life of the source" },
		{ 0, "isotope", .text = &s.isotope, .value = "NAME",
		  .help = "isotope of the source: F-18, C-11, ..." },
		{ 0, "frames", .text = &s.frames, .value = "FIRST:STEP:LAST",
		  .help = "frames of equal length, s, for a file of events" },
		{ 0, "delayed", .text = &s.delayed, .file = OPT_READS, .value = "FILE",
		  .help = "events of the delayed window, for a file of events" },
		{ 0, "background", .flag = &s.background,
		  .help = "also fit a rate that does not decay, such as that of lutetium in the crystals" },
		{ 0 },
	};
	struct cmd c = { .cpu_only = true };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && s.isotope && s.half_life_s > 0)
		st = iso_fail(ISO_EARG, "--isotope and --half-life-s: give one of them");
	if (!st) st = cmd_check(&c, s.out, iso_target_check);
	if (!st && !(st = cmd_begin(&c))) {
		struct iso_plan plan = cmd_plan_begin(&c);

		st = cmd_plan(&c, &plan);
		if (!st) st = run(&c, &s);
	}
	return cmd_end(&c, st);
}
