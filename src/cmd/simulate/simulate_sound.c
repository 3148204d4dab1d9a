/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate for transducers: traces of a phantom of spheres in closed form. */
#include "simulate.h"
#include "problem/inputs.h"

#include "core/size.h"
#include "io/kinds.h"

#include <math.h>

enum { EARS = 2048 }; /* transducers that hear at a time on CUDA, at most */

struct work {
	struct transducers array;
	iso_phantom *phantom;
	struct iso_sphere *sphere;
	struct iso_spheres spheres;
	iso_delays *delays; /* NULL: no tissue */
	struct iso_array y;
	struct tissue tissue;
};

static int prepare(struct work *w, struct cmd *c, const struct simulate *s)
{
	struct iso_plan plan = { 0 };
	const struct iso_transducers *t;
	int n, st;

	if ((st = transducers_load(&w->array, &c->record, s->scanner)) ||
	    (st = simulate_phantom(c, &w->phantom, s->image)))
		return st;
	t = w->array.t;
	if (!(t->speed > 0))
		return iso_fail(ISO_EINPUT, "%s: does not say the speed of sound%s", s->scanner,
		                w->array.s ? ": speed_mm_per_us" : "");
	n = iso_phantom_shapes(w->phantom);
	if (!(w->sphere = size_alloc(n, sizeof *w->sphere)))
		return iso_fail_memory("spheres", n * (int64_t)sizeof *w->sphere);
	w->spheres = (struct iso_spheres){ n, w->sphere, 0 };
	if ((st = iso_phantom_spheres(w->sphere, &w->spheres.fwhm, w->phantom))) return st;
	if ((st = tissue_load(&w->tissue, &c->record, w->array.s, t, true))) return st;
	iso_plan_add(&plan, "traces", t->n * t->samples, sizeof(iso_real), false);
	if (iso_ctx_is_cuda(c->ctx)) /* a part of them at a time */
		iso_plan_add(&plan, "traces on the device", t->n < EARS ? t->n : EARS,
		             t->samples * (int64_t)(sizeof(iso_real) + sizeof(double)), true);
	if ((st = cmd_plan(c, &plan))) return st;
	return iso_array_create(&w->y, 2, (const int64_t[]){ t->n, t->samples });
}

static int make(struct work *w, struct cmd *c, const struct simulate *s)
{
	const struct iso_transducers *t = w->array.t;
	double most;
	struct iso_grid box;
	int st;

	iso_spheres_box(&box, &w->spheres);
	if ((st = tissue_delays(&w->delays, &w->tissue, &c->record, c->ctx, t, &box))) return st;
	st = iso_spheres_traces_through(w->y.v, &most, c->ctx, &w->spheres, t, w->array.faces, w->delays,
	                                s->noise, (uint64_t)s->seed);
	if (!isfinite(most))
		return iso_fail(ISO_EINPUT,
		                "the traces are not finite: activities of %s, or grueneisen or "
		                "the impulse response of %s, are too large",
		                s->image, s->scanner);
	if (st) return st;
	if (most == 0)
		record_warn(&c->record, "the record holds nothing: no sound arrives from %g us for %g us",
		            t->first_us, (double)t->samples * t->dt_us);
	snprintf(w->y.unit, sizeof w->y.unit, "pressure");
	return record_result(&c->record, "greatest", record_real(most));
}

static int write(const struct work *w, struct cmd *c, const struct simulate *s)
{
	const struct iso_transducers *t = w->array.t;
	iso_recording *r = NULL;
	int st;

	if (!iso_is_recording(s->out)) return cmd_write(c, s->out, &w->y);
	convert_sound_warn(c, s->out, s->scanner, &w->array);
	st = iso_recording_of(&r, t, &w->y);
	if (!st) st = cmd_write_recording(c, s->out, r);
	iso_recording_free(r);
	return st;
}

int simulate_sound(struct cmd *c, const struct simulate *s)
{
	struct work w = { .tissue = s->tissue };
	int st;

	if (iso_kind_is(s->image, ISO_ARRAY_FILE))
		return iso_fail(ISO_EARG,
		                "%s: transducers hear spheres, not images: give the name "
		                "nine-spheres or vessel-tree, or a file of spheres (.yaml)",
		                s->image);
	if ((st = cmd_check(c, s->out,
	                    iso_is_recording(s->out) ? iso_recording_write_check : iso_write_check)))
		return st;
	c->cpu_only = s->tissue.shape || s->tissue.map;
	if ((st = cmd_begin(c)) || (st = prepare(&w, c, s))) goto done;
	record_stage(&c->record, "simulate");
	st = make(&w, c, s);
	record_stage(&c->record, NULL);
	if (!st) st = write(&w, c, s);
done:
	iso_delays_free(w.delays);
	tissue_unload(&w.tissue);
	iso_array_free(&w.y);
	free(w.sphere);
	iso_phantom_free(w.phantom);
	transducers_free(&w.array);
	return st;
}
