/* SPDX-License-Identifier: BSD-3-Clause */
/* 'kinetics': its parameters, and what does not go together. */
#include "kinetic_run.h"

#include <stdio.h>
#include <string.h>

static const char *const decays[] = { "corrected", "raw", NULL };

enum {
	MOST_INNER = 1000,
	LEAST_OF_PATLAK = 3, /* bins */
};

struct opt_set kinetics_params(struct kinetics *k)
{
	const unsigned goes = TAKES_REPLICATES | MODEL_REPLICATES;
	const struct opt opts[] = {
		{ 0, "kinetics", .text = &k->model, .value = "MODEL[:...]", .absent = "none", .goes = goes,
		  .help = "reconstruct images of kinetic parameters from the events: patlak; "
		          "spectral:beta=FROM/TO/N[,blood][,zero]; srtm2:k2p=V,beta=FROM/TO/N; "
		          "bspline:T0/T1/...; basis. Rates are in 1/s. 'frames' gives the edges of the time "
		          "bins. "
		          "The image is 4-D: the coefficients; x_Ki.nii and so on are the maps" },
		{ 0, "input", .text = &k->input, .file = OPT_MAY_READ, .value = "FILE[,FILE]|FRAMES:MASK",
		  .goes = goes, .with = "kinetics",
		  .help = "the curve of the blood, or of a reference tissue: PET-BIDS samples (*_blood.tsv), "
		          "a "
		          "table with the columns time and one more, or the mean of frames over a mask" },
		{ 0, "input-zero-s", .real = &k->zero_s, .unit = "s", .value = "S", .min = -1e9, .max = 1e9,
		  .goes = goes, .with = "kinetics",
		  .help = "time of the scan at which the curve has its time 0: -2400 where the scan began 40 "
		          "minutes after the injection" },
		{ 0, "input-delay-s", .real = &k->delay_s, .unit = "s", .value = "S", .min = -1e6, .max = 1e6,
		  .goes = goes, .with = "kinetics",
		  .help = "the curve comes so much later in the tissue than in the samples" },
		{ 0, "input-decay", .text = &k->decay, .words = decays, .value = "WORD",
		  .absent = "corrected", .goes = goes, .with = "kinetics",
		  .help = "whether the samples are corrected for decay to their own time 0" },
		{ 0, "input-unit", .text = &k->unit, .value = "UNIT", .absent = "from the .json beside it",
		  .goes = goes, .with = "kinetics",
		  .help = "unit of the samples: Bq/mL, kBq/mL, MBq/mL, nCi/mL, uCi/mL" },
		{ 0, "plasma-ratio", .real = &k->plasma_ratio, .value = "F", .min = 1e-6, .max = 1e6,
		  .absent = "1 for FRAMES:MASK", .goes = goes, .with = "kinetics",
		  .help = "plasma over whole blood, if the input is whole blood alone" },
		{ 0, "unitless", .flag = &k->unitless, .goes = goes, .with = "kinetics",
		  .help = "take the samples as they stand: coefficients in whatever unit comes of it" },
		{ 0, "basis", .text = &k->basis, .file = OPT_READS, .value = "FILE", .goes = goes,
		  .with = "kinetics",
		  .help = "curves of the model basis: a table with the column time and one for each curve" },
		{ 0, "inner", .integer = &k->inner, .value = "L", .min = 1, .max = MOST_INNER, .absent = "4",
		  .goes = goes, .with = "kinetics", .help = "fits of the coefficients behind each subset" },
		{ 0 },
	};

	_Static_assert(sizeof opts <= sizeof k->opts, "room for the options");
	memcpy(k->opts, opts, sizeof opts);
	return (struct opt_set){ "Kinetics", k->opts };
}

void kinetics_free(struct kinetics *k)
{
	free(k->spec);
	free(k->beta);
	k->spec = NULL;
	k->beta = NULL;
	k->n_beta = 0;
}

struct kinetic_words kinetic_words_of(const struct kinetics *k)
{
	return (struct kinetic_words){ k->input,  k->basis,   k->unit,         k->decay,
		                       k->zero_s, k->delay_s, k->plasma_ratio, k->unitless };
}

/* ---- strengths: quadratic:B1/B2, one a coefficient ---- */

static int bad_strengths(const char *text)
{
	return iso_fail(
		ISO_EARG,
		"'penalty' is '%.200s': strengths of coefficients are numbers between slashes, one each, "
		"not negative",
		text);
}

/* The list between `at` and `end`. */
static int read_strengths(struct kinetics *k, const char *text, const char *at, const char *end)
{
	int n = 1;

	for (const char *c = at; c < end; c++) n += *c == '/';
	if (!(k->beta = size_alloc(n, sizeof *k->beta))) return iso_fail_memory("strengths", n);
	for (int i = 0; i < n; i++) {
		const char *slash = memchr(at, '/', (size_t)(end - at)), *to = slash ? slash : end;

		if (!iso_number(k->beta + i, at, (size_t)(to - at)) || !(k->beta[i] >= 0))
			return bad_strengths(text);
		at = to + 1;
	}
	k->n_beta = n;
	return ISO_OK;
}

static int parse_penalty(iso_problem *problem)
{
	struct penalties *p = &problem->s.penalties;
	const char *text = p->text, *colon = text ? strchr(text, ':') : NULL;
	const char *end = colon ? colon + strcspn(colon, ",") : NULL;
	char first[256];
	int st;

	if (!text) return ISO_OK;
	if (!colon || !memchr(colon, '/', (size_t)(end - colon))) return penalty_parse(p);
	if ((st = read_strengths(&problem->s.kinetics, text, colon + 1, end))) return st;
	if (snprintf(first, sizeof first, "%.*s:1%s", (int)(colon - text), text, end) >= (int)sizeof first)
		return bad_strengths(text);
	p->text = first;
	st = penalty_parse(p);
	p->text = text;
	return st;
}

/* ---- before anything is read ---- */

static int check_together(const iso_problem *p)
{
	static const char *const not_with[] = { "stream", "block", "scratch",      "precorrected",
		                                "suv",    "curve", "filter-every", "gates",
		                                "poses",  "bed",   "gantry",       "fields" };
	const struct opt *o;

	for (size_t i = 0; i < sizeof not_with / sizeof *not_with; i++) {
		if (!problem_given(p, not_with[i]) || !(o = opt_find(p->sets, not_with[i]))) continue;
		if (!o->flag || *o->flag)
			return iso_fail(ISO_EARG, "'kinetics' does not go with '%s'", not_with[i]);
	}
	return ISO_OK;
}

static int check_bins(const iso_problem *p)
{
	const struct frames *f = &p->s.frames;
	const struct iso_basis_spec *s = p->s.kinetics.spec;

	if (!f->list) return iso_fail(ISO_EARG, "'kinetics' needs 'frames', the edges of its time bins");
	if (s->model == ISO_KINETIC_PATLAK && f->n < LEAST_OF_PATLAK)
		return iso_fail(ISO_EARG, "'kinetics' patlak has %d time bins, must be at least %d", f->n,
		                LEAST_OF_PATLAK);
	return ISO_OK;
}

static int check_units(const iso_problem *p)
{
	const struct kinetics *k = &p->s.kinetics;
	int length;

	if (!k->input || k->unitless || p->s.units.calibration || kinetic_input_is_image(&length, k->input))
		return ISO_OK;
	return iso_fail(
		ISO_EARG,
		"'input' is in Bq/ml, and the image is not without 'calibration'; 'unitless' takes both as "
		"they are");
}

int kinetics_check(iso_problem *p)
{
	struct kinetics *k = &p->s.kinetics;
	struct iso_basis_spec s = { .size = sizeof s };
	int st;

	kinetics_free(k); /* of an earlier check */
	if ((st = iso_basis_parse(&s, k->model))) return st;
	const struct kinetic_words w = kinetic_words_of(k);

	if (!(k->spec = size_alloc(1, sizeof s))) return iso_fail_memory("kinetics", sizeof s);
	*k->spec = s;
	for (int i = 0; i < KINETIC_MAPS; i++) k->map[i] = basis_map_name(&s, i);
	if ((st = kinetic_words_check(&w, &s)) || (st = check_together(p)) || (st = check_bins(p)) ||
	    (st = check_units(p)) || (st = parse_penalty(p)))
		return st;
	if (p->s.penalties.text && (st = penalty_check(&p->s.penalties))) return st;
	if (p->s.penalties.text && !problem_given(p, "subsets")) p->s.subsets = p->s.by.n = 1;
	return ISO_OK;
}

void kinetics_plan(const struct recon *r, struct iso_plan *plan, int64_t rows)
{
	const struct settings *s = r->s;
	const int64_t n = iso_grid_voxels(&r->grid), real = sizeof(iso_real);
	const struct iso_basis_spec *of = s->kinetics.spec;
	const int k = of->model == ISO_KINETIC_PATLAK ? 2 : of->rates + of->knots + 2;

	iso_kinetic_plan(plan, r->ctx, n, rows, s->frames.n, k, s->penalties.text != NULL);
	iso_plan_add(plan, "events by their bins", rows,
	             3 * real + (int64_t)(sizeof(int32_t) + sizeof(int64_t)), false);
	if (s->replicates.n > 0)
		iso_plan_add(plan, "coefficients of replicates, their mean and standard deviation", n,
		             k * (3 * real + 4 * (int64_t)sizeof(double)), false);
}
