/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate --point: the absolute sensitivity of two panels at a point, for every readout
   and energy window from the same decays. */
#include "simulate.h"

#include "text/json_file.h"
#include "physics/panel_scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINT_STREAM (PANEL_STREAMS + 8)

static const char *const modes[] = { "head", "block", "crystal" };
static const double windows[][2] = { { 250, 750 }, { 350, 750 }, { 400, 750 } };

struct reading {
	int n;
	enum iso_readout mode[TRANSPORT_READINGS];
	double window[TRANSPORT_READINGS][2];
	struct transport t[TRANSPORT_READINGS];
	int64_t count[TRANSPORT_READINGS];
};

static bool listed(const double window[2])
{
	for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
		if (windows[i][0] == window[0] && windows[i][1] == window[1]) return true;
	return false;
}

static int add_reading(struct reading *r, struct transport_table *table, const struct iso_panels *p,
                       const struct iso_transport_options *o, enum iso_readout mode, const double window[2])
{
	struct iso_panels q = *p;

	q.readout = mode;
	memcpy(q.window, window, sizeof q.window);
	r->mode[r->n] = mode;
	memcpy(r->window[r->n], window, sizeof q.window);
	return iso_transport_make(&r->t[r->n++], table, &q, o);
}

/* All readouts that the scanner has; the three windows, and its own if that is another. */
static int make_readings(struct reading *r, struct transport_table *table, const struct iso_panels *p,
                         const struct iso_transport_options *o)
{
	int st = ISO_OK;

	for (int m = 0; m < 3 && !st; m++) {
		if (m == ISO_READ_BLOCK && p->block < 1) continue;
		for (size_t i = 0; i < sizeof windows / sizeof *windows && !st; i++)
			st = add_reading(r, table, p, o, (enum iso_readout)m, windows[i]);
		if (!st && !listed(p->window))
			st = add_reading(r, table, p, o, (enum iso_readout)m, p->window);
	}
	return st;
}

/* A share of n, and its standard error. */
static void share(double *f, double *error, int64_t count, double n)
{
	*f = (double)count / n;
	*error = sqrt(*f * (1 - *f) / n);
}

static json_t *to_json(const struct reading *r, double pairs)
{
	json_t *all = json_object();

	for (int i = 0; i < r->n; i++) {
		json_t *mode = json_object_get(all, modes[r->mode[i]]);
		double f, error;
		char name[64];

		share(&f, &error, r->count[i], pairs);
		snprintf(name, sizeof name, "%g-%g", r->window[i][0], r->window[i][1]);
		if (!mode) {
			mode = json_object();
			json_object_set_new(all, modes[r->mode[i]], mode);
		}
		json_object_set_new(mode, name, record_pack("{s:f, s:f}", "fraction", f, "error", error));
	}
	return all;
}

static int print_json(const struct reading *r, double pairs)
{
	json_t *all = to_json(r, pairs);
	char *text = all ? iso_json_text(all, JSON_INDENT(2)) : NULL;

	if (text) puts(text);
	json_decref(all);
	if (!text) return iso_fail(ISO_ENOMEM, "simulate: no memory for the results");
	free(text);
	return ISO_OK;
}

static void print_text(const struct reading *r, double pairs)
{
	for (int i = 0; i < r->n; i++) {
		double f, error;

		share(&f, &error, r->count[i], pairs);
		printf("%-8s %3g-%g keV  %8.4f %% +- %.4f\n", modes[r->mode[i]], r->window[i][0],
		       r->window[i][1], 100 * f, 100 * error);
	}
}

static int plan(struct cmd *c)
{
	struct iso_plan p = { 0 };

	iso_plan_add(&p, "cross sections", 1, sizeof(struct transport_table), false);
	if (iso_ctx_is_cuda(c->ctx))
		iso_plan_add(&p, "cross sections on the device", 1, sizeof(struct transport_table), true);
	return cmd_plan(c, &p);
}

int simulate_point(struct cmd *c, const struct simulate_panels *p)
{
	struct iso_transport_options o = simulate_transport(p);
	const float at[3] = { (float)p->point[0], (float)p->point[1], (float)p->point[2] };
	struct transport_table *table = malloc(sizeof *table);
	struct reading r = { 0 };
	iso_scanner *s = NULL;
	int st;

	if (!table) return iso_fail_memory("transport", (int64_t)sizeof *table);
	if ((st = iso_scanner_read(&s, p->scanner)) || (st = plan(c)) ||
	    (st = make_readings(&r, table, iso_scanner_panels(s), &o)))
		goto done;
	if ((st = iso_transport_count(r.count, c->ctx, r.t, r.n, at, POINT_STREAM, 0, llround(p->pairs))))
		goto done;
	term_clear(&c->term);
	if (c->json)
		st = print_json(&r, (double)llround(p->pairs));
	else
		print_text(&r, (double)llround(p->pairs));
done:
	iso_scanner_free(s);
	free(table);
	return st;
}
