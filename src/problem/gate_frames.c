/* SPDX-License-Identifier: BSD-3-Clause */
/* Gates as frames of a scan. */
#include "gate_frames.h"

#include "base/fail.h"
#include "base/number.h"
#include "core/size.h"

#include <math.h>
#include <string.h>

#define ROUNDED 1e-6 /* shares that add up to 1 and this much more are rounded */

void gating_free(struct gating *g)
{
	iso_gates_free(g->table);
	free(g->share);
	*g = (struct gating){ 0 };
}

static int refuse_shares(const char *text)
{
	return iso_fail(ISO_EARG,
	                "'gate-shares' is '%.200s', must be the share of the time of each gate, above 0, at "
	                "most 1 together",
	                text);
}

int gating_shares(struct gating *g, const char *text)
{
	const char *at = text;
	double sum = 0;
	int n = 1;

	for (const char *c = text; *c; c++) n += *c == ',';
	if (!(g->share = size_alloc(n, sizeof *g->share)))
		return iso_fail_memory("gates", n * (int64_t)sizeof *g->share);
	for (g->n = 0; g->n < n; g->n++) {
		size_t size = strcspn(at, ",");

		if (!iso_number(g->share + g->n, at, size) || !(g->share[g->n] > 0))
			return refuse_shares(text);
		sum += g->share[g->n];
		at += size + (at[size] == ',');
	}
	return sum <= 1 + ROUNDED ? ISO_OK : refuse_shares(text);
}

/* Integrals over the gate of 1, exp(-kt), exp(-2kt), within the frame. */
static void integrate(double sum[3], const struct gating *g, int gate, const struct gating_frame *f)
{
	for (int64_t i = 0; i < iso_gates_rows(g->table); i++) {
		const struct iso_gate_row row = iso_gates_row(g->table, i);
		double a = fmax(row.from_s, f->from_s), b = fmin(row.to_s, f->to_s);

		if (row.gate != gate || !(b > a)) continue;
		sum[0] += b - a;
		sum[1] += (b - a) * iso_decay_mean(f->half_life_s, a, b);
		sum[2] += (b - a) * iso_decay_mean(f->half_life_s / 2, a, b);
	}
}

struct gate_part gating_part(const struct gating *g, int gate, const struct gating_frame *f)
{
	double length = f->to_s - f->from_s, sum[3] = { 0 };
	double mean = iso_decay_mean(f->half_life_s, f->from_s, f->to_s);
	double randoms = iso_decay_mean(f->half_life_s / 2, f->from_s, f->to_s);

	if (!g->table) {
		double share = g->share[gate];

		return (struct gate_part){ share * mean, share, share, mean, randoms };
	}
	integrate(sum, g, gate, f);
	return (struct gate_part){ .weight = sum[1] / length,
		                   .share = sum[1] / (length * mean),
		                   .randoms = sum[2] / (length * randoms),
		                   .mean = sum[0] > 0 ? sum[1] / sum[0] : 1,
		                   .mean_randoms = sum[0] > 0 ? sum[2] / sum[0] : 1 };
}
