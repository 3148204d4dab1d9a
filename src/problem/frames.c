/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of a scan: their edges, and the factors that decay and dead time put on each. */
#include "problem.h"

#include "text/number_list.h"

#include <math.h>
#include <string.h>

struct opt_set frames_params(struct frames *f)
{
	const struct opt opts[] = {
		{ 0, "from-s", .real = &f->from_s, .goes = TAKES_COUNTS, .unit = "s", .value = "S", .min = 0,
		  .max = 1e9, .absent = "the first", .help = "use only events from this time on" },
		{ 0, "to-s", .real = &f->to_s, .goes = TAKES_COUNTS, .unit = "s", .value = "S", .min = 0,
		  .max = 1e9, .absent = "the last", .help = "use only events before this time" },
		{ 0, "frames", .text = &f->list, .goes = TAKES_COUNTS, .value = "T0,T1,T2,...",
		  .help = "edges of frames in s, in rising order. FIRST:STEP:LAST stands for many "
		          "edges, as in 0:10:600 or 0:5:60,120,180. The result is a 4-D image with "
		          "one image per frame, at most 100000" },
		{ 0, "isotope", .text = &f->isotope, .goes = TAKES_COUNTS, .value = "NAME",
		  .help = "correct for the decay of this isotope to the start of the scan: F-18, "
		          "C-11, O-15, N-13, Ga-68, Cu-64, Zr-89, Rb-82 or I-124" },
		{ 0, "half-life-s", .real = &f->half_life_option_s, .goes = TAKES_COUNTS, .unit = "s",
		  .value = "S", .min = 1e-3, .max = 1e12, .absent = "the isotope's",
		  .help = "correct for decay with this half-life" },
		{ 0, "live-share", .text = &f->live_list, .goes = TAKES_COUNTS, .value = "F[,F...]",
		  .absent = "1",
		  .help = "live share of the time, above 0 to 1, one for all frames or one each" },
		{ 0, "rates", .text = &f->rates_file, .file = OPT_READS, .goes = TAKES_COUNTS,
		  .value = "FILE",
		  .help = "dead time of the scanner, by 'isotome rates': the live share of each frame "
		          "follows "
		          "from its own events, in place of 'live-share'" },
		{ 0 },
	};

	_Static_assert(sizeof opts <= sizeof f->opts, "room for the options");
	memcpy(f->opts, opts, sizeof opts);
	return (struct opt_set){ "Times, in s since the start of the scan", f->opts };
}

static int read_edges(struct frames *f)
{
	int n, st = number_list_read(&f->edge_s, &n, 2, FRAMES_MOST + 1, f->list);
	bool rising;

	if (st) return st;
	f->n = f->gating.n > 0 ? f->gating.n : 1;
	f->series = f->gating.n > 0;
	if (!f->list) {
		f->edge_s[0] = f->from_s;
		f->edge_s[1] = f->to_s;
		return ISO_OK;
	}
	rising = n >= 2 && f->edge_s[0] >= 0;
	for (int i = 1; i < n; i++) rising = rising && f->edge_s[i] > f->edge_s[i - 1];
	if (!rising)
		return iso_fail(ISO_EARG,
		                "'frames' is '%.200s', must be 2 to %d rising times in s, from 0 on; "
		                "FIRST:STEP:LAST, a whole number of steps, stands for many",
		                f->list, FRAMES_MOST + 1);
	f->n = n - 1;
	f->series = true;
	return ISO_OK;
}

static int read_live(struct frames *f)
{
	int n, st = number_list_read(&f->live, &n, f->n, FRAMES_MOST, f->live_list);

	if (st) return st;
	if (!f->live_list) f->live[0] = n = 1;
	if (n != 1 && n != f->n)
		return iso_fail(ISO_EARG,
		                "'live-share' is '%.200s', must be one number, or one for each of %d %ss",
		                f->live_list, f->n, frames_word(f));
	for (int k = 0; k < f->n; k++) {
		f->live[k] = f->live[n == 1 ? 0 : k];
		if (!(f->live[k] > 0 && f->live[k] <= 1))
			return iso_fail(ISO_EARG, "'live-share' is %g, must be above 0, at most 1",
			                f->live[k]);
	}
	return ISO_OK;
}

int frames_check(const iso_problem *problem, struct frames *f)
{
	bool window = problem_given(problem, "from-s") || problem_given(problem, "to-s");
	int st;

	frames_free(f); /* of an earlier check */
	f->series = false;
	if (f->list && window) return iso_fail(ISO_EARG, "'frames' and 'from-s', 'to-s' exclude each other");
	if (f->isotope && f->half_life_option_s > 0)
		return iso_fail(ISO_EARG, "'isotope' and 'half-life-s' exclude each other");
	if (!(f->to_s > f->from_s))
		return iso_fail(ISO_EARG, "'to-s' is %g, must be above 'from-s', %g", f->to_s, f->from_s);
	f->all = !f->list && !window;
	f->half_life_s = f->half_life_option_s;
	if (f->isotope && (st = iso_half_life(&f->half_life_s, f->isotope))) return st;
	if (problem->m->gating && (st = problem->m->gating(problem, &f->gating))) return st;
	if (f->gating.n > 0 && f->list) return iso_fail(ISO_EARG, "'frames' and 'gates' exclude each other");
	if (f->gating.n > 0 && f->rates_file)
		return iso_fail(ISO_EARG, "'rates' and 'gates' exclude each other: give 'live-share'");
	if (f->rates_file && f->live_list)
		return iso_fail(ISO_EARG, "'rates' and 'live-share' exclude each other");
	if ((st = read_edges(f))) return st;
	return read_live(f);
}

void frames_free(struct frames *f)
{
	free(f->edge_s);
	free(f->live);
	f->edge_s = f->live = NULL;
	gating_free(&f->gating);
}

const char *frames_word(const struct frames *f)
{
	return f->gating.n > 0 ? "gate" : "frame";
}

/* Its place among the edges. */
static int edge_of(const struct frames *f, int k)
{
	return f->gating.n > 0 ? 0 : k;
}

double frames_begin_s(const struct frames *f, int k)
{
	return f->edge_s[edge_of(f, k)];
}

double frames_end_s(const struct frames *f, int k)
{
	double begin = frames_begin_s(f, k), end = f->edge_s[edge_of(f, k) + 1];

	return f->duration_s > begin ? fmin(end, f->duration_s) : end;
}

int frames_read_rates(iso_problem *problem, struct frames *f)
{
	int st;

	if (!f->rates_file || f->dead_time.size) return ISO_OK;
	f->dead_time.size = sizeof f->dead_time;
	st = iso_rates_read(&f->dead_time, f->rates_file);
	return st ? st : record_input(problem->record, f->rates_file);
}

/* From the number of events that were counted in frame k, all kinds together. */
int frames_find_live(iso_problem *problem, struct frames *f, int k, int64_t events)
{
	const double from = isinf(f->edge_s[k]) ? 0 : f->edge_s[k], to = frames_end_s(f, k);
	json_t *list;

	if (!(to > from) || isinf(to))
		return iso_fail(ISO_EARG, "'rates' needs the duration of the scan: give 'duration-s'");
	if (problem->found.counted)
		return iso_fail(
			ISO_EINPUT,
			"'rates' needs list-mode events: counts that have weights are not all that was "
			"counted");
	const struct iso_rates *r = &f->dead_time;
	int st = iso_rates_live(&f->live[k], r->model, r->fit[r->model].tau_s, f->half_life_s, from, to,
	                        (double)events / (to - from));

	if (st) return st;
	record_tell(problem->record, ISO_NEWS, "frame %d: %.4g events/s, live share %.4f", k + 1,
	            (double)events / (to - from), f->live[k]);
	if (!(list = record_reals(k + 1, f->live))) return iso_fail_memory("live shares", k);
	return record_result(problem->record, "live_shares", list);
}

/* Edges rise: at most one frame ends with the scan, and all behind it begin after its end. */
static void warn_of_end(struct record *record, const struct frames *f)
{
	int k = 0, behind;

	if (f->gating.n > 0) return;
	while (k < f->n && (f->edge_s[k + 1] <= f->duration_s || isinf(f->edge_s[k + 1]))) k++;
	if (k == f->n || !(f->duration_s > 0)) return;
	behind = k + (f->edge_s[k] < f->duration_s);
	bool several = behind + 1 < f->n;

	if (behind > k)
		record_warn(record,
		            "frame %d, from %g to %g s, ends with the scan, which took %g s; 'duration-s' "
		            "says otherwise",
		            k + 1, f->edge_s[k], f->edge_s[k + 1], f->duration_s);
	if (behind < f->n)
		record_warn(record,
		            "%s %d%s, from %g to %g s, begin%s behind the scan, which took %g s; "
		            "'duration-s' says otherwise",
		            several ? "frames" : "frame", behind + 1, several ? " and after" : "",
		            f->edge_s[behind], f->edge_s[f->n], several ? "" : "s", f->duration_s);
}

/* A window without an end ends with the scan. */
int frames_settle(iso_problem *problem, struct frames *f, double duration_s)
{
	int last = edge_of(f, f->n - 1) + 1;

	f->duration_s = duration_s;
	if (isinf(f->edge_s[last]) && duration_s > f->edge_s[0]) f->edge_s[last] = duration_s;
	if (f->gating.table && isinf(f->edge_s[last]))
		return iso_fail(ISO_EARG, "'gates' needs the duration of the scan: give 'duration-s'");
	if (f->half_life_s > 0 && isinf(f->edge_s[last]))
		return iso_fail(ISO_EARG, "the decay can't be corrected: the data do not say how long the "
		                          "scan took; give 'duration-s'");
	warn_of_end(problem->record, f);
	return ISO_OK;
}

/* Of what the whole scan counts, and decays with this half-life, the part from a to b. */
static double share(const struct frames *f, double half_life_s, double a, double b)
{
	double end = f->duration_s;

	if (f->all) return 1;
	if (!(end > a) || isinf(b)) return NAN;
	return (b - a) * iso_decay_mean(half_life_s, a, b) / (end * iso_decay_mean(half_life_s, 0, end));
}

/* Scatter decays with the activity, randoms with its square: pile_up is the mean of exp(-2kt) over the
   scan, over the square of the mean of exp(-kt). */
static struct model_frame of_time(const struct frames *f, int k)
{
	double a = frames_begin_s(f, k), b = frames_end_s(f, k);
	double mean = iso_decay_mean(f->half_life_s, 0, f->duration_s);

	return (struct model_frame){
		.all = f->all,
		.from_s = a,
		.to_s = f->edge_s[edge_of(f, k) + 1],
		.number = k + 1,
		.half_life_s = f->half_life_s,
		.pile_up = iso_decay_mean(f->half_life_s / 2, 0, f->duration_s) / (mean * mean),
		.factor = f->live[k] * iso_decay_mean(f->half_life_s, a, b),
		.share = share(f, f->half_life_s, a, b),
		.share_randoms = share(f, f->half_life_s / 2, a, b),
	};
}

/* Of a part of the list, expected counts are the part's: those of the image, and those that are added. */
static struct model_frame of_part(struct model_frame r, double part)
{
	if (part > 0) {
		r.factor *= part;
		r.share *= part;
	}
	return r;
}

/* All gates are over the length of their frame, so that their images are on one scale. */
struct model_frame frames_get(const struct frames *f, int k)
{
	struct model_frame r = of_time(f, k);
	const struct gating_frame times = { r.from_s, frames_end_s(f, k), f->half_life_s };

	if (f->gating.n == 0) return of_part(r, f->part);
	struct gate_part part = gating_part(&f->gating, k, &times);

	r.all = false;
	r.gate = k + 1;
	r.factor = f->live[k] * part.weight;
	r.share *= part.share;
	r.share_randoms *= part.randoms;
	return of_part(r, f->part);
}
