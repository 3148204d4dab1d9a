/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate for transducers: traces of a phantom of spheres in closed form. */
#include "cmd/convert.h"
#include "simulate.h"
#include "problem/sound/sound_transducers.h"

#include "core/size.h"
#include "core/status.h"
#include "io/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Transducers count nothing; nothing given is ignored. A record has the defaults too. */
static int check_options(const struct cmd *c, const struct opt_set *sets)
{
	static const char *const other[] = {
		"mu",      "norm",       "tof-fwhm-ps", "randoms",     "scatters", "delayed",
		"singles", "duration-s", "isotope",     "half-life-s", "counts",   "exact",
	};

	for (size_t i = 0; i < sizeof other / sizeof *other && !c->like; i++)
		if (simulate_asks(opt_find(sets, other[i])))
			return iso_fail(ISO_EARG, "--%s is not for a scanner of kind transducers", other[i]);
	return ISO_OK;
}

static int check_phantom(const char *path)
{
	static const char *const image[] = { ".nii", ".nii.gz", ".npy", ".raw" };

	for (size_t i = 0; i < sizeof image / sizeof *image; i++)
		if (iso_has_suffix(path, image[i]))
			return iso_fail(ISO_EARG,
			                "%s: transducers hear spheres, not images: give the name "
			                "nine-spheres or vessel-tree, or a file of spheres (.yaml)",
			                path);
	return ISO_OK;
}

struct work {
	struct transducers array;
	iso_phantom *phantom;
	struct iso_sphere *sphere;
	struct iso_spheres spheres;
	struct iso_array y;
};

static int plan(struct cmd *c, const struct iso_transducers *t)
{
	struct iso_plan p = { 0 };

	iso_plan_add(&p, "traces", t->n * t->samples, sizeof(iso_real), false);
	return cmd_plan(c, &p);
}

static int prepare(struct work *w, struct cmd *c, const struct simulate_sound *p)
{
	const struct iso_transducers *t;
	int n, st;

	if ((st = transducers_load(&w->array, &c->record, p->scanner)) ||
	    (st = iso_phantom_create(&w->phantom, p->phantom, NULL)))
		return st;
	if (strpbrk(p->phantom, "./") && (st = record_input(&c->record, p->phantom))) return st;
	t = w->array.t;
	if (!(t->speed > 0))
		return iso_fail(ISO_EINPUT, "%s: does not say the speed of sound%s", p->scanner,
		                w->array.s ? ": speed_mm_per_us" : "");
	n = iso_phantom_shapes(w->phantom);
	if (!(w->sphere = size_alloc(n, sizeof *w->sphere)))
		return iso_fail_memory("spheres", n * (int64_t)sizeof *w->sphere);
	w->spheres = (struct iso_spheres){ n, w->sphere, 0 };
	if ((st = iso_phantom_spheres(w->sphere, &w->spheres.fwhm, w->phantom)) || (st = plan(c, t)))
		return st;
	return iso_array_create(&w->y, 2, (const int64_t[]){ t->n, t->samples });
}

/* Infinite where a value is not finite. */
static double greatest(const struct iso_array *y)
{
	double most = 0;

	for (int64_t i = 0; i < y->n; i++)
		most = isfinite(y->v[i]) ? fmax(most, fabs((double)y->v[i])) : INFINITY;
	return most;
}

static int make(struct work *w, struct cmd *c, const struct simulate_sound *p)
{
	const struct iso_transducers *t = w->array.t;
	double most;
	int st;

	if ((st = iso_spheres_pressure(w->y.v, c->ctx, &w->spheres, t)) ||
	    (st = iso_traces_eir(w->y.v, c->ctx, t)))
		return st;
	most = greatest(&w->y);
	if (!isfinite(most))
		return iso_fail(ISO_EINPUT,
		                "the traces are not finite: activities of %s, or grueneisen or "
		                "the impulse response of %s, are too large",
		                p->phantom, p->scanner);
	if (most == 0)
		record_warn(&c->record, "the record holds nothing: no sound arrives from %g us for %g us",
		            t->first_us, (double)t->samples * t->dt_us);
	if (p->noise > 0) iso_traces_noise(w->y.v, w->y.n, p->noise * most, p->seed);
	snprintf(w->y.unit, sizeof w->y.unit, "pressure");
	return record_result(&c->record, "greatest", record_real(most));
}

static int write(const struct work *w, struct cmd *c, const char *out, const char *scanner)
{
	const struct iso_transducers *t = w->array.t;
	iso_recording *r = NULL;
	int st;

	if (!iso_is_recording(out)) return cmd_write(c, out, &w->y);
	convert_sound_warn(c, out, scanner, t);
	st = iso_recording_of(&r, t, &w->y);
	if (!st) st = cmd_write_recording(c, out, r);
	iso_recording_free(r);
	return st;
}

int simulate_sound(struct cmd *c, const struct opt_set *sets, const struct simulate_sound *p)
{
	struct work w = { 0 };
	int st;

	if ((st = check_options(c, sets)) || (st = check_phantom(p->phantom)) ||
	    (st = (iso_is_recording(p->out) ? cmd_check_recording : cmd_check_array)(c, p->out)))
		return st;
	if ((st = cmd_begin(c)) || (st = prepare(&w, c, p))) goto done;
	record_stage(&c->record, "simulate");
	st = make(&w, c, p);
	record_stage(&c->record, NULL);
	if (st || (st = write(&w, c, p->out, p->scanner))) goto done;
	st = cmd_report(c);
done:
	iso_array_free(&w.y);
	free(w.sphere);
	iso_phantom_free(w.phantom);
	transducers_free(&w.array);
	return st;
}
