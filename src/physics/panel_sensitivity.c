/* SPDX-License-Identifier: BSD-3-Clause */
/* The absolute sensitivity of two panels at a point, for several readouts and energy windows from
   the same decays. */
#include "core/status.h"
#include "panel_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINT_STREAM (PANEL_STREAMS + 8)

void iso_panel_sensitivity_plan(struct iso_plan *plan, const iso_ctx *ctx)
{
	iso_plan_add(plan, "cross sections", 1, sizeof(struct transport_table), false);
	if (iso_ctx_is_cuda(ctx))
		iso_plan_add(plan, "cross sections on the device", 1, sizeof(struct transport_table), true);
}

static int make_readings(struct transport *t, struct transport_table *table,
                         const struct iso_panel_reading *r, int n, const struct iso_panels *p,
                         const struct iso_transport_options *o)
{
	int st = ISO_OK;

	for (int i = 0; i < n && !st; i++) {
		struct iso_panels q = *p;

		q.readout = r[i].readout;
		memcpy(q.window, r[i].window, sizeof q.window);
		st = iso_transport_make(&t[i], table, &q, o);
	}
	return st;
}

int iso_panel_sensitivity(struct iso_panel_reading *r, int n, iso_ctx *ctx, const struct iso_panels *p,
                          const struct iso_transport_options *o, const double at[3], int64_t pairs)
{
	const float point[3] = { (float)at[0], (float)at[1], (float)at[2] };
	struct transport_table *table = malloc(sizeof *table);
	struct transport t[ISO_PANEL_READINGS];
	int64_t count[ISO_PANEL_READINGS];
	int st;

	_Static_assert((int)ISO_PANEL_READINGS == (int)TRANSPORT_READINGS,
	               "as many as photons are followed for");
	if (!table) return iso_fail_memory("transport", (int64_t)sizeof *table);
	if (n < 1 || n > ISO_PANEL_READINGS || pairs < 1)
		st = iso_fail(ISO_EARG,
		              "sensitivity: %d readings of %" PRId64 " decays, must be 1 to %d of 1 or more",
		              n, pairs, (int)ISO_PANEL_READINGS);
	else if (!(st = make_readings(t, table, r, n, p, o)))
		st = iso_transport_count(count, ctx, t, n, point, POINT_STREAM, 0, pairs);
	for (int i = 0; i < n && !st; i++) {
		r[i].share = (double)count[i] / (double)pairs;
		r[i].error = sqrt(r[i].share * (1 - r[i].share) / (double)pairs);
	}
	free(table);
	return st;
}
