/* SPDX-License-Identifier: BSD-3-Clause */
/* Scanners and events of the benchmarks of barrels. */
#include "jpet.h"

#include "core/philox.h"
#include "model/barrel/barrel_kern.h"

#include <math.h>

enum { COUNTED = 500 }; /* events whose voxels are counted */

const char *const jpet_cases[] = { "modular", "total-body", NULL };

static const char *const text[] = {
	"kind: barrel\n"
	"strips: [{modules: 24, strips: 13, pitch_mm: 7, radius_mm: 381.86, width_mm: 6, depth_mm: 24, "
	"length_mm: 500}]\n"
	"least_pair_distance_mm: 200\n"
	"time: {end_sigma_ps: 90, light_speed_mm_per_ps: 0.126, light_attenuation_mm: 400}\n",
	"kind: barrel\n"
	"strips:\n"
	"  - {modules: 24, strips: 16, pitch_mm: 6.5, radius_mm: 408.08, width_mm: 6, depth_mm: 30, "
	"length_mm: "
	"2000}\n"
	"  - {modules: 24, strips: 16, pitch_mm: 6.5, radius_mm: 443.08, width_mm: 6, depth_mm: 30, "
	"length_mm: "
	"2000}\n"
	"time: {sigma_z_mm: 5, crt_fwhm_ps: 400}\n",
};

static const double half[][3] = { { 100, 100, 100 }, { 180, 120, 500 } };

int jpet_open(struct jpet *j, int which)
{
	int st = bench_scanner(&j->scanner, text[which]);

	if (st) return st;
	j->b = iso_scanner_barrel(j->scanner);
	memcpy(j->half, half[which], sizeof j->half);
	return ISO_OK;
}

/* The strip of a layer that is nearest to a point across. */
static int32_t nearest(const struct iso_barrel *b, int64_t first, int64_t n, double x, double y)
{
	int32_t found = (int32_t)first;
	double least = INFINITY;

	for (int64_t i = first; i < first + n; i++) {
		const double far = pow(b->strip[i].x - x, 2) + pow(b->strip[i].y - y, 2);

		if (far < least) found = (int32_t)i;
		least = fmin(least, far);
	}
	return found;
}

static double unit(uint32_t w)
{
	return (double)philox_unit(w);
}

static struct iso_barrel_event draw(const struct jpet *j, uint64_t seed, int64_t i)
{
	const struct philox p = philox_draw(seed, (uint64_t)i, 0), q = philox_draw(seed, (uint64_t)i, 1),
			    r = philox_draw(seed, (uint64_t)i, 2);
	const struct iso_barrel *b = j->b;
	const int64_t layer = b->n > 384 ? b->n / 2 : b->n;
	const double far = sqrt(unit(p.w[0])), turn = 2 * M_PI * unit(p.w[1]), phi = M_PI * unit(p.w[2]);
	const double u[2] = { j->half[0] * far * cos(turn), j->half[1] * far * sin(turn) };
	const double z = j->half[2] * (2 * unit(p.w[3]) - 1), tau = 1.2 * (unit(q.w[0]) - .5);
	int32_t strip[2];
	double way[2], hit[2], sigma_z, sigma_dl;

	for (int k = 0; k < 2; k++) {
		const int64_t first = (q.w[1] >> k & 1) * layer % b->n;
		const double c = (k ? -1 : 1) * cos(phi), s = (k ? -1 : 1) * sin(phi);
		const double radius = hypot(b->strip[first].x, b->strip[first].y),
			     along = u[0] * c + u[1] * s;
		const double to = -along + sqrt(along * along + radius * radius - u[0] * u[0] - u[1] * u[1]);

		strip[k] = nearest(b, first, layer, u[0] + to * c, u[1] + to * s);
		way[k] = hypot(b->strip[strip[k]].x - u[0], b->strip[strip[k]].y - u[1]);
		hit[k] = z + (k ? -1 : 1) * way[k] * tau;
	}
	iso_barrel_sigma(&sigma_z, &sigma_dl, b);
	return (struct iso_barrel_event){
		strip[0], strip[1], (iso_real)(hit[0] + sigma_z * philox_gauss(q.w[2], q.w[3])),
		(iso_real)(hit[1] + sigma_z * philox_gauss(r.w[0], r.w[1])),
		(iso_real)((way[0] - way[1]) * sqrt(1 + tau * tau) + sigma_dl * philox_gauss(r.w[2], r.w[3]))
	};
}

int jpet_events(struct jpet *j, iso_ctx *ctx, int64_t n, uint64_t seed)
{
	const double start_s = iso_now_s();
	int st = BENCH_NEW(j->e.v, n);

	if (st) return st;
	j->e.n = n;
#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
	for (int64_t i = 0; i < n; i++) j->e.v[i] = draw(j, seed, i);
	iso_barrel_events_check(&j->e, j->b);
	j->usable = n - j->e.unknown - j->e.no_pair - j->e.not_finite - j->e.far;
	j->generate_s = iso_now_s() - start_s;
	return iso_ctx_poll(ctx);
}

/* Voxels that an event reaches. */
static int64_t voxels(const struct barrel_params *p, const struct iso_barrel_event *e)
{
	struct barrel_line l;
	int64_t sum = 0;

	if (!barrel_line(&l, p, e, 1)) return 0;
	const struct barrel_tube t = barrel_tube(p, &l);

	for (int i = 0; i < t.n * t.wide; i++) {
		struct barrel_column k;
		int ix, iy, first, n;

		if (barrel_candidate(&ix, &iy, p, &t, i) &&
		    barrel_column_at(&k, &l, p->kernel, p->first[0] + (iso_real)ix * p->pixel,
		                     p->first[1] + (iso_real)iy * p->pixel, p->pixel) &&
		    barrel_planes(&first, &n, p, &k))
			sum += n;
	}
	return sum;
}

int jpet_visited(struct jpet *j, const struct iso_barrel_model *m)
{
	const struct iso_barrel *b = j->b;
	const int64_t counted = j->e.n < COUNTED ? j->e.n : COUNTED;
	struct barrel_params p = { .mu = b->mu,
		                   .end_sigma = b->end_sigma_ps,
		                   .light_speed = b->light_speed,
		                   .attenuation = b->light_attenuation,
		                   .kernel = m->kernel,
		                   .cut2 = 9,
		                   .pixel = (iso_real)m->grid.voxel[0],
		                   .plane = (iso_real)m->grid.voxel[2] };
	struct barrel_place *place;
	int64_t sum = 0;
	int st = BENCH_NEW(place, b->n);

	if (st) return st;
	iso_barrel_sigma(&p.sigma_z, &p.sigma_dl, b);
	for (int a = 0; a < 3; a++) {
		p.n[a] = (int)m->grid.n[a];
		p.first[a] = (iso_real)(-.5 * (double)(m->grid.n[a] - 1) * m->grid.voxel[a]);
	}
	for (int64_t i = 0; i < b->n; i++) place[i] = barrel_place(b->strip + i);
	p.place = place;
	for (int64_t i = 0; i < counted; i++) sum += voxels(&p, j->e.v + i);
	j->visited = (double)sum / (double)counted;
	free(place);
	return ISO_OK;
}

void jpet_free(struct jpet *j)
{
	iso_barrel_events_free(&j->e);
	iso_scanner_free(j->scanner);
}
