/* SPDX-License-Identifier: BSD-3-Clause */
/* A fit that is stopped after any of its steps and taken up again gives the bits of one that was not; a share of the pairs. */
#include "test.h"

#include "commission/norm/norm_own.h"
#include "core/philox.h"

#include <unistd.h>

static const char ring[] =
	"kind: cylinder\nradius_mm: 80\nrings: 3\nring_pitch_mm: 6\ncrystals_per_ring: 48\n"
	"crystal_mm: [9.5, 6, 10]\nmin_crystal_distance: 8\nblock: {crystals: 6}\n";

enum { N = 144, KEY = 77, MOST = 60 };

/* Counts of a ring that looks at cylinders beside the places that the fit is told. */
struct bench {
	iso_ctx *ctx;
	iso_scanner *s;
	struct norm_rows rows;
	struct iso_events e[2];
	struct iso_norm_scan scan[2];
	struct iso_norm_fit fit;
	double rate[N], eps[N];
	char path[64];
	int steps, stop_after;
};

static double uniform(int64_t i, int of)
{
	const struct philox d = philox_draw(5, (uint64_t)i, (uint64_t)of);

	return philox_unit_double(d.w[0], d.w[1]);
}

/* Of each pair the expected number, rounded up or down by chance. */
static void draw(struct bench *b, int scan, const char *shape, double counts)
{
	struct iso_events *e = b->e + scan;
	struct norm_run *run = calloc((size_t)norm_rows_most(&b->rows), sizeof *run);
	struct source at;
	int64_t i = 0;

	OK(source_parse(&at, shape));
	e->n = b->rows.first[N];
	e->v = calloc((size_t)e->n, sizeof *e->v);
	e->count = calloc((size_t)e->n, sizeof *e->count);
	e->crystal = calloc(2 * (size_t)e->n, sizeof *e->crystal);
	for (int64_t a = 0; a < N; a++) {
		const int64_t runs = norm_rows_runs(run, &b->rows, a);

		for (int64_t k = 0; k < runs; k++)
			for (int64_t j = 0; j < run[k].n; j++, i++) {
				const int64_t c = run[k].b + j;
				const double *p = b->s->pos + 3 * a, *q = b->s->pos + 3 * c;
				const double mu = counts * source_integral(&at, p, q) *
				                  pairs_solid_angle(p, q) * b->eps[a] * b->eps[c];

				for (int k3 = 0; k3 < 3; k3++) {
					e->v[i].p1[k3] = (float)p[k3];
					e->v[i].p2[k3] = (float)q[k3];
				}
				e->crystal[2 * i] = (uint32_t)a;
				e->crystal[2 * i + 1] = (uint32_t)c;
				e->count[i] =
					(iso_real)floor(mu + b->rate[a] * b->rate[c] + uniform(i, 10 + scan));
			}
	}
	free(run);
}

static void begin(struct bench *b, int scans, int components, bool given)
{
	static const char *const truth[] = { "cylinder:1.5,-1,0,45,40", "cylinder:20,5,0,30,40" };
	static const char *const told[] = { "cylinder:0,0,0,45,40", "cylinder:19,6,0,30,40" };
	int fd;

	*b = (struct bench){ .path = "/tmp/isotome-norm-XXXXXX.yaml" };
	fd = mkstemps(b->path, 5);
	b->ctx = cpu(2);
	assert_int_equal(write(fd, ring, strlen(ring)), strlen(ring));
	close(fd);
	OK(iso_scanner_read(&b->s, b->path));
	unlink(b->path);
	OK(norm_rows_create(&b->rows, b->s));
	for (int64_t a = 0; a < N; a++) {
		b->eps[a] = a == 20 ? 0 : .7 + .6 * uniform(a, 1);
		b->rate[a] = .3 + .1 * uniform(a, 2);
	}
	for (int i = 0; i < scans; i++) {
		draw(b, i, truth[i], i ? .5 : .3);
		b->scan[i] = (struct iso_norm_scan){
			.size = sizeof b->scan[i], .events = b->e + i, .shape = told[i], .rate = b->rate
		};
	}
	b->fit = (struct iso_norm_fit){ .size = sizeof b->fit,
		                        .scanner = b->s,
		                        .scan = b->scan,
		                        .scans = scans,
		                        .components = components,
		                        .place_given = given };
}

static void end(struct bench *b)
{
	for (int i = 0; i < b->fit.scans; i++) {
		free(b->e[i].v);
		free(b->e[i].count);
		free(b->e[i].crystal);
	}
	unlink(b->path);
	norm_rows_free(&b->rows);
	iso_scanner_free(b->s);
	iso_ctx_free(b->ctx);
}

static void stop(void *arg, const struct iso_progress *p)
{
	struct bench *b = arg;

	if (strcmp(p->stage, "fit") != 0 || p->elapsed_s == 0) return;
	if (++b->steps == b->stop_after) iso_ctx_cancel(b->ctx);
}

static void same_norm(const iso_norm *a, const iso_norm *b)
{
	assert_memory_equal(a->eps, b->eps, N * sizeof *a->eps);
	assert_memory_equal(a->sd, b->sd, N * sizeof *a->sd);
	assert_memory_equal(a->t, b->t, (size_t)a->classes.n_t * sizeof *a->t);
	assert_memory_equal(a->z, b->z, (size_t)a->classes.n_z * sizeof *a->z);
	assert_memory_equal(a->found.place_mm, b->found.place_mm, sizeof a->found.place_mm);
	assert_memory_equal(a->found.place_sd, b->found.place_sd, sizeof a->found.place_sd);
	assert_true(a->found.loglik == b->found.loglik && a->found.steps == b->found.steps &&
	            a->found.products == b->found.products && a->found.counts == b->found.counts);
}

/* Stops after each `every`-th step in turn, each time in another process, as far as the library can tell. */
static void stop_and_resume(int scans, int components, bool given, int every)
{
	struct bench b;
	iso_norm *whole, *again = NULL;
	int stops = 0;

	begin(&b, scans, components, given);
	b.fit.tolerance = 1e-9; /* several steps */
	OK(iso_norm_make(&whole, NULL, b.ctx, &b.fit));
	b.fit.checkpoint = b.path;
	b.fit.key = KEY;
	b.fit.resume = true;
	b.stop_after = every;
	iso_ctx_set_progress(b.ctx, stop, &b);
	for (; !again && stops < MOST; stops++) {
		b.steps = 0;
		if (iso_norm_make(&again, NULL, b.ctx, &b.fit) == ISO_OK) break;
		assert_int_equal(access(b.path, F_OK), 0);
		iso_ctx_clear_cancel(b.ctx);
	}
	assert_true(stops >= 1 && again != NULL);
	assert_true(again->found.resumed_from > 0);
	same_norm(whole, again);
	iso_norm_free(whole);
	iso_norm_free(again);
	end(&b);
}

static void efficiencies(void **state)
{
	(void)state;
	stop_and_resume(1, ISO_NORM_CRYSTAL, true, 1);
}

static void with_place(void **state)
{
	(void)state;
	stop_and_resume(1, ISO_NORM_CRYSTAL | ISO_NORM_TRANSAXIAL | ISO_NORM_AXIAL, false, 2);
}

static void two_scans(void **state)
{
	(void)state;
	stop_and_resume(2, ISO_NORM_CRYSTAL, false, 3);
	stop_and_resume(2, ISO_NORM_CRYSTAL, true, 1);
}

static void other_run(void **state)
{
	struct bench b;
	iso_norm *norm = NULL;

	(void)state;
	begin(&b, 1, ISO_NORM_CRYSTAL, true);
	b.fit.checkpoint = b.path;
	b.fit.key = KEY;
	b.stop_after = 1;
	iso_ctx_set_progress(b.ctx, stop, &b);
	REFUSED(iso_norm_make(&norm, NULL, b.ctx, &b.fit), ISO_ECANCEL, "resume continues from");
	iso_ctx_clear_cancel(b.ctx);
	b.fit.resume = true;
	b.fit.key++;
	REFUSED(iso_norm_make(&norm, NULL, b.ctx, &b.fit), ISO_EINPUT,
	        "checkpoint of other inputs or options");
	end(&b);
}

/* Numbers of the pairs of a share are those of its runs; the fit of half of the pairs has errors that are larger by sqrt 2. */
static void share_of_pairs(void **state)
{
	struct iso_norm_found all = { .size = sizeof all }, half = { .size = sizeof half };
	struct norm_rows rows;
	struct norm_run run[6];
	iso_norm *norm[2];
	struct bench b;
	double pull = 0;
	int64_t i = 0;

	(void)state;
	begin(&b, 1, ISO_NORM_CRYSTAL, true);
	OK(norm_rows_create_share(&rows, b.s, .5));
	for (int64_t a = 0; a < N; a++) {
		const int64_t runs = norm_rows_runs(run, &rows, a);

		for (int64_t k = 0; k < runs; k++)
			for (int64_t j = 0; j < run[k].n; j++) {
				assert_int_equal(run[k].pair + j, i);
				assert_int_equal(norm_rows_pair(&rows, run[k].b + j, a), i++);
			}
	}
	assert_int_equal(rows.first[N], i);
	for (int64_t a = 0; a < N; a++)
		for (int64_t c = a + 1; c < N; c++) i -= norm_rows_pair(&rows, a, c) >= 0;
	assert_int_equal(i, 0);
	NEAR((double)rows.first[N] / (double)b.rows.first[N], .5, .05);
	b.scan[0].shape = "cylinder:1.5,-1,0,45,40";
	OK(iso_norm_make(norm, &all, b.ctx, &b.fit));
	b.fit.pair_share = .5;
	OK(iso_norm_make(norm + 1, &half, b.ctx, &b.fit));
	assert_true(half.astray == 0);
	NEAR(half.all_counts / all.all_counts, .5, .07);
	NEAR(half.mean_sd / all.mean_sd, sqrt(2), .15);
	for (int64_t a = 0; a < N; a++) {
		const double sd = norm[1]->sd[a];

		if (sd > 0) pull += pow(log(norm[1]->eps[a] / norm[0]->eps[a]) / sd, 2) / N;
	}
	BELOW(pull, 1);
	iso_norm_free(norm[0]);
	iso_norm_free(norm[1]);
	norm_rows_free(&rows);
	b.fit.pair_share = 1.5;
	REFUSED(iso_norm_make(norm, NULL, b.ctx, &b.fit), ISO_EARG, "share of the pairs is 1.5");
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(efficiencies), cmocka_unit_test(with_place),     cmocka_unit_test(two_scans),
		cmocka_unit_test(other_run),    cmocka_unit_test(share_of_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
