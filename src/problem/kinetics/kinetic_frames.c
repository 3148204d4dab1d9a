/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of a series with the times that the record beside them tells. */
#include "kinetics.h"

#include "core/size.h"
#include "text/json_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOUCH_S 1e-3 /* frames end where the next begins */

static int take_times(struct kinetic_frames *f, const json_t *record, const char *path)
{
	const json_t *start = json_object_get(record, "FrameTimesStart"),
		     *duration = json_object_get(record, "FrameDuration");

	if ((int)json_array_size(start) != f->n || (int)json_array_size(duration) != f->n)
		return iso_refuse(
			path,
			"has %d images, but no record beside it tells when each began and how long it "
			"took (FrameTimesStart, FrameDuration)",
			f->n);
	for (int m = 0; m < f->n; m++) {
		double begin = json_number_value(json_array_get(start, (size_t)m)),
		       end = begin + json_number_value(json_array_get(duration, (size_t)m));

		if (m > 0 && fabs(begin - f->edge_s[m]) > TOUCH_S)
			return iso_refuse(path,
			                  "frame %d begins at %g s, frame %d ends at %g s; frames must touch",
			                  m + 1, begin, m, f->edge_s[m]);
		f->edge_s[m] = begin;
		f->edge_s[m + 1] = end;
	}
	return ISO_OK;
}

static int take_decay(struct kinetic_frames *f, const json_t *record)
{
	const json_t *own = json_object_get(record, "parameters");
	const char *isotope = json_string_value(json_object_get(own, "isotope"));
	double half_life = json_number_value(json_object_get(own, "half-life-s"));

	f->half_life_s = half_life > 0 ? half_life : 0;
	return isotope ? iso_half_life(&f->half_life_s, isotope) : ISO_OK;
}

int kinetic_frames_read(struct kinetic_frames *f, struct record *record, const char *path, bool head)
{
	json_t *root = NULL;
	int st = head ? record_peek(record, &f->images, path, ISO_FINITE)
	              : record_read(record, &f->images, path, ISO_FINITE);

	if (!st && (f->images.n_dim != 4 || f->images.dim[0] < 1 || f->images.dim[0] > FRAMES_MOST))
		st = iso_refuse(path, "is no series of images: it has %d axes, expected 4", f->images.n_dim);
	if (st || (st = record_sidecar(&root, path))) return st;
	f->n = (int)f->images.dim[0];
	const char *unit = json_string_value(json_object_get(root, "Units"));

	snprintf(f->unit, sizeof f->unit, "%s", unit ? unit : f->images.unit);
	f->density = strcmp(f->unit, "counts/mm") != 0;
	if (!(f->edge_s = size_alloc(f->n + 1, sizeof *f->edge_s)))
		st = iso_fail_memory("frames", (f->n + 1) * (int64_t)sizeof *f->edge_s);
	if (!st && !(st = take_times(f, root, path))) st = take_decay(f, root);
	json_decref(root);
	return st;
}

void kinetic_frames_free(struct kinetic_frames *f)
{
	iso_array_free(&f->images);
	free(f->edge_s);
	*f = (struct kinetic_frames){ 0 };
}
