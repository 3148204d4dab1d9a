/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark simulate: events of the clinical ring, without photons and by photons, of a water cylinder of 200 mm with
   time of flight and a quarter of randoms; decays down to the crystals; and voxels of the phantom `body`. Events go to nobody: no file is written. */
#include "bench.h"

#include "limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char crystal_ring[] =
#include "embedded/crystal-ring.yaml.h"
	;
static const char strip_layers[] =
#include "embedded/strip-layers.yaml.h"
	;
static const char clinical_ring[] =
#include "embedded/clinical-ring.yaml.h"
	;

/* Decays of a case of crystals where --events says nothing. LINE: the draws of a decay, two of Philox at 60, are its floor. */
#define CRYSTAL_DECAYS 2e6 /* on the CPU; CUDA has 400 times as many */
enum { LINE = 120 };

/* The least that each takes, in operations. EVENT: of a decay that gives an event at once four draws of Philox at 60,
   its place and line 60, two photons to the ring and through the map 120, two crystals 60. DECAY: as in bench_scatter.c.
   VOXEL: its place and one volume that holds it. */
enum { EVENT = 480, DECAY = 850, VOXEL = 20 };

#define RANDOMS .25 /* share of the events */
#define VOXEL_MM 4. /* of the cylinder's image and map */

static const char *const cases[] = { "ring", "physics", "crystals", "phantom", "all", NULL };

static struct settings {
	double events, voxel;
	int64_t repeats, seed, samples;
	const char *which;
} set = { .repeats = 3, .seed = 1, .samples = 5, .which = "all" };

static struct opt opts[] = {
	{ 0, "case", .text = &set.which, .words = cases, .value = "NAME",
	  .help = "ring (events without photons), physics (by photons), crystals (a line and the NEMA "
	          "scatter phantom in a ring, strips), phantom (voxels), or all" },
	BENCH_EVENTS(&set.events),
	{ 0, "voxel", .real = &set.voxel, .value = "MM", .min = .1, .max = 100,
	  .absent = "4 on the CPU, 1.5 on CUDA", .help = "voxel size of the phantom" },
	{ 0, "samples", .integer = &set.samples, .value = "N", .min = 1, .max = 64,
	  .help = "points along each axis of a voxel that a surface crosses" },
	BENCH_REPEATS(&set.repeats),
	{ 0, "seed", .integer = &set.seed, .value = "N", .min = 0, .max = 9e15,
	  .help = "seed of the events" },
	{ 0 },
};

struct run {
	struct cmd *c;
	iso_phantom *phantom;
	struct iso_array image, mu;
	struct iso_simulate p;
	struct iso_simulated info;
	double per_s;  /* operations, measured here */
	uint64_t hash; /* of all events or voxels: the same on every device */
};

/* FNV-1a over words of 4 bytes. */
static void add_hash(uint64_t *hash, const void *v, int64_t bytes)
{
	uint64_t h = *hash;

	for (const char *p = v, *end = p + bytes; p < end; p += 4) {
		uint32_t word;

		memcpy(&word, p, sizeof word);
		h = (h ^ word) * 0x100000001b3u;
	}
	*hash = h;
}

static int time_it(struct bench_time *time, struct run *r, int (*once)(struct run *r))
{
	double seconds[1 + BENCH_MOST_REPEATS];
	int st = ISO_OK;

	for (int i = 0; i <= set.repeats && !st; i++) {
		double start_s = iso_now_s();

		st = once(r);
		seconds[i] = iso_now_s() - start_s;
	}
	if (!st) *time = bench_time((int)set.repeats, seconds + 1);
	return st;
}

/* The phantom on voxels so wide. */
static int open_phantom(struct run *r, const char *name, double voxel)
{
	struct iso_grid g;
	int st = iso_phantom_create(&r->phantom, name, NULL);

	if (st) return st;
	iso_phantom_grid(&g, r->phantom);
	for (int a = 0; a < 3; a++) {
		g.n[a] = (int64_t)ceil((double)g.n[a] * g.voxel[a] / voxel);
		g.voxel[a] = voxel;
	}
	if ((st = iso_memory_check(r->c->ctx, "images",
	                           2 * iso_grid_voxels(&g) * (int64_t)sizeof(iso_real))) ||
	    (st = iso_array_on_grid(&r->image, &g)))
		return st;
	return iso_array_on_grid(&r->mu, &g);
}

static void close_phantom(struct run *r)
{
	iso_phantom_free(r->phantom);
	iso_array_free(&r->image);
	iso_array_free(&r->mu);
	r->phantom = NULL;
}

/* ---- events ---- */

static int forget(void *arg, const struct iso_events *e)
{
	(void)arg;
	(void)e;
	return ISO_OK;
}

static int look(void *arg, const struct iso_events *e)
{
	add_hash(arg, e->v, e->n * (int64_t)sizeof *e->v);
	return ISO_OK;
}

static int simulate(struct run *r)
{
	r->info.size = sizeof r->info;
	return iso_simulate_blocks(&r->info, r->c->ctx, &r->p, forget, NULL);
}

static int run_events(struct run *r, bool physics)
{
	const char *name = physics ? "physics" : "ring";
	struct bench_row row = { .bench = "simulate" };
	int st;

	r->p.physics = physics;
	if ((st = time_it(&row.time, r, simulate))) return st;
	r->hash = 0xcbf29ce484222325u;
	r->info.size = sizeof r->info;
	if ((st = iso_simulate_blocks(&r->info, r->c->ctx, &r->p, look, &r->hash))) return st;
	row.events = (double)(r->info.trues + r->info.scatters + r->info.randoms);
	row.bytes = row.events * (double)sizeof(struct iso_event);
	row.limit_s = (physics ? DECAY * r->info.decays : EVENT * row.events) / r->per_s;
	row.more = record_pack("{s:s, s:f, s:f, s:I, s:I, s:I, s:I}", "case", name, "events", row.events,
	                       "decays", r->info.decays, "trues", (json_int_t)r->info.trues, "scatters",
	                       (json_int_t)r->info.scatters, "randoms", (json_int_t)r->info.randoms, "hash",
	                       (json_int_t)(r->hash >> 1));
	snprintf(row.problem, sizeof row.problem, "%s", name);
	snprintf(row.note, sizeof row.note,
	         "%" PRId64 " trues, %" PRId64 " scattered, %" PRId64
	         " randoms of %.4g decays; hash %016" PRIx64,
	         r->info.trues, r->info.scatters, r->info.randoms, r->info.decays, r->hash);
	return bench_add(r->c, &row);
}

static int run_ring(struct run *r)
{
	iso_scanner *scanner = NULL;
	int st;

	if ((st = open_phantom(r, "cylinder", VOXEL_MM)) || (st = bench_scanner(&scanner, clinical_ring)) ||
	    (st = iso_phantom_raster(r->image.v, r->mu.v, r->c->ctx, r->phantom, &r->image.grid, 2)))
		goto done;
	r->p = (struct iso_simulate){ .size = sizeof r->p,
		                      .scanner = scanner,
		                      .activity = &r->image,
		                      .mu = &r->mu,
		                      .counts = set.events,
		                      .randoms = RANDOMS,
		                      .tof_fwhm_ps = iso_scanner_tof_fwhm_ps(scanner),
		                      .seed = (uint64_t)set.seed };
	if (bench_chosen(set.which, "ring")) st = run_events(r, false);
	if (!st && bench_chosen(set.which, "physics")) st = run_events(r, true);
done:
	close_phantom(r);
	iso_scanner_free(scanner);
	return st;
}

/* ---- crystals ---- */

/* A line of 70 cm along z, x = 0, y = `y`; with water of NEMA's scatter phantom, 203 mm of density 0.96 to that of mu. */
static int make_line(struct iso_array *line, double y)
{
	struct iso_grid g = { .n = { 1, 1, 1 }, .voxel = { 1e-3, 1e-3, 700 }, .centre = { 0, y, 0 } };
	int st = iso_array_on_grid(line, &g);

	if (!st) line->v[0] = 1;
	return st;
}

static int make_nema(struct iso_array *mu)
{
	struct iso_grid g = { .n = { 204, 204, 1 }, .voxel = { 1, 1, 700 } };
	int st = iso_array_on_grid(mu, &g);

	for (int64_t i = 0; i < mu->n && !st; i++)
		mu->v[i] = hypot((double)(i % 204) - 101.5, (double)(i / 204) - 101.5) < 101.5
		                   ? (iso_real).0096
		                   : 0;
	return st;
}

struct crystals_run {
	struct run *r;
	struct iso_crystals p;
	struct iso_crystals_made made;
};

static int simulate_crystals(struct crystals_run *q)
{
	q->made.size = sizeof q->made;
	return iso_crystals_simulate(&q->made, q->r->c->ctx, &q->p, forget, NULL);
}

/* Decays, of which one in some hundred gives an event. */
static double crystal_decays(const struct run *r)
{
	if (cmd_given(r->c, "events")) return 100 * set.events;
	return CRYSTAL_DECAYS * (iso_ctx_is_cuda(r->c->ctx) ? 400 : 1);
}

static int run_crystals_case(struct run *r, const char *name, const char *scanner_text, bool nema)
{
	struct crystals_run q = { .r = r };
	struct bench_row row = { .bench = "simulate" };
	struct iso_array line = { 0 }, mu = { 0 };
	double seconds[1 + BENCH_MOST_REPEATS];
	iso_scanner *scanner = NULL;
	int st;

	if ((st = bench_scanner(&scanner, scanner_text)) || (st = make_line(&line, nema ? -45 : 0)) ||
	    (nema && (st = make_nema(&mu))))
		goto done;
	q.p = (struct iso_crystals){ .size = sizeof q.p,
		                     .scanner = scanner,
		                     .activity = &line,
		                     .mu = nema ? &mu : NULL,
		                     .decays = crystal_decays(r),
		                     .exact = true,
		                     .pairs_only = true,
		                     .seed = (uint64_t)set.seed };
	for (int i = 0; i <= set.repeats && !st; i++) {
		double start_s = iso_now_s();

		st = simulate_crystals(&q);
		seconds[i] = iso_now_s() - start_s;
	}
	if (st) goto done;
	row.time = bench_time((int)set.repeats, seconds + 1);
	row.events = (double)q.made.events;
	row.limit_s = LINE * q.p.decays / r->per_s;
	row.more = record_pack("{s:s, s:f, s:f, s:I}", "case", name, "decays", q.p.decays, "decays_per_s",
	                       q.p.decays / row.time.median, "events", (json_int_t)q.made.events);
	snprintf(row.problem, sizeof row.problem, "%s", name);
	snprintf(row.note, sizeof row.note, "%.4g decays, %.4g a second; %" PRId64 " events", q.p.decays,
	         q.p.decays / row.time.median, q.made.events);
	st = bench_add(r->c, &row);
done:
	iso_array_free(&line);
	iso_array_free(&mu);
	iso_scanner_free(scanner);
	return st;
}

static int run_crystals(struct run *r)
{
	int st = run_crystals_case(r, "crystals: line in a ring", crystal_ring, false);

	if (!st) st = run_crystals_case(r, "crystals: NEMA phantom in a ring", crystal_ring, true);
	return st ? st
	          : run_crystals_case(r, "crystals: line in three layers of strips", strip_layers, false);
}

/* ---- voxels ---- */

static int raster(struct run *r)
{
	return iso_phantom_raster(r->image.v, r->mu.v, r->c->ctx, r->phantom, &r->image.grid,
	                          (int)set.samples);
}

static int run_phantom(struct run *r)
{
	struct bench_row row = { .bench = "simulate", .problem = "phantom" };
	const int64_t *n = r->image.grid.n;
	double link = INFINITY;
	int st;

	if ((st = open_phantom(r, "body", set.voxel)) || (st = time_it(&row.time, r, raster)) ||
	    (iso_ctx_is_cuda(r->c->ctx) && (st = iso_link_rate(&link, r->c->ctx))))
		goto done;
	r->hash = 0xcbf29ce484222325u;
	add_hash(&r->hash, r->image.v, r->image.n * (int64_t)sizeof(iso_real));
	add_hash(&r->hash, r->mu.v, r->mu.n * (int64_t)sizeof(iso_real));
	row.visits = 2 * (double)r->image.n;
	row.bytes = row.visits * sizeof(iso_real);
	row.limit_s = fmax(VOXEL * row.visits / r->per_s, row.bytes / link);
	row.more = record_pack("{s:s, s:f, s:I, s:I}", "case", "phantom", "voxels_per_s",
	                       row.visits / row.time.median, "voxels", (json_int_t)r->image.n, "hash",
	                       (json_int_t)(r->hash >> 1));
	snprintf(row.note, sizeof row.note,
	         "activity and attenuation on %" PRId64 " x %" PRId64 " x %" PRId64
	         " voxels, %.3g voxels/s; hash %016" PRIx64,
	         n[0], n[1], n[2], row.visits / row.time.median, r->hash);
	st = bench_add(r->c, &row);
done:
	close_phantom(r);
	return st;
}

/* ---- all of it ---- */

/* The clinical ring's scan by photons takes the most; the images are those of the phantom. */
static int plan(struct run *r)
{
	struct iso_simulate p = { .activity = &r->image, .mu = &r->mu, .randoms = RANDOMS, .physics = true };
	struct iso_plan lines = { 0 };
	int st;

	if (!(st = open_phantom(r, "body", set.voxel))) {
		iso_plan_add(&lines, "activity and attenuation", 2 * r->image.n, sizeof(iso_real), false);
		iso_simulate_plan(&lines, r->c->ctx, &p);
		st = cmd_plan(r->c, &lines);
	}
	close_phantom(r);
	return st;
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	struct run r = { .c = c };
	int st;

	if (!opt_find(sets, "events")->given) set.events = bench_events(c->ctx);
	if (!opt_find(sets, "voxel")->given) set.voxel = iso_ctx_is_cuda(c->ctx) ? 1.5 : 4;
	if ((st = plan(&r)) || (st = iso_arithmetic_rate(&r.per_s, c->ctx))) return st;
	if (bench_says(c)) printf(": %.3g float operations a second measured\n", r.per_s);
	if ((st = record_result(&c->record, "operations_per_s", record_real(r.per_s)))) return st;
	if (bench_chosen(set.which, "ring") || bench_chosen(set.which, "physics")) st = run_ring(&r);
	if (!st && bench_chosen(set.which, "crystals")) st = run_crystals(&r);
	if (!st && bench_chosen(set.which, "phantom")) st = run_phantom(&r);
	return st;
}

const struct bench bench_simulate = { "simulate", "Benchmark simulate", opts, run, &set, sizeof set, false };
