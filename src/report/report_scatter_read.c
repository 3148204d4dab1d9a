/* SPDX-License-Identifier: BSD-3-Clause */
/* "scatter" of a record, of one frame or of all that have it, added up. Nothing of it is believed before it is looked at:
   a list of another length, or a number that is none, is as good as absent. */
#include "report_scatter.h"

#include "core/size.h"
#include "report/markup/value.h"

#include <math.h>
#include <string.h>

static const char *const names[SCATTER_PARTS] = { "prompts", "trues", "scatter", "randoms" };

/* Adds a list of n numbers; false: it is none, and nothing was added. */
static bool add_list(double *to, const json_t *list, int n)
{
	const json_t *v;
	size_t i;

	if ((int64_t)json_array_size(list) != n) return false;
	json_array_foreach ((json_t *)list, i, v)
		if (!json_is_number(v) || !(fabs(json_number_value(v)) < 1e15)) return false;
	json_array_foreach ((json_t *)list, i, v) to[i] += json_number_value(v);
	return true;
}

/* Both ends, in order. */
static bool take_range(double to[2], const json_t *list)
{
	double v[2] = { 0 };

	if (!add_list(v, list, 2) || !(v[0] < v[1])) return false;
	memcpy(to, v, sizeof v);
	return true;
}

static int count(const json_t *object, const char *key)
{
	double v = iso_value_number(object, key);

	return v >= 2 && v <= SCATTER_MOST ? (int)v : 0;
}

/* n whole numbers from 0 on, a space between them; false: it is anything else. */
static bool take_row(iso_real *to, const char *text, int n, double step)
{
	for (int i = 0; i < n; i++) {
		int v = 0, digits = 0;

		if (i > 0 && *text++ != ' ') return false;
		for (; *text >= '0' && *text <= '9' && digits < 4; digits++) v = 10 * v + (*text++ - '0');
		if (digits == 0) return false;
		to[i] = (iso_real)(v * step);
	}
	return *text == '\0';
}

static bool add_panel(iso_real *to, iso_real *row, const json_t *rows, int w, int h, double step)
{
	if ((int64_t)json_array_size(rows) != h) return false;
	for (int k = 0; k < h; k++) {
		const char *text = json_string_value(json_array_get(rows, (size_t)k));

		if (!text || !take_row(row, text, w, step)) return false;
		for (int i = 0; i < w; i++) to[k * w + i] += row[i];
	}
	return true;
}

static int make_panels(struct scatter_seen *s, int w, int h)
{
	s->w = w;
	s->h = h;
	for (int p = 0; p < SCATTER_PARTS; p++)
		if (!(s->panel[p] = size_alloc((int64_t)w * h, sizeof *s->panel[p])))
			return iso_fail_memory("report", (int64_t)w * h * (int64_t)sizeof *s->panel[p]);
	return ISO_OK;
}

/* A part is shown where all frames have it. */
static int add_sinogram(struct scatter_seen *s, const json_t *o)
{
	int w = count(o, "s"), h = count(o, "phi"), st;
	double step = iso_value_number(o, "step");
	iso_real row[SCATTER_MOST];

	if (!w || !h || !(step > 0 && step < 1e12)) return ISO_OK;
	if (s->panel[0] && (w != s->w || h != s->h)) return ISO_OK;
	if (!s->panel[0] && (st = make_panels(s, w, h))) return st;
	for (int p = 0; p < SCATTER_PARTS; p++)
		if (!add_panel(s->panel[p], row, json_object_get(o, names[p]), w, h, step)) s->has[p] = false;
	return ISO_OK;
}

static int add_seen(struct scatter_seen *s, const json_t *o)
{
	const json_t *over_s = json_object_get(o, "over_s"), *over_z = json_object_get(o, "over_z");
	int ns = (int)fmin((double)json_array_size(json_object_get(over_s, names[0])), SCATTER_MOST + 1);
	int nz = (int)fmin((double)json_array_size(json_object_get(over_z, names[0])), SCATTER_MOST + 1);
	double range[2];

	if (ns < 2 || nz < 2 || ns > SCATTER_MOST || nz > SCATTER_MOST) return ISO_OK;
	if (s->frames > 0 && (ns != s->ns || nz != s->nz)) return ISO_OK;
	if (!take_range(range, json_object_get(o, "s_mm")) ||
	    !take_range(s->z_mm, json_object_get(o, "z_mm")))
		return ISO_OK;
	memcpy(s->s_mm, range, sizeof range);
	s->ns = ns;
	s->nz = nz;
	if (s->frames++ == 0)
		for (int p = 0; p < SCATTER_PARTS; p++) s->has[p] = true;
	for (int p = 0; p < SCATTER_PARTS; p++)
		if (!add_list(s->over_s[p], json_object_get(over_s, names[p]), ns) ||
		    !add_list(s->over_z[p], json_object_get(over_z, names[p]), nz))
			s->has[p] = false;
	return add_sinogram(s, json_object_get(o, "sinogram"));
}

const json_t *scatter_of_frame(const json_t *record, size_t k, size_t *n)
{
	const json_t *results = json_object_get(record, "results"),
		     *one = json_object_get(results, "scatter");
	const json_t *frames = json_object_get(results, "frames");

	*n = json_is_object(one) ? 1 : json_array_size(frames);
	return json_is_object(one) ? one : json_object_get(json_array_get(frames, k), "scatter");
}

int scatter_read(struct scatter_seen *s, const json_t *record)
{
	size_t n = 1;
	int st = ISO_OK;

	memset(s, 0, sizeof *s);
	for (size_t k = 0; k < n && !st; k++) {
		const json_t *o = scatter_of_frame(record, k, &n);

		st = add_seen(s, json_object_get(o, "seen"));
	}
	s->all_frames = (int)fmin((double)n, 1e6);
	s->no_randoms = s->has[SCATTER_RANDOMS];
	for (int i = 0; i < s->ns; i++) s->no_randoms &= s->over_s[SCATTER_RANDOMS][i] == 0;
	s->has[SCATTER_RANDOMS] &= !s->no_randoms;
	return st;
}

void scatter_free(struct scatter_seen *s)
{
	for (int p = 0; p < SCATTER_PARTS; p++) free(s->panel[p]);
}
