/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ubp as a problem: filtered back-projection of traces, filters before it, and a
   scan over speeds of sound for users who do not know theirs. */
#include "sound.h"

#include "core/room.h"
#include "core/size.h"
#include "model/ubp/band.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FLAT .02     /* of the greatest sharpness: a curve that rises less has no peak to speak of */
#define CUTOFF_MHZ 5 /* of the paper, where the scanner has an impulse response */

struct ubp {
	struct sound sound; /* first: what the optoacoustic models share */
	/* options */
	const char *weights, *without;
	double cutoff_mhz, band_mhz[2], speeds[3], tissue_speeds[3];
	bool scan, tissue_scan;
	/* the band of the first image's traces, where nobody says one: further images get the same */
	struct iso_band found;
	bool has_found;
	/* what they name */
	struct iso_transducers t; /* the scanner's, with the speed of the options; borrows */
	struct iso_ubp model;
};

static const char *const weights[] = { "sphere", "solid-angle", NULL }; /* as the enum */

static void params(struct opt *table, void *self)
{
	struct ubp *ubp = self;
	const struct opt own[] = {
		{ 0, "data", .text = &ubp->sound.data, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE", .help = SOUND_DATA },
		{ 0, "weights", .text = &ubp->weights, .words = weights, .value = "NAME",
		  .help = "sphere: exact for transducers on a sphere round the object; solid-angle: for any "
		          "surface, each transducer weighted by the solid angle of its patch, whose normal "
		          "must face the voxel. Without areas all weights are equal" },
		{ 0, "hann-mhz", .real = &ubp->cutoff_mhz, .unit = "MHz", .value = "F", .min = 0, .max = 1e6,
		  .absent = "5 if the scanner has an impulse response, otherwise none",
		  .help = "window that falls to 0 at F, after division by the impulse response. Without an "
		          "impulse response only the window is used; 0: traces are used unchanged" },
		{ 0, "band-mhz", .real = ubp->band_mhz, .unit = "MHz", .count = 2, .value = "LOW,HIGH",
		  .min = 0, .max = 1e6, .absent = "from the traces",
		  .help = "frequencies of the traces that are used; half passes at LOW and at HIGH, and LOW "
		          "0 is no lower edge. 0,0 uses all frequencies. Without the option the traces tell: "
		          "LOW is above the drift that all transducers share, HIGH where neighbouring "
		          "transducers stop agreeing. Clean traces of a dense array stay as they are" },
		{ 0, "without", .text = &ubp->without, .value = "N,N-N,...", .absent = "all are used",
		  .help = "transducers whose traces are not used, such as dead or noisy ones: numbers from 1 "
		          "on, and ranges of them, as in 12,40-43" },
		{ 0, "speeds", .real = ubp->speeds, .count = 3, .value = "LOW,HIGH,N", .min = .01, .max = 1e4,
		  .absent = "one speed",
		  .help = "make an image for each of N speeds of sound from LOW to HIGH, mm/us, and write "
		          "the sharpest. The record has the sharpness of all. For one image, instead of "
		          "'speed'" },
		{ 0, "tissue-speeds", .real = ubp->tissue_speeds, .count = 3, .with = "tissue",
		  .value = "LOW:HIGH[:N]", .min = .01, .max = 1e4, .absent = "one speed",
		  .help = "the same over the speed of the tissue, the water's stays: instead of "
		          "'tissue-speed'. N is 15 by default. "
		          "Both speeds cannot be found together" },
		{ 0 },
	};

	_Static_assert(sizeof own <= (MODEL_PARAMS - SOUND_PARAMS) * sizeof *own, "room for the parameters");
	*ubp = (struct ubp){ .weights = "sphere", .tissue_speeds = { 0, 0, 15 } };
	memcpy(table + sound_params(table, &ubp->sound), own, sizeof own);
}

static int check_range(const char *name, const double s[3])
{
	if (s[0] < s[1] && s[2] >= 2 && s[2] == (int)s[2]) return ISO_OK;
	return iso_fail(ISO_EARG, "'%s' is %g,%g,%g, must be two speeds that rise and a number of at least 2",
	                name, s[0], s[1], s[2]);
}

static int check_options(struct ubp *ubp)
{
	const double *s = ubp->speeds, *b = ubp->band_mhz;
	int st;

	ubp->scan = problem_given(ubp->sound.p, "speeds");
	ubp->sound.finds_tissue = ubp->tissue_scan = problem_given(ubp->sound.p, "tissue-speeds");
	if (ubp->scan && ubp->tissue_scan)
		return iso_fail(
			ISO_EARG,
			"'speeds' and 'tissue-speeds': give one of them. Many pairs of speeds make images "
			"of the same sharpness, at other sizes, so both cannot be found");
	if (ubp->tissue_scan && problem_given(ubp->sound.p, "tissue-speed"))
		return iso_fail(ISO_EARG, "'tissue-speed' and 'tissue-speeds': give one of them");
	if (ubp->tissue_scan && (st = check_range("tissue-speeds", ubp->tissue_speeds))) return st;
	if (ubp->scan && problem_given(ubp->sound.p, "speed"))
		return iso_fail(ISO_EARG, "'speed' and 'speeds': give one of them");
	if (ubp->scan && (st = check_range("speeds", s))) return st;
	if (problem_given(ubp->sound.p, "band-mhz") && !(b[0] < b[1]) && !(b[0] == 0 && b[1] == 0))
		return iso_fail(ISO_EARG, "'band-mhz' is %g,%g, must rise, or be 0,0 for all", b[0], b[1]);
	return ISO_OK;
}

/* Transducers whose normal points away count for nothing, or for a part of the image alone. */
static void warn_of_sphere(struct ubp *ubp)
{
	bool sphere = ubp->model.weights == ISO_UBP_SPHERE;
	struct iso_hearing h = { .size = sizeof h };

	if (!ubp->t.area)
		record_warn(ubp->sound.p->record, "%s gives no areas: all transducers weigh alike%s",
		            sound_scanner(&ubp->sound), sphere ? ", and share a whole sphere" : "");
	if (sphere && ubp->t.spread > .01)
		record_warn(ubp->sound.p->record,
		            "the transducers' distances from their centre spread by %.2g of the radius: not "
		            "on one sphere; 'weights' solid-angle needs none",
		            ubp->t.spread);
	if (!sphere && iso_transducers_hear(&h, &ubp->t, &ubp->sound.grid) == ISO_OK && h.away > 0)
		record_warn_share(
			ubp->sound.p->record, (double)h.away, (double)ubp->t.n,
			"%" PRId64 " of %" PRId64
			" normals point away from the grid's centre; such transducers do not hear it",
			h.away, ubp->t.n);
}

static int load(iso_problem *problem, int need, const struct iso_grid *image)
{
	struct ubp *ubp = problem->self;
	struct sound *sound = &ubp->sound;
	int st;

	sound->p = problem;
	if ((st = check_options(ubp))) return st;
	if (ubp->scan)
		sound->speeds = (struct sound_speeds){ (int)ubp->speeds[2], ubp->speeds[0], ubp->speeds[1] };
	if ((st = sound_load(problem, need, image))) return st;
	ubp->t = *sound->t;
	if (!problem_given(problem, "hann-mhz") && ubp->t.eir) ubp->cutoff_mhz = CUTOFF_MHZ;
	ubp->model = (struct iso_ubp){
		.size = sizeof ubp->model,
		.transducers = &ubp->t,
		.grid = sound->grid,
		.weights = strcmp(ubp->weights, "sphere") == 0 ? ISO_UBP_SPHERE : ISO_UBP_SOLID_ANGLE,
	};
	warn_of_sphere(ubp);
	return ISO_OK;
}

static void plan(iso_problem *problem, struct iso_plan *lines, const struct model_subsets *s)
{
	struct ubp *ubp = problem->self;
	int64_t rows = problem->found.rows, voxels = iso_grid_voxels(&ubp->sound.grid);

	(void)s;
	iso_plan_add(lines, "traces", rows, sizeof(iso_real), false);
	if (iso_ctx_is_cuda(problem->ctx))
		iso_plan_add(lines, "traces and image on the device", rows + voxels, sizeof(iso_real), true);
	sound_plan_delays(problem, lines);
	if (ubp->scan || ubp->tissue_scan)
		iso_plan_add(lines, "image of another speed", voxels, sizeof(iso_real), false);
	iso_ubp_plan(lines, problem->ctx, &ubp->model);
}

static bool ubp_is_scanned(const struct ubp *ubp)
{
	return ubp->scan || ubp->tissue_scan;
}

static int sample(iso_problem *problem, iso_op **made, iso_ctx *alone, double *times)
{
	struct iso_ubp some = ((struct ubp *)problem->self)->model;
	struct iso_transducers t = sound_sample(some.transducers, alone, times);

	some.transducers = &t;
	int st = ubp_is_scanned(problem->self) ? ISO_OK : sound_delays(&some.delays, problem);

	return st ? st : iso_ubp_create(made, alone, &some);
}

static int op(iso_problem *problem, iso_op **made, const struct model_subsets *s)
{
	struct ubp *ubp = problem->self;
	int st = ubp_is_scanned(ubp) ? ISO_OK : sound_delays(&ubp->model.delays, problem);

	(void)s; /* one subset */
	return st ? st : iso_ubp_create(made, problem->ctx, &ubp->model);
}

/* ---- the image ---- */

/* Whether the traces are asked for their band: another filter, or the lack of one, is the user's or the scanner's. */
static bool asks_for_band(const struct ubp *ubp)
{
	return !problem_given(ubp->sound.p, "band-mhz") && !problem_given(ubp->sound.p, "hann-mhz") &&
	       !ubp->t.eir;
}

/* Why the edges of a band are where they are. */
static void band_reason(char *to, size_t size, const struct iso_band *b)
{
	char high[160] = "";

	if (b->high_mhz > 0)
		iso_snprintf(high, sizeof high,
		             "%sAbove the band neighbouring transducers do not agree, and %.0f %% of the "
		             "power of the differentiated traces lies there.",
		             b->low_mhz > 0 ? " " : "", 100 * b->beyond);
	snprintf(to, size, "%s%s", b->low_mhz > 0 ? "Below the band all transducers drift together." : "",
	         high);
}

/* The band of the traces becomes that of the run. Samples from the first to the last sound of the image are looked at:
   the pulse of the laser is outside. */
static int find_band(struct ubp *ubp)
{
	struct iso_band *b = &ubp->found;
	struct iso_hearing h = { .size = sizeof h };
	char why[256];
	int st = iso_transducers_hear(&h, &ubp->t, &ubp->sound.grid);

	if (st) return st;
	double first = fmax(0, (h.nearest - ubp->t.first_us) / ubp->t.dt_us),
	       last = fmin((double)ubp->t.samples, (h.farthest - ubp->t.first_us) / ubp->t.dt_us);

	if ((st = iso_band_of(b, ubp->sound.y.v, &ubp->t, (int64_t)first, (int64_t)last - (int64_t)first)))
		return st;
	ubp->has_found = true;
	if (b->low_mhz == 0 && b->high_mhz == 0) return ISO_OK;
	ubp->band_mhz[0] = b->low_mhz;
	ubp->band_mhz[1] = b->high_mhz > 0 ? b->high_mhz : 1 / ubp->t.dt_us;
	band_reason(why, sizeof why, b);
	record_tell(ubp->sound.p->record, ISO_NEWS,
	            "the image uses frequencies from %g to %g MHz ('band-mhz' 0,0 uses all). %s",
	            ubp->band_mhz[0], ubp->band_mhz[1], why);
	return ISO_OK;
}

/* Into the record: the band that was used, and who chose it. */
static int record_band(struct ubp *ubp)
{
	const struct iso_band *b = &ubp->found;
	char why[256] = "asked for";

	if (!(ubp->band_mhz[1] > 0)) return record_result(ubp->sound.p->record, "band_mhz", json_null());
	if (ubp->has_found) band_reason(why, sizeof why, b);
	return record_result(ubp->sound.p->record, "band_mhz",
	                     record_pack("{s:f, s:f, s:s}", "low", ubp->band_mhz[0], "high", ubp->band_mhz[1],
	                                 "why", why));
}

static bool next_number(int64_t *n, const char **text)
{
	const char *p = *text;

	for (*n = 0; *p >= '0' && *p <= '9' && p - *text < 9; p++) *n = 10 * *n + (*p - '0');
	bool found = p > *text;

	*text = p;
	return found;
}

/* The next entry of 'without', "N" or "N-N": its first and last number. False: it is neither. */
static bool next_range(int64_t range[2], const char **text)
{
	if (!next_number(&range[0], text)) return false;
	range[1] = range[0];
	if (**text == '-' && (++*text, !next_number(&range[1], text))) return false;
	if (**text == ',') return *++*text != '\0';
	return **text == '\0';
}

/* A trace of zeros adds nothing to any voxel. */
static int silence(struct ubp *ubp)
{
	int64_t n = ubp->t.n, samples = ubp->t.samples, range[2];

	for (const char *at = ubp->without; at && *at;) {
		if (!next_range(range, &at) || range[0] < 1 || range[1] < range[0] || range[1] > n)
			return iso_fail(ISO_EARG,
			                "'without' is '%s', must be numbers of transducers from 1 to %" PRId64
			                ", and ranges that rise, as in 12,40-43",
			                ubp->without, n);
		memset(ubp->sound.y.v + (range[0] - 1) * samples, 0,
		       (size_t)((range[1] - range[0] + 1) * samples) * sizeof *ubp->sound.y.v);
	}
	return ISO_OK;
}

static int filter(struct ubp *ubp)
{
	iso_real *y = ubp->sound.y.v;
	const double *band = ubp->band_mhz;
	int st = silence(ubp);

	if (st) return st;
	record_stage(ubp->sound.p->record, "filter");
	if (!ubp->has_found && asks_for_band(ubp) && (st = find_band(ubp))) return st;
	if (ubp->cutoff_mhz > 0)
		st = iso_traces_deconvolve(y, ubp->sound.p->ctx, &ubp->t, ubp->cutoff_mhz, 0);
	if (st == ISO_EINPUT) return iso_fail(st, "%s: %s", sound_scanner(&ubp->sound), iso_message());
	if (!st && band[1] > 0 && band[0] * ubp->t.dt_us >= .5)
		return iso_fail(
			ISO_EARG,
			"'band-mhz' begins at %g, which is not below half the sampling rate of %g MHz",
			band[0], 1 / ubp->t.dt_us);
	if (!st && band[1] > 0) st = iso_traces_band(y, ubp->sound.p->ctx, &ubp->t, band[0], band[1]);
	return st;
}

/* Delays of a scan; of one image those of the problem. */
static int take_delays(struct ubp *ubp, iso_delays **own, double tissue)
{
	struct iso_tissue is = ubp->sound.tissue.is;

	if (!ubp->sound.tissue.on) return ISO_OK;
	if (!ubp_is_scanned(ubp)) return sound_delays(&ubp->model.delays, ubp->sound.p);
	if (ubp->tissue_scan) is.speed = tissue;
	int st = iso_delays_create(own, ubp->sound.p->ctx, &ubp->t, &is, &ubp->sound.grid);

	ubp->model.delays = *own;
	return st;
}

/* x, on the host, of traces that are on the device; at a speed of the water, or of a scan of the tissue's. */
static int image_at(struct ubp *ubp, iso_real *x, double speed, const iso_real *y)
{
	iso_ctx *ctx = ubp->sound.p->ctx;
	int64_t voxels = iso_grid_voxels(&ubp->sound.grid);
	struct iso_room room = iso_room_of(ctx, "image");
	iso_op *made = NULL;
	iso_delays *own = NULL;
	iso_real *dx;
	int st;

	if (!ubp->tissue_scan) ubp->t.speed = speed;
	ISO_DEVICE(&room, dx, voxels);
	st = room.status ? room.status : take_delays(ubp, &own, speed);
	if (!st) st = iso_ubp_create(&made, ctx, &ubp->model);
	if (!st) st = iso_adjoint(dx, made, ISO_ALL, y);
	if (!st) st = iso_ctx_vec(ctx)->download(ctx, x, dx, voxels * (int64_t)sizeof *x);
	iso_op_free(made);
	iso_room_free(&room);
	if (own) ubp->model.delays = NULL;
	iso_delays_free(own);
	return st;
}

/* The highest point of the parabola through three of n values at equal steps; the greatest is number `best`. */
static double parabola(const double *v, int n, int best, double low, double step)
{
	double x = low + best * step;

	if (best == 0 || best == n - 1) return x;
	double bend = v[best - 1] - 2 * v[best] + v[best + 1];

	return bend < 0 ? x + step * .5 * (v[best - 1] - v[best + 1]) / bend : x;
}

/* A peak at an end, and none to speak of, are told. */
static void judge(struct ubp *ubp, const double *range, const char *name, double best, double least,
                  double most)
{
	struct record *r = ubp->sound.p->record;

	if (best == range[0] || best == range[1])
		record_warn(r,
		            "the sharpest image is that of the end of '%s', %g mm/us: the true speed may lie "
		            "beyond",
		            name, best);
	if (ubp->tissue_scan && most - least < FLAT * most)
		record_warn(r,
		            "the sharpness rises by %.2g %% over 'tissue-speeds': so flat a curve does not "
		            "tell the speed",
		            100 * (most - least) / most);
}

/* The sharpest image of all speeds. */
static int scan(struct ubp *ubp, struct iso_array *x, const iso_real *y)
{
	const char *name = ubp->tissue_scan ? "tissue-speeds" : "speeds";
	const double *range = ubp->tissue_scan ? ubp->tissue_speeds : ubp->speeds;
	int n = (int)range[2], at = 0, st;
	double most = -1, least = INFINITY, best = 0, step = (range[1] - range[0]) / (n - 1);
	double *sharp = size_alloc(n, sizeof *sharp);
	json_t *list = json_array();
	struct iso_array one = { 0 };

	st = sharp ? iso_array_on_grid(&one, &x->grid) : iso_fail_memory("speeds", n);
	for (int i = 0; i < n && !st; i++) {
		double speed = range[0] + i * (range[1] - range[0]) / (n - 1);

		if ((st = image_at(ubp, one.v, speed, y))) break;
		if (iso_measure_sharpness(sharp + i, &one)) {
			st = iso_fail(ISO_EINPUT, "'%s': at %g mm/us: %s", name, speed, iso_message());
			break;
		}
		json_array_append_new(list, record_pack("{s:f, s:f}", "speed", speed, "sharpness", sharp[i]));
		least = fmin(least, sharp[i]);
		if (sharp[i] > most) {
			most = sharp[i];
			best = speed;
			at = i;
			memcpy(x->v, one.v, (size_t)x->n * sizeof *x->v);
		}
	}
	iso_array_free(&one);
	if (!st) judge(ubp, range, name, best, least, most);
	if (!st && ubp->tissue_scan) {
		const iso_delays *told;

		ubp->sound.tissue.is.speed = best;
		st = sound_delays(&told, ubp->sound.p);
		if (!st)
			st = record_result(ubp->sound.p->record, "tissue_speeds",
			                   record_pack("{s:o, s:f, s:f}", "curve", json_incref(list), "peak",
			                               parabola(sharp, n, at, range[0], step), "image_at",
			                               best));
	} else {
		ubp->t.speed = best;
		if (!st) st = record_result(ubp->sound.p->record, "speeds", json_incref(list));
	}
	json_decref(list);
	free(sharp);
	return st;
}

static int direct(iso_problem *problem, struct iso_array *x)
{
	struct ubp *ubp = problem->self;
	struct iso_room room = iso_room_of(problem->ctx, "traces");
	const iso_real *y = NULL;
	int st = filter(ubp);

	record_stage(problem->record, "reconstruct");
	if (!st) ISO_UPLOAD(&room, y, ubp->sound.y.v, problem->found.rows);
	if (!st) st = room.status;
	if (!st) st = ubp_is_scanned(ubp) ? scan(ubp, x, y) : image_at(ubp, x->v, ubp->t.speed, y);
	iso_room_free(&room);
	record_stage(problem->record, NULL);
	if (!st) st = record_result(problem->record, "speed_mm_per_us", record_real(ubp->t.speed));
	if (!st) st = record_band(ubp);
	snprintf(x->unit, sizeof x->unit, "%s", problem->found.unit);
	return st ? st
	          : record_result(problem->record, "hann_mhz",
	                          ubp->cutoff_mhz > 0 ? record_real(ubp->cutoff_mhz) : json_null());
}

const struct model model_ubp = {
	.name = "ubp",
	.title = "Model ubp",
	.about = "optoacoustics by filtered back-projection",
	.has = MODEL_FILTERS,
	.bytes = sizeof(struct ubp),
	.params = params,
	.row_name = "samples",
	.load = load,
	SOUND_FUNCTIONS,
	.plan = plan,
	.sample = sample,
	.op = op,
	.direct = direct,
};
