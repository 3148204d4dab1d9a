/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome gate: which gate of a breathing or a heartbeat holds when. */
#include "cmd.h"

#include "base/number.h"
#include "io/format.h"

#include <string.h>

static const char *const data_words[] = { "centroid", "pca", NULL }; /* of enum iso_signal_kind */

struct gate_settings {
	const char *in, *out, *from_data, *levels, *signal;
	int64_t phase, amplitude;
	double frame_s, band[2];
	struct iso_events_options read;
	const char *scanner;
};

static const struct opt_usage usage = {
	"gate",
	"Make a table of gates: which state of a breathing or a heartbeat holds when. SIGNAL is the trace of "
	"a "
	"belt (columns time in s, value), or the triggers of an ECG (one time a line). With --from-data it "
	"is a "
	"list of events with times, and Isotome finds the signal in them. Gates by amplitude have equal "
	"time. "
	"Times outside of the signal, and of cycles that are much shorter or longer than the others, belong "
	"to no "
	"gate.",
	"  isotome gate belt.csv --amplitude 8 -o gates.csv\n"
	"  isotome gate ecg.txt --phase 8 -o gates.csv\n"
	"  isotome gate belt.csv --levels=-0.5,0,0.5 -o gates.csv\n"
	"  isotome gate scan.Cdh --from-data centroid --amplitude 6 -o gates.csv --signal trace.csv\n",
};

static int by_phase(iso_gates **g, const struct gate_settings *s, const struct iso_trace *t)
{
	double *found = NULL;
	int64_t n = 0;
	int st = t->value ? iso_trace_triggers(&found, &n, t) : ISO_OK;

	if (!st && t->value && n < 2)
		st = iso_fail(ISO_EINPUT, "%s: the trace has %" PRId64 " triggers, at least 2 are needed",
		              s->in, n);
	if (!st) st = iso_gates_by_phase(g, t->value ? found : t->time_s, t->value ? n : t->n, (int)s->phase);
	free(found);
	return st;
}

static int by_amplitude(iso_gates **g, const struct gate_settings *s, const struct iso_trace *t)
{
	double level[ISO_GATES_MOST];
	int n = s->levels ? iso_numbers(level, ISO_GATES_MOST - 1, s->levels) : (int)s->amplitude - 1,
	    st = ISO_OK;

	if (s->levels && n == 0)
		return iso_fail(ISO_EARG, "--levels is '%.60s', expected numbers separated by commas",
		                s->levels);
	if (!t->value)
		return iso_fail(ISO_EINPUT, "%s: has times alone, a trace has times and values", s->in);
	if (!s->levels) st = iso_trace_levels(level, (int)s->amplitude, t);
	return st ? st : iso_gates_by_amplitude(g, t, level, n);
}

static int trace_of_data(struct cmd *c, const struct gate_settings *s, struct iso_trace *t)
{
	const struct iso_signal how = { .size = sizeof how,
		                        .kind = (enum iso_signal_kind)opt_place(data_words, s->from_data),
		                        .frame_s = s->frame_s,
		                        .band = { s->band[0], s->band[1] } };
	struct iso_events_options read = s->read;
	struct iso_events e = { 0 };
	iso_scanner *scanner = NULL;
	iso_ctx *ctx = NULL;
	int st = s->scanner ? cmd_scanner(c, &scanner, s->scanner) : ISO_OK;

	read.scanner = scanner;
	if (st || (st = iso_ctx_create(&ctx, "cpu", 0))) goto done;
	read.ctx = ctx;
	if (!(st = iso_events_read(&e, s->in, &read))) st = iso_trace_of_events(t, ctx, &e, &how);
done:
	iso_events_free(&e);
	iso_scanner_free(scanner);
	iso_ctx_free(ctx);
	return st;
}

static void tell(struct cmd *c, const iso_gates *g)
{
	const int n = iso_gates_count(g);
	double least = 0, most = 0;

	for (int i = 0; i < n; i++) {
		const double time = iso_gates_time(g, i);

		least = i == 0 || time < least ? time : least;
		most = time > most ? time : most;
	}
	term_say(&c->term, "%d gates in %" PRId64 " rows, of %.4g to %.4g s each", n, iso_gates_rows(g),
	         least, most);
}

static int run(struct cmd *c, const struct gate_settings *s)
{
	struct iso_trace t = { 0 };
	iso_gates *g = NULL;
	int st = s->from_data ? trace_of_data(c, s, &t) : iso_trace_read(&t, s->in);

	if (st || (st = s->phase > 0 ? by_phase(&g, s, &t) : by_amplitude(&g, s, &t)) ||
	    (s->signal && (st = iso_trace_write(s->signal, &t, c->force))) ||
	    (st = iso_gates_write(s->out, g, c->force)))
		goto done;
	tell(c, g);
	st = record_result(&c->record, "gates", json_integer(iso_gates_count(g)));
done:
	iso_gates_free(g);
	iso_trace_free(&t);
	return st;
}

static int check(const struct cmd *c, const struct gate_settings *s)
{
	static const char *const of_data[] = { "frame-s", "band", "scanner", "signal", NULL };
	const char *idle = s->from_data ? NULL : cmd_given_of(c, of_data);
	int st;

	if ((s->phase > 0) + (s->amplitude > 0) + (s->levels != NULL) != 1)
		return iso_fail(ISO_EARG,
		                "one of --phase, --amplitude and --levels must say how the gates are made");
	if (idle) return iso_fail(ISO_EARG, "--%s goes with --from-data", idle);
	if ((st = iso_target_check(s->out, c->force))) return st;
	return s->signal ? iso_target_check(s->signal, c->force) : ISO_OK;
}

int main_gate(int argc, char **argv)
{
	struct gate_settings s = { .frame_s = .5, .band = { .1, .5 }, .read.size = sizeof s.read };
	struct cmd c = { 0 };
	struct opt own[] = {
		CMD_ARGUMENT("signal-file", s.in, OPT_READS, "SIGNAL",
		             "trace or triggers (.csv, .txt, .npy); with --from-data a file of events"),
		CMD_OUTPUT(s.out, "table of gates (.csv): from_s, to_s, gate"),
		{ 0, "phase", .integer = &s.phase, .value = "N", .min = 1, .max = ISO_GATES_MOST,
		  .absent = "not by phase",
		  .help = "N gates of equal length between triggers. Of a trace a trigger is where it rises "
		          "through "
		          "the middle of its range" },
		{ 0, "amplitude", .integer = &s.amplitude, .value = "N", .min = 1, .max = ISO_GATES_MOST,
		  .absent = "not by amplitude",
		  .help = "N gates by the height of the signal, of equal time" },
		{ 0, "levels", .text = &s.levels, .value = "A,B,...", .absent = "not by levels",
		  .help = "gates by the height of the signal, between these levels" },
		{ 0, "from-data", .text = &s.from_data, .words = data_words, .value = "WAY",
		  .help = "find the signal in the events: by the mean of their places (centroid), or by the "
		          "component "
		          "of all their places that varies most (pca)" },
		{ 0, "frame-s", .real = &s.frame_s, .value = "S", .min = 1e-3, .max = 10,
		  .help = "with --from-data: length of a frame, s" },
		{ 0, "band", .real = s.band, .count = 2, .value = "LOW,HIGH", .min = 0, .max = 1000,
		  .help = "with --from-data: frequencies of what moves, Hz" },
		{ 0, "scanner", .text = &s.scanner, .file = OPT_READS, .value = "FILE",
		  .help = "with --from-data: where the crystals are, for events of crystal numbers" },
		{ 0, "signal", .text = &s.signal, .file = OPT_WRITES, .value = "FILE",
		  .help = "with --from-data: write the signal, with its times, to this file (.csv)" },
		{ 0, "force", .flag = &c.force, .transient = true, .help = "replace an existing file" },
		{ 'q', "quiet", .flag = &c.quiet, .transient = true, .help = "say nothing on stderr" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, 0), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && !(st = check(&c, &s))) st = run(&c, &s);
	return cmd_end(&c, st);
}
