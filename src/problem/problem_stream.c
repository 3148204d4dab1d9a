/* SPDX-License-Identifier: BSD-3-Clause */
/* A problem without data of its own: images of frames that its caller pushes. */
#include "problem.h"

#include "core/sized.h"

/* Parameters are checked as those of 'follow', whatever the problem is set to. */
static int check(iso_problem *p)
{
	bool was = p->s.follow.on;
	int st;

	p->s.follow.on = true;
	st = settings_check(p);
	p->s.follow.on = was;
	return st;
}

int iso_problem_stream(iso_sound_stream **s, iso_problem *p, const struct iso_stream_options *given)
{
	struct iso_stream_options o;
	struct iso_sound_stream_setup setup;
	struct iso_svoxel model;
	int st;

	if (!s || !p || !given) return iso_fail_null(__func__);
	if ((st = iso_sized_take(&o, "iso_stream_options", sizeof o, given))) return st;
	if (!p->m->stream)
		return iso_fail(ISO_EARG, "model %s makes no images of frames; svoxel does", p->m->name);
	if (o.batch < 0 || o.wavelengths < 0)
		return iso_fail(ISO_EARG, "stream: %d frames together and %d wavelengths, must be at least 1",
		                o.batch, o.wavelengths);
	if ((st = check(p)) || (st = problem_load(p, MODEL_NEEDS_DATA, NULL)) ||
	    (st = p->m->stream(p, &model, &setup)))
		return st;
	model.batch = o.batch;
	setup.model = &model;
	setup.sample = o.sample;
	setup.warm = o.warm;
	setup.wavelengths = o.wavelengths;
	return iso_sound_stream_create(s, p->ctx, &setup);
}
