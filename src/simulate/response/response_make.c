/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of response of a scanner, by parallel photons. */
#include "beams_kern.h"

#include "core/plan.h"
#include "core/size.h"
#include "core/sized.h"
#include "scanner/scanner.h"

enum { TURN = 4096 }; /* photons that a thread takes at a time */
#define MARGIN_MM 20.
#define PHOTONS_CPU 2e8
#define PHOTONS_CUDA 2e9
#define OTHER_ENERGIES 10 /* those below 511 keV have so many times fewer photons */

struct maker {
	struct iso_response_make p;
	const struct iso_modules *m;
	iso_ctx *ctx;
	iso_response *r;
	struct iso_room room; /* of the device */
	struct beams b;
	struct beam *beam; /* on the host */
	float (*nominal)[2];
	double mm2[RESPONSE_DIRECTIONS]; /* of a rectangle */
	struct iso_clock clock;
};

/* ---- geometry ---- */

/* The module that the photons fly at: the first of the ring that is nearest to the axis and the middle. */
static int32_t target(const struct iso_modules *m)
{
	int best = 0;

	for (int r = 1; r < m->rings; r++) {
		double d = m->ring[r].radius - m->ring[best].radius;

		if (d < -1e-6 || (d < 1e-6 && fabs(m->ring[r].z) < fabs(m->ring[best].z))) best = r;
	}
	return m->ring[best].first;
}

static void axes_of(double u[3], double v[3], double d[3], double phi, double theta, const double t[3],
                    const double n[3])
{
	const double z[3] = { 0, 0, 1 };

	for (int a = 0; a < 3; a++) {
		d[a] = sin(phi) * cos(theta) * t[a] + sin(theta) * z[a] + cos(phi) * cos(theta) * n[a];
		u[a] = cos(phi) * t[a] - sin(phi) * n[a];
		v[a] = -sin(theta) * sin(phi) * t[a] + cos(theta) * z[a] - sin(theta) * cos(phi) * n[a];
	}
}

static double dot(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Beam number i, and the nominal points in its axes. */
static void aim(struct maker *k, int i)
{
	const struct iso_modules *m = k->m;
	const struct modules_ring *ring = m->ring + modules_ring_of(m, k->b.module);
	double phi = i / RESPONSE_THETAS * RESPONSE_PHI_STEP,
	       theta = i % RESPONSE_THETAS * RESPONSE_THETA_STEP;
	double half[3] = { modules_mm(m, 0) / 2, modules_mm(m, 1) / 2, (m->crystal[2] + m->cover) / 2 };
	double t[3], n[3], d[3], u[3], v[3], middle[3], mm[2];
	struct beam *beam = k->beam + i;

	modules_axes(t, n, m, k->b.module);
	axes_of(u, v, d, phi, theta, t, n);
	for (int a = 0; a < 3; a++)
		middle[a] = (ring->radius + half[2] - m->cover) * n[a] + (a == 2 ? ring->z : 0);
	mm[0] = 2 * (half[0] * fabs(dot(u, t)) + half[2] * fabs(dot(u, n)) + MARGIN_MM);
	mm[1] = 2 *
	        (half[0] * fabs(dot(v, t)) + half[1] * fabs(v[2]) + half[2] * fabs(dot(v, n)) + MARGIN_MM);
	/* back to where the line comes nearest to the axis */
	double back = (middle[0] * d[0] + middle[1] * d[1]) / (d[0] * d[0] + d[1] * d[1]);

	k->mm2[i] = mm[0] * mm[1];
	for (int a = 0; a < 3; a++) {
		beam->dir[a] = (float)d[a];
		beam->side[0][a] = (float)(mm[0] * u[a]);
		beam->side[1][a] = (float)(mm[1] * v[a]);
		beam->low[a] = (float)(middle[a] - back * d[a] - mm[0] / 2 * u[a] - mm[1] / 2 * v[a]);
	}
	for (int a = 0; a < 2; a++) beam->size[a] = (float)mm[a];
	for (int32_t iz = 0, c = 0; iz < modules_along(m, 1); iz++)
		for (int32_t it = 0; it < modules_along(m, 0); it++)
			for (int32_t layer = 0; layer < m->layers; layer++, c++) {
				float *to = k->nominal[(int64_t)i * k->b.crystals + c];
				const double *end = k->p.scanner->pos +
				                    3 * (int64_t)modules_id(m, k->b.module, it, iz, layer);
				double p[3];

				for (int a = 0; a < 3; a++) p[a] = end[a] - middle[a];
				to[0] = (float)dot(p, u);
				to[1] = (float)dot(p, v);
			}
}

static int aim_all(struct maker *k)
{
	int64_t n = (int64_t)RESPONSE_DIRECTIONS * k->b.crystals;

	ISO_HOST(&k->room, k->beam, RESPONSE_DIRECTIONS);
	ISO_HOST(&k->room, k->nominal, n);
	if (k->room.status) return k->room.status;
	for (int i = 0; i < RESPONSE_DIRECTIONS; i++) aim(k, i);
	k->b.beam = ISO_MOVE(&k->room, k->beam, RESPONSE_DIRECTIONS);
	k->b.nominal = (const float(*)[2])ISO_MOVE(&k->room, k->nominal, n);
	return k->room.status;
}

/* ---- passes ---- */

static int beams_cpu(iso_ctx *ctx, const struct beams *b)
{
	int64_t n = b->each * RESPONSE_DIRECTIONS;

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < n; i += TURN) {
		int64_t end = n - i < TURN ? n : i + TURN;

		for (int64_t k = i; k < end && !iso_stopped(ctx); k++) beams_run(b, k);
		iso_clock_add(b->clock, end - i);
	}
	return iso_ctx_poll(ctx);
}

static int run(struct maker *k)
{
	void *cuda = NULL;
	int st = iso_ctx_is_cuda(k->ctx) ? iso_cuda_symbol(&cuda, BEAMS_CUDA) : ISO_OK;

	if (!st) st = (cuda ? (beams_fn *)cuda : beams_cpu)(k->ctx, &k->b);
	k->b.first += k->b.each * RESPONSE_DIRECTIONS;
	return st;
}

static int fetch(const struct maker *k, void *to, const void *from, int64_t bytes)
{
	return k->ctx->vec->download(k->ctx, to, from, bytes);
}

/* All of 511 keV. */
static int run_whole(struct maker *k)
{
	iso_response *r = k->r;
	int64_t n = (int64_t)RESPONSE_DIRECTIONS * k->b.crystals,
		places = (int64_t)RESPONSE_DIRECTIONS * k->b.places;
	uint32_t records[RESPONSE_DIRECTIONS];
	double mm2[RESPONSE_DIRECTIONS];
	int64_t depth[2];
	int st = run(k);

	if (st || (st = fetch(k, r->count, k->b.count, n * 4)) ||
	    (st = fetch(k, r->hist[0], k->b.hist[0], places * RESPONSE_BINS * 4)) ||
	    (st = fetch(k, r->hist[1], k->b.hist[1], places * RESPONSE_BINS * 4)) ||
	    (st = fetch(k, r->beyond, k->b.beyond, places * 4)) ||
	    (st = fetch(k, records, k->b.records, sizeof records)) ||
	    (st = fetch(k, depth, k->b.depth, sizeof depth)))
		return st;
	for (int i = 0; i < RESPONSE_DIRECTIONS; i++) {
		mm2[i] = k->mm2[i] / (double)k->b.each;
		r->info.records += records[i];
		r->d_energy[(RESPONSE_ENERGIES - 1) * RESPONSE_DIRECTIONS + i] =
			(float)(records[i] * mm2[i] / k->b.crystals);
	}
	response_smooth(r->d, &r->info.chi2, r->count, mm2, k->b.crystals);
	r->info.photons = k->b.each * RESPONSE_DIRECTIONS;
	r->info.depth_mm = depth[1] > 0 ? (double)depth[0] / BEAMS_DEPTH / (double)depth[1] : 0;
	return ISO_OK;
}

/* A lower energy: the mean crystal alone. */
static int run_energy(struct maker *k, int energy)
{
	uint32_t records[RESPONSE_DIRECTIONS];
	int st;

	k->b.kev = (float)(300 + 10 * energy);
	memset(records, 0, sizeof records);
	if ((st = k->ctx->vec->upload(k->ctx, k->b.records, records, sizeof records)) || (st = run(k)) ||
	    (st = fetch(k, records, k->b.records, sizeof records)))
		return st;
	for (int i = 0; i < RESPONSE_DIRECTIONS; i++)
		k->r->d_energy[energy * RESPONSE_DIRECTIONS + i] =
			(float)(records[i] * k->mm2[i] / (double)k->b.each / k->b.crystals);
	return ISO_OK;
}

static int run_all(struct maker *k)
{
	int st = run_whole(k);

	k->b.count = NULL;
	if (k->p.no_energies) return st;
	k->b.each = k->b.each / OTHER_ENERGIES > 0 ? k->b.each / OTHER_ENERGIES : 1;
	for (int e = 0; e < RESPONSE_ENERGIES - 1 && !st; e++) st = run_energy(k, e);
	return st;
}

/* ---- all of it ---- */

/* What follows photons into crystals, and reads them out. */
static int open_scan(struct maker *k)
{
	const struct iso_modules *m = k->m;
	const struct crystal_setting set = { .modules = m, .seed = k->p.seed };
	struct crystal_scan *s = &k->b.scan;
	struct iso_modules *copy;
	int st = iso_crystal_make(&s->w, &k->room, &set);

	if (!st) st = iso_crystal_map(&s->map, &k->room, m);
	if (st) return st;
	if (ISO_HOST(&k->room, copy, 1)) {
		*copy = *m;
		s->modules = ISO_MOVE(&k->room, copy, 1);
	}
	s->blur = (struct pulse_blur){ k->p.seed, m->resolution, 0 };
	memcpy(s->window, m->window, sizeof s->window);
	memcpy(s->prompt, m->prompt, sizeof s->prompt);
	s->trigger = m->trigger;
	return k->room.status;
}

static int open_counts(struct maker *k)
{
	int64_t n = (int64_t)RESPONSE_DIRECTIONS * k->b.crystals,
		places = (int64_t)RESPONSE_DIRECTIONS * k->b.places;

	ISO_DEVICE(&k->room, k->b.count, n);
	ISO_DEVICE(&k->room, k->b.beyond, places);
	for (int a = 0; a < 2; a++) ISO_DEVICE(&k->room, k->b.hist[a], places * RESPONSE_BINS);
	ISO_DEVICE(&k->room, k->b.records, RESPONSE_DIRECTIONS);
	ISO_DEVICE(&k->room, k->b.depth, 2);
	return k->room.status;
}

/* Strips whose place along z is measured: v is that blur, whatever crystal. */
static void blur_v(iso_response *r, double fwhm)
{
	const double sigma = fwhm / 2.35482;

	for (int64_t i = 0; i < RESPONSE_DIRECTIONS * response_places_of(&r->shape); i++) {
		double along = cos((double)(i / response_places_of(&r->shape) % RESPONSE_THETAS) *
		                   RESPONSE_THETA_STEP);

		for (int b = 0; b < RESPONSE_BINS; b++) {
			double x = (b + .5 - RESPONSE_BINS / 2.) * RESPONSE_BIN_MM / (sigma * along);

			r->hist[1][i * RESPONSE_BINS + b] = (uint32_t)lrint(1e6 * exp(-x * x / 2));
		}
	}
}

static int make(struct maker *k)
{
	struct response_crystals c;
	struct response_shape shape;
	char hash[17];
	double inner, outer, half;
	int st = response_crystals(&c, &shape, hash, k->p.scanner);

	if (st || (st = response_create(&k->r, &shape))) return st;
	memcpy(k->r->info.scanner, hash, sizeof hash);
	memcpy(k->r->info.window_kev, k->m->window, sizeof k->m->window);
	iso_modules_extent(&inner, &outer, &half, k->m);
	k->b.module = target(k->m);
	k->b.crystals = (int32_t)response_crystals_of(&shape);
	k->b.places = (int32_t)response_places_of(&shape);
	k->b.inner2 = (float)(inner * inner);
	k->b.kev = SOURCE_KEV;
	k->b.each = (k->p.photons + RESPONSE_DIRECTIONS - 1) / RESPONSE_DIRECTIONS;
	if ((st = open_scan(k)) || (st = open_counts(k)) || (st = aim_all(k))) return st;
	double all = (double)k->b.each * RESPONSE_DIRECTIONS *
	             (k->p.no_energies ? 1 : 1 + (RESPONSE_ENERGIES - 1.) / OTHER_ENERGIES);

	k->clock = iso_clock_brief(k->ctx, "response", "photons", (int64_t)all, NULL);
	k->b.clock = &k->clock;
	if ((st = run_all(k))) return st;
	iso_clock_end(&k->clock);
	if (k->m->z_blur > 0) blur_v(k->r, k->m->z_blur);
	return response_finish(k->r);
}

static int take(struct iso_response_make *own, const iso_ctx *ctx, const struct iso_response_make *p)
{
	int st = iso_sized_take(own, "iso_response_make", sizeof *own, p);

	if (st) return st;
	if (!own->scanner) return iso_fail(ISO_EARG, "response: no scanner");
	if (!own->scanner->modules)
		return iso_fail(
			ISO_EINPUT,
			"response: scanner %s does not say what its crystals are: its description needs "
			"a map such as `detector: {material: {formula: Lu2SiO5, density: 7.4}}`",
			iso_scanner_name(own->scanner));
	if (own->photons < 0 || (double)own->photons > 1e12) /* counts have 32 bits */
		return iso_fail(ISO_EARG, "response: %" PRId64 " photons, must be 0 to 1e12", own->photons);
	if (own->photons == 0) own->photons = (int64_t)(iso_ctx_is_cuda(ctx) ? PHOTONS_CUDA : PHOTONS_CPU);
	const struct iso_modules *m = own->scanner->modules;

	if (!(m->window[0] < m->window[1]) || !(m->resolution > 0))
		return iso_fail(ISO_EINPUT,
		                "response: scanner %s does not say which energies it counts: its description "
		                "needs a line such as `energy: {window_kev: [435, 650], resolution: 0.11}`",
		                iso_scanner_name(own->scanner));
	return ISO_OK;
}

int iso_response_create(iso_response **r, iso_ctx *ctx, const struct iso_response_make *p)
{
	if (!r || !ctx || !p) return iso_fail_null(__func__);
	struct maker k = { .ctx = ctx, .room = iso_room_of(ctx, "response") };
	int st = take(&k.p, ctx, p);

	if (!st && !(st = iso_ctx_ready(ctx))) {
		k.m = k.p.scanner->modules;
		st = make(&k);
	}
	iso_room_free(&k.room);
	if (st)
		iso_response_free(k.r);
	else
		*r = k.r;
	return st;
}

int iso_response_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_response_make *p)
{
	if (!plan || !ctx || !p) return iso_fail_null(__func__);
	struct iso_response_make own;
	struct response_crystals c;
	struct response_shape shape;
	char hash[17];
	int st = take(&own, ctx, p);

	if (st || (st = response_crystals(&c, &shape, hash, own.scanner))) return st;
	const struct crystal_setting set = { .modules = own.scanner->modules };
	int64_t n = RESPONSE_DIRECTIONS * response_crystals_of(&shape),
		places = RESPONSE_DIRECTIONS * response_places_of(&shape);

	iso_crystal_plan(plan, ctx, &set);
	iso_plan_add(plan, "response: areas", n, 12, false);
	iso_plan_add(plan, "response: histograms and nodes", places, 8 * RESPONSE_BINS + 124, false);
	if (iso_ctx_is_cuda(ctx)) {
		iso_plan_add(plan, "response: counts on the device", n, 12, true);
		iso_plan_add(plan, "response: histograms on the device", places, 8 * RESPONSE_BINS + 4, true);
	}
	return ISO_OK;
}
