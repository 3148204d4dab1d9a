/* SPDX-License-Identifier: BSD-3-Clause */
/* The basis of a kinetic model from files: samples of blood, a region of frames, or curves of the user. */
#include "kinetics.h"

#include "core/size.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EARLY_S 120. /* in which frames of */
#define SHORT_S 10.  /* more than this blur the peak */

bool kinetic_input_is_image(int *length, const char *input)
{
	const char *colon = input ? strrchr(input, ':') : NULL;

	if (!colon || !colon[1] || access(input, F_OK) == 0) return false;
	*length = (int)(colon - input);
	return true;
}

static bool needs_input(const struct iso_basis_spec *s)
{
	return s->model == ISO_KINETIC_PATLAK || s->model == ISO_KINETIC_SPECTRAL ||
	       s->model == ISO_KINETIC_SRTM2;
}

int kinetic_words_check(const struct kinetic_words *w, const struct iso_basis_spec *s)
{
	if (needs_input(s) && !w->input)
		return iso_fail(ISO_EARG, "this kinetic model needs 'input', the curve of %s",
		                s->model == ISO_KINETIC_SRTM2 ? "the reference tissue" : "the blood");
	if (!needs_input(s) && w->input)
		return iso_fail(ISO_EARG,
		                "'input' does not go with this kinetic model, which has curves of its own");
	if (s->model == ISO_KINETIC_BASIS && !w->basis)
		return iso_fail(ISO_EARG, "kinetic model basis needs 'basis', a file of curves");
	if (s->model != ISO_KINETIC_BASIS && w->basis)
		return iso_fail(ISO_EARG, "'basis' goes with kinetic model basis alone");
	return ISO_OK;
}

/* ---- a region of frames ---- */

static int read_mask(struct iso_array *mask, struct record *record, const char *path,
                     const struct iso_array *images, double *voxels)
{
	const int64_t n = images->dim[1] * images->dim[2] * images->dim[3];
	int st = record_read(record, mask, path, ISO_FINITE);

	if (!st && mask->n != n)
		st = iso_refuse(path, "has %" PRId64 " voxels, the frames have %" PRId64, mask->n, n);
	*voxels = 0;
	for (int64_t i = 0; i < n && !st; i++) *voxels += mask->v[i] > 0;
	if (!st && *voxels == 0) st = iso_refuse(path, "no voxel of the mask is above 0");
	return st ? st : record_input(record, path);
}

static void mean_curve(double *time, double *value, const struct kinetic_frames *f,
                       const struct iso_array *mask, double voxels)
{
	for (int m = 0; m < f->n; m++) {
		const iso_real *x = f->images.v + m * mask->n;
		double sum = 0, duration = f->edge_s[m + 1] - f->edge_s[m];

		for (int64_t i = 0; i < mask->n; i++)
			if (mask->v[i] > 0) sum += x[i];
		time[m] = (f->edge_s[m] + f->edge_s[m + 1]) / 2;
		value[m] = sum / voxels / (f->density ? 1 : duration);
	}
	time[f->n] = f->edge_s[f->n]; /* the last value holds to the end of its frame */
	value[f->n] = value[f->n - 1];
}

static void warn_of_long(struct record *record, const struct kinetic_frames *f)
{
	for (int m = 0; m < f->n && f->edge_s[m] < EARLY_S; m++)
		if (f->edge_s[m + 1] - f->edge_s[m] > SHORT_S) {
			record_warn(
				record,
				"frames of the input are up to %g s in the first %g s: they blur the peak of "
				"the curve",
				f->edge_s[m + 1] - f->edge_s[m], EARLY_S);
			return;
		}
}

/* Its decay is corrected as that of the run. */
static int check_decay(const struct kinetic_frames *f, const char *path, double half_life_s)
{
	if (fabs(f->half_life_s - half_life_s) <= 1e-6 * half_life_s) return ISO_OK;
	return iso_refuse(
		path,
		"its frames are corrected for a half-life of %g s (0: none), this run for %g s; the curve "
		"must be corrected alike",
		f->half_life_s, half_life_s);
}

static int of_region(iso_curve **c, struct record *record, const struct kinetic_words *w, int length,
                     double half_life_s)
{
	struct kinetic_frames f = { 0 };
	struct iso_array mask = { 0 };
	double *time = NULL, voxels;
	char path[PATH_MAX];
	int st = snprintf(path, sizeof path, "%.*s", length, w->input) < PATH_MAX
	                 ? ISO_OK
	                 : iso_fail(ISO_EARG, "%s: name too long", w->input);

	if (!st) st = kinetic_frames_read(&f, record, path, false);
	if (!st) st = check_decay(&f, path, half_life_s);
	if (!st) st = record_input(record, path);
	if (!st) st = read_mask(&mask, record, w->input + length + 1, &f.images, &voxels);
	const int n = f.n + 1;

	if (!st && !(time = size_alloc(n, 2 * sizeof *time)))
		st = iso_fail_memory("input", 2 * n * (int64_t)sizeof *time);
	if (!st) {
		mean_curve(time, time + n, &f, &mask, voxels);
		for (int m = 0; m < n && w->plasma_ratio > 0; m++) time[n + m] *= w->plasma_ratio;
		warn_of_long(record, &f);
		st = iso_curve_create(c, n, time, time + n);
	}
	free(time);
	iso_array_free(&mask);
	kinetic_frames_free(&f);
	return st;
}

/* ---- samples of blood ---- */

static int of_blood(struct iso_input *in, struct record *record, const struct kinetic_words *w,
                    double half_life_s)
{
	char first[PATH_MAX], second[PATH_MAX] = "";
	const char *next = opt_next_file(first, w->input);

	if (next) next = opt_next_file(second, next);
	if (next) return iso_fail(ISO_EARG, "'input' is '%.200s', must be one file or two", w->input);
	const struct iso_blood by = { .size = sizeof by,
		                      .file = first,
		                      .second = *second ? second : NULL,
		                      .unit = w->unit,
		                      .zero_s = w->zero_s,
		                      .delay_s = w->delay_s,
		                      .half_life_s = half_life_s,
		                      .raw = w->decay && strcmp(w->decay, "raw") == 0,
		                      .unitless = w->unitless,
		                      .plasma_ratio = w->plasma_ratio };
	int st = iso_input_read(in, &by);

	if (!st) st = record_input(record, first);
	if (!st && *second) st = record_input(record, second);
	if (st) return st;
	if (in->warning[0]) record_warn(record, "%s: %s", w->input, in->warning);
	if (in->negative > 0)
		record_note(record, "%s: %" PRId64 " samples are below 0, and kept", w->input, in->negative);
	return record_result(record, "input_samples_below_0", json_integer(in->negative));
}

/* Patlak's line begins once the blood falls. */
static int check_peak(const iso_curve *c, double first_s)
{
	const double *time, *value;
	int64_t n = iso_curve_samples(c, &time, &value), at = 0;

	for (int64_t i = 1; i < n; i++)
		if (value[i] > value[at]) at = i;
	if (time[at] <= first_s) return ISO_OK;
	return iso_fail(ISO_EINPUT,
	                "patlak: the input has its peak at %g s, after the first bin begins, at %g s; bins "
	                "must begin "
	                "later",
	                time[at], first_s);
}

/* ---- the basis ---- */

static int of_columns(iso_basis **b, struct record *record, const struct kinetic_words *w,
                      struct iso_basis_spec *s)
{
	iso_curve **column = NULL;
	int n = 0, st = iso_curves_read(&column, &n, w->basis);

	if (!st) st = record_input(record, w->basis);
	s->columns = n;
	s->column = (const iso_curve *const *)column;
	if (!st) st = iso_basis_create(b, s);
	iso_curves_free(column, n);
	return st;
}

int kinetic_curve_make(iso_curve **c, struct record *record, const struct kinetic_words *w,
                       double half_life_s)
{
	struct iso_input in = { .size = sizeof in };
	int length, st = kinetic_input_is_image(&length, w->input)
	                         ? of_region(&in.plasma, record, w, length, half_life_s)
	                         : of_blood(&in, record, w, half_life_s);

	*c = in.plasma;
	in.plasma = NULL;
	iso_input_free(&in);
	return st;
}

int kinetic_basis_make(iso_basis **b, struct record *record, const struct kinetic_words *w,
                       const struct iso_basis_spec *given, double half_life_s, double first_s)
{
	struct iso_input in = { .size = sizeof in };
	struct iso_basis_spec s = *given;
	int length, st = ISO_OK;

	if (s.model == ISO_KINETIC_BASIS) return of_columns(b, record, w, &s);
	if (kinetic_input_is_image(&length, w->input))
		st = of_region(&in.plasma, record, w, length, half_life_s);
	else if (w->input)
		st = of_blood(&in, record, w, half_life_s);
	if (!st && s.blood && !in.whole && kinetic_input_is_image(&length, w->input)) {
		in.whole = in.plasma;
		in.plasma = NULL;
	}
	s.input = in.plasma ? in.plasma : in.whole;
	s.whole = in.whole;
	if (!st && s.model == ISO_KINETIC_PATLAK) st = check_peak(s.input, first_s);
	if (!st) st = iso_basis_create(b, &s);
	iso_input_free(&in);
	return st;
}
