/* SPDX-License-Identifier: BSD-3-Clause */
/* A measured slice beside the simulations of Wang 2013: the first image of a recording, by FBP. */
#include "wang.h"

#include "report/value.h"

#include <stdlib.h>

/* MHz: below the array hears nothing, above there is noise. */
static const double band[2] = { .1, 4 };

struct slice {
	iso_recording *r;
	struct iso_transducers t; /* borrows */
	struct iso_grid grid;
	iso_real *y;
};

static int load(struct slice *s, const struct wang *w)
{
	const struct iso_recording_info *info;
	int64_t n;
	int st;

	if ((st = iso_recording_open(&s->r, w->s.msot)) || (st = record_input(&w->s.c->record, w->s.msot)))
		return st;
	info = iso_recording_info(s->r);
	s->t = info->t;
	n = s->t.n * s->t.samples;
	if (!(s->t.speed > 0)) return iso_fail(ISO_EINPUT, "%s: does not say the speed of sound", w->s.msot);
	if ((st = iso_transducers_grid(&s->grid, &s->t, info->has_field ? info->field : NULL))) return st;
	if ((st = STUDY_NEW(s->y, n))) return st;
	return iso_recording_read(s->y, s->r, 0, 0);
}

int wang_slice(struct wang *w)
{
	const struct iso_picture look = {
		.size = sizeof look, .kind = ISO_MONTAGE, .map = "grey", .percent = { 1, 99.7 }
	};
	struct iso_pixels pixels = { 0 };
	struct iso_array x = { 0 };
	struct slice s = { 0 };
	double seconds;
	int st;

	if ((st = load(&s, w))) goto done;
	if ((st = iso_traces_band(s.y, w->s.fast, &s.t, band[0], band[1]))) goto done;
	const struct wang_problem p = { .method = WANG_FBP, .t = &s.t, .traces = s.y, .grid = s.grid };

	if ((st = wang_recon(&x, &seconds, w->s.fast, &p))) goto done;
	if ((st = iso_picture_render(&pixels, NULL, &x, &look))) goto done;
	if ((st = study_picture(&w->s, "recording_picture", &pixels, "FBP", "a measured slice", "")))
		goto done;
	study_show(&w->s, "recording",
	           record_pack("{s:o, s:f}", "file", record_string(iso_value_base(w->s.msot)), "seconds",
	                       seconds));
	st = cmd_write(w->s.c, "msot.nii", &x);
done:
	free(s.y);
	iso_array_free(&x);
	iso_recording_free(s.r);
	return st;
}
