/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of a scan: their edges, and the factors that decay and dead time put on each. */
#include "frames.h"

#include "core/number.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

struct opt_set frames_options(struct frames *f)
{
	const struct opt opts[] = {
		{ 0, "from-s", .real = &f->from_s, .value = "S", .min = 0, .max = 1e9,
		  .absent = "the first", .help = "only events from this time on" },
		{ 0, "to-s", .real = &f->to_s, .value = "S", .min = 0, .max = 1e9,
		  .absent = "the last", .help = "only events before this time" },
		{ 0, "frames", .text = &f->list, .value = "T0,T1,T2,...",
		  .help = "edges of frames in s, at most 64 of these: a 4-D image with one image each" },
		{ 0, "isotope", .text = &f->isotope, .value = "NAME",
		  .help = "correct for decay to the start of the scan: F-18, C-11, O-15, N-13, Ga-68, "
			  "Cu-64, Zr-89, Rb-82 or I-124" },
		{ 0, "half-life-s", .real = &f->half_life_option_s, .value = "S", .min = 1e-3, .max = 1e12,
		  .absent = "the isotope's", .help = "the same for any half-life" },
		{ 0, "live", .text = &f->live_list, .value = "F[,F...]", .absent = "1",
		  .help = "live share of the time, above 0 to 1: one for all frames, or one each" },
		{ 0 },
	};

	_Static_assert(sizeof opts <= sizeof f->opts, "room for the options");
	memcpy(f->opts, opts, sizeof opts);
	return (struct opt_set){ "Times, in s since the start of the scan", f->opts };
}

static int read_edges(struct frames *f)
{
	int n = iso_numbers(f->edge_s, FRAMES_MOST + 1, f->list);
	bool rising = n >= 2 && f->edge_s[0] >= 0;

	for (int i = 1; i < n; i++)
		rising = rising && f->edge_s[i] > f->edge_s[i - 1];
	if (!rising)
		return iso_fail(ISO_EARG, "--frames is '%.200s', must be 2 to %d rising times in s, "
				"from 0 on", f->list, FRAMES_MOST + 1);
	f->n = n - 1;
	f->series = true;
	return ISO_OK;
}

static int read_live(struct frames *f)
{
	int n = f->live_list ? iso_numbers(f->live, FRAMES_MOST, f->live_list) : 1;

	if (!f->live_list)
		f->live[0] = 1;
	if (n != 1 && n != f->n)
		return iso_fail(ISO_EARG, "--live is '%.200s', must be one number, or one for each of %d "
				"frames", f->live_list, f->n);
	for (int k = 0; k < f->n; k++) {
		f->live[k] = f->live[n == 1 ? 0 : k];
		if (!(f->live[k] > 0 && f->live[k] <= 1))
			return iso_fail(ISO_EARG, "--live is %g, must be above 0, at most 1", f->live[k]);
	}
	return ISO_OK;
}

int frames_check(struct frames *f, const struct opt_set *sets)
{
	bool window = opt_find(sets, "from-s")->given || opt_find(sets, "to-s")->given;
	int st;

	if (f->list && window)
		return iso_fail(ISO_EARG, "--frames and --from-s, --to-s exclude each other");
	if (f->isotope && f->half_life_option_s > 0)
		return iso_fail(ISO_EARG, "--isotope and --half-life-s exclude each other");
	if (!(f->to_s > f->from_s))
		return iso_fail(ISO_EARG, "--to-s is %g, must be above --from-s, %g", f->to_s, f->from_s);
	f->n = 1;
	f->all = !f->list && !window;
	f->edge_s[0] = f->from_s;
	f->edge_s[1] = f->to_s;
	f->half_life_s = f->half_life_option_s;
	if (f->isotope && (st = iso_half_life(&f->half_life_s, f->isotope)))
		return st;
	if (f->list && (st = read_edges(f)))
		return st;
	return read_live(f);
}

/* A window without an end ends with the scan. */
int frames_settle(struct frames *f, double duration_s)
{
	f->duration_s = duration_s;
	if (isinf(f->edge_s[f->n]) && duration_s > f->edge_s[0])
		f->edge_s[f->n] = duration_s;
	if (f->half_life_s > 0 && isinf(f->edge_s[f->n]))
		return iso_fail(ISO_EARG, "the decay can't be corrected: the data do not say how long the "
				"scan took; give --duration-s");
	return ISO_OK;
}

double frames_end_s(const struct frames *f, int k)
{
	double end = f->edge_s[k + 1];

	return f->duration_s > f->edge_s[k] ? fmin(end, f->duration_s) : end;
}

void frames_warn(const struct frames *f, struct cmd *c)
{
	for (int k = 0; k < f->n && f->duration_s > 0; k++)
		if (f->edge_s[k + 1] > f->duration_s && isfinite(f->edge_s[k + 1]))
			record_warn(&c->record, "frame %d, from %g to %g s, %s the scan, which took %g s; "
				    "--duration-s says otherwise", k + 1, f->edge_s[k], f->edge_s[k + 1],
				    f->edge_s[k] < f->duration_s ? "ends with" : "begins behind",
				    f->duration_s);
}

/* Of what the whole scan counts, and decays with this half-life, the part from a to b. */
static double share(const struct frames *f, double half_life_s, double a, double b)
{
	double end = f->duration_s;

	if (f->all)
		return 1;
	if (!(end > a) || isinf(b))
		return NAN;
	return (b - a) * iso_decay_mean(half_life_s, a, b) /
	       (end * iso_decay_mean(half_life_s, 0, end));
}

/* mean of exp(-2kt) / (mean of exp(-kt))^2 over the scan. */
static double pile_up(const struct frames *f)
{
	double mean = iso_decay_mean(f->half_life_s, 0, f->duration_s);

	return iso_decay_mean(f->half_life_s / 2, 0, f->duration_s) / (mean * mean);
}

/* Scatter decays with the activity, randoms with its square. */
struct model_frame frames_get(const struct frames *f, int k)
{
	double a = f->edge_s[k], b = frames_end_s(f, k);

	return (struct model_frame){
		.all = f->all, .from_s = a, .to_s = f->edge_s[k + 1], .pile_up = pile_up(f),
		.factor = f->live[k] * iso_decay_mean(f->half_life_s, a, b),
		.share = share(f, f->half_life_s, a, b),
		.share_randoms = share(f, f->half_life_s / 2, a, b),
	};
}
