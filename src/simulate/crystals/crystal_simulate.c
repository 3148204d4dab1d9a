/* SPDX-License-Identifier: BSD-3-Clause */
/* A scan of crystals without rates, and counts at a point or of a beam. */
#include "crystal_simulate.h"
#include "base/constants.h"
#include "core/comm.h"
#include "core/progress.h"
#include "core/size.h"
#include "scanner/scanner.h"

#include <stdlib.h>

#define HOPELESS (1ll << 25)     /* decays without a single event */
#define Z_DRAW 0x60000000u       /* places along z of an event */
#define NUMBER_DRAW (1ull << 62) /* history of how many events there are */
#define MOST_DECAYS (1ll << 61)

struct run {
	const struct iso_crystal_simulate *p;
	const struct iso_modules *m;
	iso_ctx *ctx;
	struct iso_crystal_scan scan;
	struct crystal_event *event;
	struct iso_events block;
	iso_emit_fn emit;
	void *arg;
};

static int check(const struct iso_crystal_simulate *p)
{
	if (!p->setting.activity || !p->setting.activity->has_grid)
		return iso_fail(ISO_EINPUT, "simulate: an image without voxel sizes");
	if (!(p->decays > 0) && (!(p->counts >= 1) || !(p->counts <= 1e12)))
		return iso_fail(ISO_EARG, "simulate: %g counts, must be 1 to 1e12", p->counts);
	if (!(p->decays >= 0) || !(p->decays <= 1e15))
		return iso_fail(ISO_EARG, "simulate: %g decays, must be 0 to 1e15", p->decays);
	if (p->setting.mu && p->setting.labels)
		return iso_fail(ISO_EARG, "simulate: an object of 'mu' or of 'materials', not both");
	if (!(p->prompt_kev <= CRYSTAL_TOP))
		return iso_fail(ISO_EARG, "simulate: a photon of %g keV, must be at most %d", p->prompt_kev,
		                CRYSTAL_TOP);
	return ISO_OK;
}

/* ---- events ---- */

static void put_event(struct iso_events *b, int64_t i, const struct run *r, const struct crystal_event *e)
{
	struct iso_event *v = b->v + i;
	const double *pos = r->p->scanner->pos;

	for (int a = 0; a < 3; a++) {
		v->p1[a] = (float)pos[3 * (size_t)e->crystal[0] + (size_t)a];
		v->p2[a] = (float)pos[3 * (size_t)e->crystal[1] + (size_t)a];
	}
	v->dt_ps = r->m->single_fwhm_ps > 0 ? e->dt_ps : 0;
	if (b->crystal) memcpy(b->crystal + 2 * i, e->crystal, sizeof e->crystal);
	if (r->m->z_blur > 0) {
		struct philox w = philox_draw(r->p->setting.seed, e->decay, Z_DRAW);
		float g[2], sigma = (float)(r->m->z_blur / ISO_FWHM_PER_SIGMA);

		photon_gauss(g, w.w[0], w.w[1]);
		v->p1[2] = e->z[0] + sigma * g[0];
		v->p2[2] = e->z[1] + sigma * g[1];
	}
}

static int make_block(struct run *r, int64_t room)
{
	struct iso_events *b = &r->block;

	r->event = size_alloc(room, sizeof *r->event);
	b->v = size_alloc(room, sizeof *b->v);
	if (!(r->m->z_blur > 0)) b->crystal = size_alloc(room, 2 * sizeof *b->crystal);
	b->tof_fwhm_ps = r->p->scanner->tof_fwhm_ps;
	if (r->event && b->v && (b->crystal || r->m->z_blur > 0)) return ISO_OK;
	return iso_fail_memory("simulate", room * (int64_t)(sizeof *r->event + sizeof *b->v));
}

static int send(struct run *r, int64_t n)
{
	int st = ISO_OK;

#pragma omp parallel for num_threads(r->ctx->threads)
	for (int64_t i = 0; i < n; i++) put_event(&r->block, i, r, r->event + i);
	r->block.n = n;
	if (r->p->truth && n > 0) st = r->p->truth(r->p->truth_arg, r->event, n);
	return st || n == 0 ? st : r->emit(r->arg, &r->block);
}

/* A number of mean `mean`, or just that. */
static int64_t number(const struct iso_crystal_simulate *p, double mean)
{
	return p->exact ? llround(mean) : iso_poisson(mean, p->setting.seed, NUMBER_DRAW);
}

/* Decays first to first + n - 1, or up to that of event number `most`. */
static int one_round(struct iso_crystal_simulated *info, struct run *r, int64_t n, int64_t most)
{
	int64_t count[CRYSTAL_COUNTS] = { 0 }, found;
	uint64_t first = (uint64_t)info->decays;
	int st = iso_crystal_scan_round(r->event, &found, count, &r->scan, first, n);

	if (!st && found >= most && (int64_t)(r->event[most - 1].decay - first) + 1 < n) {
		n = (int64_t)(r->event[most - 1].decay - first) +
		    1; /* its decay is the last: count no further */
		memset(count, 0, sizeof count);
		st = iso_crystal_scan_round(r->event, &found, count, &r->scan, first, n);
	}
	if (st) return st;
	info->decays += n;
	info->events += found;
	for (int c = 0; c < CRYSTAL_COUNTS; c++) info->count[c] += count[c];
	return send(r, found);
}

static int run_all(struct iso_crystal_simulated *info, struct run *r)
{
	const struct iso_crystal_simulate *p = r->p;
	int64_t decays = p->decays > 0 ? number(p, p->decays) : MOST_DECAYS;
	int64_t goal = p->decays > 0 ? INT64_MAX : number(p, p->counts);
	int64_t size = CRYSTAL_PIECE / (iso_ctx_is_cuda(r->ctx) ? 1 : 16), st = ISO_OK;
	struct iso_clock clock =
		iso_clock_start_of(r->ctx, p->decays > 0 ? "decays" : "events",
	                           p->decays > 0 ? "decays" : "events", 0, p->decays > 0 ? decays : goal);

	if ((st = make_block(r, size))) return (int)st;
	while (!st && info->decays < decays && info->events < goal) {
		int64_t left = decays - info->decays;

		st = one_round(info, r, left < size ? left : size, goal - info->events);
		if (!st && p->decays <= 0 && info->events == 0 && info->decays >= HOPELESS)
			st = iso_fail(ISO_EINPUT, "simulate: none of %" PRId64 " decays gave an event",
			              info->decays);
		if (!st) iso_clock_step(&clock, p->decays > 0 ? info->decays : info->events, NULL);
	}
	return (int)st;
}

int iso_crystal_simulate(struct iso_crystal_simulated *info, iso_ctx *ctx,
                         const struct iso_crystal_simulate *p, iso_emit_fn emit, void *arg)
{
	struct run r = { .p = p, .ctx = ctx, .emit = emit, .arg = arg };
	struct crystal_setting setting = p->setting;
	const double nowhere[3] = { 0 };
	int st = check(p);

	*info = (struct iso_crystal_simulated){ 0 };
	if (st) return st;
	r.m = setting.modules;
	st = iso_crystal_scan_create(&r.scan, ctx, &setting, nowhere, p->prompt_kev);
	st = iso_comm_agree(ctx, st);
	if (!st && p->pairs_only) iso_crystal_scan_lazy(&r.scan, r.m);
	if (!st) st = run_all(info, &r);
	iso_crystal_scan_free(&r.scan);
	free(r.event);
	free(r.block.v);
	free(r.block.crystal);
	return st;
}

/* ---- counts ---- */

struct beam {
	double e[2][3]; /* directions of u and v */
};

/* The beam of module 0, and the axes across it. */
static void aim(struct crystal_source *q, struct beam *b, const struct iso_modules *m, const double beam[3])
{
	double t[3], n[3], phi = beam[0] * M_PI / 180, theta = beam[1] * M_PI / 180;
	double low[2];

	modules_axes(t, n, m, 0);
	for (int a = 0; a < 2; a++) low[a] = modules_middle(m, a, modules_along(m, a) / 2) - .5 * m->pitch[a];
	q->beam_kev = (float)beam[2];
	for (int k = 0; k < 3; k++) {
		double z = k == 2;

		q->dir[k] =
			(float)(sin(phi) * cos(theta) * t[k] + sin(theta) * z + cos(phi) * cos(theta) * n[k]);
		q->low[k] =
			(float)((m->ring[0].radius - m->cover - 1e-3) * n[k] + low[0] * t[k] + low[1] * z);
		q->low[k] += (float)(m->ring[0].z * z);
		q->side[0][k] = (float)(m->pitch[0] * t[k]);
		q->side[1][k] = (float)(m->pitch[1] * z);
		b->e[0][k] = cos(phi) * t[k] - sin(phi) * n[k];
		b->e[1][k] = -sin(theta) * sin(phi) * t[k] + cos(theta) * z - sin(theta) * cos(phi) * n[k];
	}
}

#define FARTHEST 20. /* mm */

struct sums {
	double n[2], one[2], two[2], depth, depths;
};

static void add_beam(struct iso_crystal_pointed *r, struct sums *s, const struct iso_modules *m,
                     const struct beam *b, double kev, const struct crystal_event *e)
{
	double p[3];

	s->depth += (double)e->dt_ps;
	s->depths++;
	if (e->photons[0] == 0) return;
	r->in_window++;
	r->more += e->photons[0] > 1;
	r->several += e->photons[1] > 1;
	r->not_first += !(e->first & 1);
	r->full_energy += fabs((double)e->kev[1] - kev) < .01;
	modules_point(p, m, (int32_t)e->crystal[0]);
	for (int k = 0; k < 2; k++) {
		double off = 0;

		for (int a = 0; a < 3; a++) off += ((double)e->at[a] - p[a]) * b->e[k][a];
		if (fabs(off) >= FARTHEST) continue;
		s->n[k]++;
		s->one[k] += off;
		s->two[k] += off * off;
	}
}

int iso_crystal_count(struct iso_crystal_pointed *r, iso_ctx *ctx, const struct iso_modules *m,
                      const struct iso_crystal_point *p)
{
	const struct crystal_setting setting = { .modules = m, .seed = p->seed };
	int64_t size = CRYSTAL_PIECE / (iso_ctx_is_cuda(ctx) ? 1 : 16);
	struct iso_crystal_scan scan = { 0 };
	struct crystal_event *e = size_alloc(size, sizeof *e);
	struct beam beam = { 0 };
	struct sums s = { 0 };
	int st = ISO_OK;

	*r = (struct iso_crystal_pointed){ 0 };
	if (!e) st = iso_fail_memory("simulate", size * (int64_t)sizeof *e);
	if (!st) st = iso_crystal_scan_create(&scan, ctx, &setting, p->at, 0);
	st = iso_comm_agree(ctx, st);
	if (!st && p->beam[2] > 0) aim(&scan.device.source, &beam, m, p->beam);
	struct iso_clock clock = iso_clock_start_of(ctx, "decays", "decays", 0, p->n);

	for (int64_t first = 0; first < p->n && !st; first += size) {
		int64_t found, n = p->n - first < size ? p->n - first : size;

		st = iso_crystal_scan_round(e, &found, r->count, &scan, (uint64_t)first, n);
		for (int64_t i = 0; i < found && !st && p->beam[2] > 0; i++)
			add_beam(r, &s, m, &beam, p->beam[2], e + i);
		if (!st) iso_clock_step(&clock, first + n, NULL);
	}
	for (int k = 0; k < 2; k++) {
		r->mean[k] = s.n[k] > 0 ? s.one[k] / s.n[k] : 0;
		r->rms[k] = s.n[k] > 0 ? sqrt(fmax(s.two[k] / s.n[k] - r->mean[k] * r->mean[k], 0)) : 0;
	}
	r->depth = s.depths > 0 ? s.depth / s.depths : 0;
	iso_crystal_scan_free(&scan);
	free(e);
	return st;
}
