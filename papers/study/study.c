/* SPDX-License-Identifier: BSD-3-Clause */
/* A study from its plan to its page, and the tools of all studies. */
#include "study.h"

#include "core/ctx.h"
#include "file/out.h"
#include "image/colormap.h"
#include "io/format.h"
#include "report/page.h"
#include "text/json_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int study_poll(const struct study *s)
{
	return iso_ctx_poll(s->c->ctx);
}

int study_stage(struct study *s, const char *name)
{
	record_stage(&s->c->record, name);
	return study_poll(s);
}

int study_scanner(iso_scanner **scanner, const char *text)
{
	int st = iso_out_text("scanner.yaml", text);

	return st ? st : iso_scanner_read(scanner, "scanner.yaml");
}

int study_phantom(struct iso_array *x, const struct study *s, const char *name, const double at[3],
                  const struct iso_grid *g, int samples)
{
	iso_phantom *p = NULL;
	int st;

	if ((st = iso_phantom_create(&p, name, at))) return st;
	if (!(st = iso_array_on_grid(x, g))) st = iso_phantom_raster(x->v, NULL, s->cpu, p, g, samples);
	iso_phantom_free(p);
	return st;
}

int study_apply(iso_real *to, iso_op *op, bool adjoint, const iso_real *from)
{
	iso_ctx *ctx = iso_op_ctx(op);
	const int64_t n = iso_op_n_in(op), rows = iso_op_n_out(op), made = adjoint ? n : rows;
	struct iso_room room = iso_room_of(ctx, "reproduce");
	iso_real *x, *y;
	int st;

	ISO_UPLOAD(&room, x, from, n + rows - made);
	ISO_DEVICE(&room, y, made);
	if (!(st = room.status)) st = (adjoint ? iso_adjoint : iso_forward)(y, op, ISO_ALL, x);
	if (!st) st = iso_ctx_vec(ctx)->download(ctx, to, y, made * (int64_t)sizeof *y);
	iso_room_free(&room);
	return st;
}

/* ---- numbers ---- */

void study_result(struct study *s, const char *key, json_t *value)
{
	s->failed |= record_result(&s->c->record, key, value) != ISO_OK;
}

void study_show(struct study *s, const char *key, json_t *value)
{
	s->failed |= json_object_set_new(s->page, key, value) != 0;
}

void study_row(struct study *s, const char *list, json_t *row)
{
	if (!json_object_get(s->page, list)) study_show(s, list, json_array());
	s->failed |= json_array_append_new(json_object_get(s->page, list), row) != 0;
}

const char *study_text(const char *fmt, ...)
{
	static _Thread_local char text[4][160];
	static _Thread_local int last;
	va_list ap;

	last = (last + 1) % 4;
	va_start(ap, fmt);
	vsnprintf(text[last], sizeof text[last], fmt, ap);
	va_end(ap);
	return text[last];
}

/* ---- pictures and curves ---- */

/* Frees `more`. */
static void add_html(struct study *s, const char *key, struct iso_text *more)
{
	const char *before = json_string_value(json_object_get(s->page, key));
	struct iso_text all = { 0 };

	iso_text_add(&all, "%s%s", before ? before : "", more->v ? more->v : "");
	s->failed |= all.failed || more->failed;
	if (!all.failed) study_show(s, key, json_string_nocheck(all.v));
	iso_text_free(&all);
	iso_text_free(more);
}

int study_picture(struct study *s, const char *key, struct iso_pixels *p, const char *name, const char *alt,
                  const char *note)
{
	struct iso_text t = { 0 };
	void *png = NULL;
	size_t bytes = 0;
	int st = iso_png_encode(&png, &bytes, p);

	iso_pixels_free(p);
	if (st) return st;
	iso_text_add(&t, "<figure><div class='picture'><img alt='%s: %s' ", name, alt);
	iso_text_add(&t, "src='data:image/png;base64,");
	iso_text_base64(&t, png, bytes);
	iso_text_add(&t, "'></div><figcaption><b>%s</b>", name);
	if (note[0]) iso_text_add(&t, "<span>%s</span>", note);
	iso_text_add(&t, "</figcaption></figure>\n");
	free(png);
	add_html(s, key, &t);
	return ISO_OK;
}

int study_draw(struct study *s, const char *key, const struct study_plane *plane, const char *name,
               const char *alt, const char *note)
{
	const int64_t zoom = plane->zoom, tall = zoom * (plane->stretch ? plane->stretch : 1);
	struct iso_pixels p = { .width = zoom * plane->right, .height = tall * plane->up };
	struct iso_colormap map;
	int st = iso_colormap_make(&map, "ember");

	if (st) return st;
	if (!(p.rgb = size_alloc(p.width * p.height, 3)))
		return iso_fail_memory("reproduce", p.width * p.height * 3);
	for (int64_t i = 0; i < p.width * p.height; i++) {
		int64_t right = i % p.width / zoom, up = plane->up - 1 - i / p.width / tall;
		double v = plane->v[right * plane->step_right + up * plane->step_up];
		struct iso_colour c = iso_colormap_at(&map, plane->top > 0 ? v / plane->top : 0);

		memcpy(p.rgb + 3 * i, (unsigned char[]){ c.r, c.g, c.b }, 3);
	}
	return study_picture(s, key, &p, name, alt, note);
}

void study_chart(struct study *s, const char *key, const char *label, const char *x_label,
                 const char *y_label, int n, const struct iso_svg_curve *curve)
{
	const struct iso_svg_chart chart = { label, x_label, y_label, n, curve, ISO_SVG_FROM_ZERO };
	struct iso_text t = { 0 };

	iso_text_add(&t, "<figure class='chart wide'>");
	iso_svg_chart(&t, &chart);
	iso_text_add(&t, "</figure>\n");
	add_html(s, key, &t);
}

/* ---- all of it ---- */

/* A device asked for by name must be there; a CUDA device that is not there is told on the page. */
static int open_devices(struct study *s)
{
	static const char *const scale[] = { "tiny", "small", "full" }; /* as the enum */
	bool cuda = iso_ctx_is_cuda(s->c->ctx);
	int st = cuda ? iso_ctx_create(&s->cpu, "cpu", (int)s->c->threads) : ISO_OK;

	if (st) return st;
	if (!cuda) s->cpu = s->c->ctx;
	s->cuda = cuda ? s->c->ctx : NULL;
	s->fast = s->c->ctx;
	study_show(s, "scale", json_string(scale[s->scale]));
	study_show(s, scale[s->scale], json_true());
	study_show(s, "cpu", json_string(iso_ctx_device_name(s->cpu)));
	study_show(s, "cuda", cuda ? record_string(iso_ctx_device_name(s->cuda)) : json_null());
	study_show(s, "no_cuda",
	           json_string(strcmp(s->c->device, "cpu") == 0 ? "--device cpu" : "none was found"));
	return ISO_OK;
}

static int write_all(const struct study *s, const struct paper *p)
{
	const char *body = strchr(p->template, '\n');
	struct iso_text t = { 0 };
	char *results = NULL;
	int st;

	iso_page_open(&t, "Isotome reproduces", study_text("%.*s", (int)(body - p->template), p->template),
	              false);
	template_put(&t, body + 1, s->page, json_object_get(s->c->record.root, "results"));
	iso_page_close(&t, "reproduce", false);
	st = t.failed ? iso_fail_memory("reproduce", (int64_t)t.n) : iso_out_text("report.html", t.v);
	iso_text_free(&t);
	if (!st && !(st = record_text(&s->c->record, &results))) st = iso_out_text("results.json", results);
	free(results);
	return st;
}

int study_run(const struct paper *p, const struct study *begin)
{
	struct study *s = calloc(1, p->bytes);
	int64_t failures = iso_json_failures();
	int st;

	if (!s) return iso_fail_memory("reproduce", (int64_t)p->bytes);
	*s = *begin;
	s->page = json_object();
	if ((st = p->plan(s)) || (st = open_devices(s)) || (st = p->run(s))) goto done;
	if ((st = study_stage(s, NULL))) goto done;
	if (s->failed || iso_json_failures() != failures) st = iso_fail_memory("reproduce", 0);
	if (!st) st = write_all(s, p);
done:
	if (p->release) p->release(s);
	if (s->cuda) iso_ctx_free(s->cpu);
	json_decref(s->page);
	free(s);
	return st;
}
