/* SPDX-License-Identifier: BSD-3-Clause */
/* Calibrations of scanners: made of the image of a uniform phantom, written and read. */
#include "calibration.h"

#include "core/sized.h"
#include "file/out.h"
#include "file/suffix.h"
#include "io/format.h"
#include "io/kinds.h"
#include "text/json_file.h"

#include <math.h>
#include <stdlib.h>

enum { SLABS = 8 }; /* parts of the region whose means tell the standard error */

/* What the record beside the phantom's image says. */
struct scan {
	json_t *record;
	double duration_s, half_life_s, branching; /* half-life 0: the image is not decay corrected */
	const char *isotope, *started_at;          /* NULL: not said */
	const json_t *scale;
};

static const json_t *parameter(const struct scan *s, const char *name)
{
	return json_object_get(json_object_get(s->record, "parameters"), name);
}

static int take_isotope(struct scan *s, const char *image)
{
	int st = ISO_OK;

	s->isotope = json_string_value(parameter(s, "isotope"));
	s->half_life_s = json_number_value(parameter(s, "half-life-s"));
	s->branching = json_number_value(parameter(s, "branching"));
	if (s->isotope) st = iso_half_life(&s->half_life_s, s->isotope);
	if (s->isotope && !st && !(s->branching > 0)) st = iso_branching(&s->branching, s->isotope);
	if (st) return iso_fail(ISO_EINPUT, "%s: its record: %s", image, iso_message());
	if (!st && !(s->branching > 0))
		st = iso_fail(ISO_EINPUT,
		              "%s: was reconstructed without 'isotope', by which the decay is corrected and "
		              "the branching fraction known; or, with 'half-life-s', without 'branching'",
		              image);
	return st;
}

static int read_scan(struct scan *s, const char *image)
{
	int st = record_sidecar(&s->record, image);
	const char *verb = json_string_value(json_object_get(s->record, "verb"));
	const char *unit = json_string_value(json_object_get(s->record, "Units"));
	const json_t *durations = json_object_get(s->record, "FrameDuration");

	if (st) return st;
	if (!verb || strcmp(verb, "recon") != 0)
		return iso_fail(ISO_EINPUT, "%s: has no record of a reconstruction beside it", image);
	s->scale = json_object_get(json_object_get(s->record, "results"), "scale");
	if (!s->scale || !unit || strcmp(unit, "counts/mm") != 0)
		return iso_fail(
			ISO_EINPUT,
			"%s: is in %s, must be in counts/mm, as model ray without 'calibration' makes it",
			image, unit ? unit : "no known unit");
	s->duration_s = json_number_value(json_array_get(durations, 0));
	if (json_array_size(durations) != 1 || !(s->duration_s > 0))
		return iso_fail(ISO_EINPUT,
		                "%s: must be one frame whose length is known; reconstruct with 'duration-s'",
		                image);
	s->started_at = json_string_value(parameter(s, "started-at"));
	return take_isotope(s, image);
}

/* Bq/ml that the image stands for: at the start of the scan, where it is decay corrected. */
static int true_activity(double *a, const struct scan *s, const struct iso_calibrate *p)
{
	const char *start = p->started_at ? p->started_at : s->started_at;
	double t = 0;
	int st;

	if (!(p->concentration > 0) || !isfinite(p->concentration))
		return iso_fail(ISO_EARG, "calibrate: concentration is %g Bq/ml, must be above 0",
		                p->concentration);
	if (p->at && !start)
		return iso_fail(ISO_EARG,
		                "%s: its record does not say when the scan started: give 'started-at'",
		                p->image);
	if (p->at && !(s->half_life_s > 0))
		return iso_fail(ISO_EINPUT, "%s: was reconstructed without 'isotope' or 'half-life-s'",
		                p->image);
	if (p->at && (st = iso_seconds_between(&t, p->at, start))) return st;
	*a = p->concentration * (t != 0 ? exp2(-t / s->half_life_s) : 1);
	if (!(*a > 0) || !isfinite(*a))
		return iso_fail(ISO_EARG, "calibrate: nothing is left of the activity %g s after %s", t,
		                p->at);
	return ISO_OK;
}

/* ---- the region ---- */

static int read_roi(struct iso_roi *roi, struct iso_array *mask, const struct iso_calibrate *p,
                    const struct iso_grid *g)
{
	int st;

	if (!iso_kind_is(p->roi, ISO_ARRAY_FILE)) return iso_roi_parse(roi, p->roi);
	if ((st = iso_read_image(mask, p->roi, ISO_FINITE, g))) return st;
	*roi = (struct iso_roi){ .kind = ISO_ROI_MASK, .mask = mask };
	return ISO_OK;
}

/* Planes z0 ... z0 + n - 1 of an image, in its memory. */
static struct iso_array planes(const struct iso_array *x, int64_t z0, int64_t n)
{
	struct iso_array part = *x;

	part.v = x->v + z0 * x->dim[1] * x->dim[2];
	part.dim[0] = part.grid.n[2] = n;
	part.n = n * x->dim[1] * x->dim[2];
	part.grid.centre[2] += ((double)z0 + .5 * (double)(n - x->dim[0])) * x->grid.voxel[2];
	return part;
}

/* The region in some planes; no voxels where it does not reach there. */
static struct iso_roi_stats part_of(const struct iso_array *x, const struct iso_roi *roi, int64_t z0,
                                    int64_t n)
{
	struct iso_array part = planes(x, z0, n), mask;
	struct iso_roi_stats s = { .size = sizeof s };
	struct iso_roi own = *roi;

	if (roi->kind == ISO_ROI_MASK) {
		mask = planes(roi->mask, z0, n);
		own.mask = &mask;
	}
	if (iso_measure_roi(&s, &part, &own)) s.voxels = 0;
	return s;
}

/* Standard error of the mean, from the means m_k of slabs with shares w_k of the voxels: neighbouring voxels are
   correlated, slabs hardly. sqrt(n / (n - 1) sum w_k^2 (m_k - m)^2); 0 where there is one plane alone. */
static double error_of(const struct iso_array *x, const struct iso_roi *roi, const struct iso_roi_stats *all)
{
	int64_t first = 0, last = x->dim[0] - 1;
	double sum = 0;
	int used = 0;

	while (first < last && part_of(x, roi, first, 1).voxels == 0) first++;
	while (last > first && part_of(x, roi, last, 1).voxels == 0) last--;
	int64_t n = last - first + 1, slabs = n < SLABS ? n : SLABS;

	for (int64_t k = 0; k < slabs; k++) {
		int64_t from = first + n * k / slabs, to = first + n * (k + 1) / slabs;
		struct iso_roi_stats s = part_of(x, roi, from, to - from);
		double w = (double)s.voxels / (double)all->voxels;

		used += s.voxels > 0;
		if (s.voxels > 0) sum += w * w * (s.mean - all->mean) * (s.mean - all->mean);
	}
	return used > 1 ? sqrt(sum * used / (used - 1)) : 0;
}

/* ---- made ---- */

static int make(iso_calibration **out, const struct iso_calibrate *p, const struct scan *s,
                const struct iso_roi_stats *f, double error, double activity)
{
	double k = activity * s->duration_s * s->branching / f->mean;
	json_t *made = record_pack("{s:f, s:f, s:s, s:o, s:o, s:I, s:f, s:f, s:f, s:o, s:f, s:o}", "K", k,
	                           "standard_error", k * error / f->mean, "unit", "Bq/ml s per count/mm",
	                           "image", record_string(p->image), "region", record_string(p->roi),
	                           "voxels", (json_int_t)f->voxels, "mean_counts_per_mm", f->mean,
	                           "activity_bq_per_ml", activity, "duration_s", s->duration_s, "isotope",
	                           s->isotope ? record_string(s->isotope) : json_null(), "branching",
	                           s->branching, "made_with", json_incref((json_t *)s->scale));
	iso_calibration *c = calloc(1, sizeof *c);

	if (c && made) c->root = json_pack("{s:s, s:O}", "isotome", iso_version(), "calibration", made);
	json_decref(made);
	if (!c || !c->root) {
		free(c);
		return iso_fail_memory("calibration", sizeof *c);
	}
	c->k = k;
	c->error = k * error / f->mean;
	*out = c;
	return ISO_OK;
}

static int calibrate(iso_calibration **c, const struct iso_calibrate *p, struct scan *s, struct iso_array *x,
                     struct iso_array *mask)
{
	struct iso_roi_stats f = { .size = sizeof f };
	struct iso_roi roi;
	double activity = 0;
	int st;

	if ((st = read_scan(s, p->image)) || (st = true_activity(&activity, s, p)) ||
	    (st = iso_read_image(x, p->image, ISO_FINITE, NULL)) ||
	    (st = read_roi(&roi, mask, p, &x->grid)) || (st = iso_measure_roi(&f, x, &roi)))
		return st;
	if (!(f.mean > 0))
		return iso_fail(ISO_EINPUT, "%s: its mean in the region is %g counts/mm, must be above 0",
		                p->image, f.mean);
	return make(c, p, s, &f, error_of(x, &roi, &f), activity);
}

int iso_calibrate(iso_calibration **c, const struct iso_calibrate *p)
{
	if (!c || !p) return iso_fail_null(__func__);
	struct iso_calibrate full;
	struct iso_array x = { 0 }, mask = { 0 };
	struct scan s = { 0 };
	int st = iso_sized_take(&full, "iso_calibrate", sizeof full, p);

	if (!st && (!full.image || !full.roi)) st = iso_fail_null("struct iso_calibrate");
	if (!st) st = calibrate(c, &full, &s, &x, &mask);
	iso_array_free(&x);
	iso_array_free(&mask);
	json_decref(s.record);
	return st;
}

void iso_calibration_free(iso_calibration *c)
{
	if (!c) return;
	json_decref(c->root);
	free(c);
}

/* ---- files ---- */

int iso_calibration_write(const char *path, const iso_calibration *c, bool force)
{
	if (!c || !path) return iso_fail_null(__func__);
	if (!iso_has_suffix(path, ".json"))
		return iso_fail(ISO_EARG, "%s: a calibration is written as .json", path);
	int st = iso_target_check(path, force);
	char *text = st ? NULL : iso_json_text(c->root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

	if (!st) st = text ? iso_out_text(path, text) : iso_fail_memory("calibration", 1);
	free(text);
	return st;
}

int iso_calibration_read(iso_calibration **out, const char *path)
{
	if (!out || !path) return iso_fail_null(__func__);
	json_t *root = NULL;
	int st = iso_json_read(&root, path);
	const json_t *o = json_object_get(root, "calibration");
	double k = json_number_value(json_object_get(o, "K"));
	iso_calibration *c = NULL;

	if (!st && !(k > 0 && isfinite(k)))
		st = iso_fail(ISO_EINPUT,
		              "%s: is no calibration: 'K' of its 'calibration' must be a number above 0",
		              path);
	if (!st && !(c = calloc(1, sizeof *c))) st = iso_fail_memory("calibration", sizeof *c);
	if (st) {
		json_decref(root);
		return st;
	}
	*c = (iso_calibration){ root, k, json_number_value(json_object_get(o, "standard_error")) };
	*out = c;
	return ISO_OK;
}

/* ---- what they say ---- */

double iso_calibration_k(const iso_calibration *c)
{
	return c ? c->k : 0;
}

double iso_calibration_error(const iso_calibration *c)
{
	return c ? c->error : 0;
}

const json_t *calibration_made_with(const iso_calibration *c)
{
	return json_object_get(json_object_get(c->root, "calibration"), "made_with");
}

const char *iso_calibration_scanner(const iso_calibration *c)
{
	if (!c) return NULL;

	const char *name = json_string_value(json_object_get(calibration_made_with(c), "scanner"));

	return name ? name : "";
}
