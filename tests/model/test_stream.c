/* SPDX-License-Identifier: BSD-3-Clause */
/* Streamed events against the same events in memory: blocks, subsets, what is kept, scratch files,
   failures on the way; also built in double. */
#include "test.h"

#include "core/op.h"
#include "model/ray/ray_scratch.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 12, VOXELS = N * N * N, EVENTS = 1013, SUBSETS = 3, ITERATIONS = 3 };

static const struct iso_grid grid = { { N, N, N }, { 10, 10, 10 }, { 0, 0, 0 } };
static const enum iso_subset_rule rules[] = { ISO_INTERLEAVED, ISO_BLOCKS, ISO_RANDOM };

/* ---- a source in memory ---- */

struct memory {
	struct iso_event v[EVENTS];
	iso_real count[EVENTS], mult[EVENTS], add[EVENTS], fwhm[EVENTS];
	iso_ctx *ctx;
	int64_t read;               /* events so far */
	int64_t fail_at, cancel_at; /* event whose reading does that; -1: none */
	pthread_t caller;
	bool on_caller, finished; /* whether a read, a finish was on the caller's thread */
};

static int read_memory(void *arg, struct iso_events *b, int64_t first, int64_t n)
{
	struct memory *m = arg;

	assert_true(first >= 0 && n > 0 && first + n <= EVENTS);
	m->on_caller |= pthread_equal(m->caller, pthread_self()) != 0;
	if (m->fail_at >= first && m->fail_at < first + n) {
		struct iso_events none = { 0 };

		return iso_events_read(&none, "no-such-file.lmdT", NULL);
	}
	if (m->cancel_at >= first && m->cancel_at < first + n) iso_ctx_cancel(m->ctx);
	memcpy(b->v, m->v + first, (size_t)n * sizeof *b->v);
	for (int64_t j = 0; j < n; j++) {
		if (b->count) b->count[j] = m->count[first + j];
		if (b->mult) b->mult[j] = m->mult[first + j];
		if (b->add) b->add[j] = m->add[first + j];
		if (b->fwhm_ps) b->fwhm_ps[j] = m->fwhm[first + j];
	}
	m->read += n;
	return ISO_OK;
}

/* Twice the factor: what the caller's thread adds to what was read. */
static int double_factor(void *arg, struct iso_events *b)
{
	struct memory *m = arg;

	m->finished = pthread_equal(m->caller, pthread_self()) != 0;
	for (int64_t j = 0; j < b->n; j++) b->mult[j] *= 2;
	return ISO_OK;
}

/* Lines through a ring; some have no counts, some no factor, one is bad. */
static struct memory *make_memory(iso_ctx *ctx)
{
	struct memory *m = calloc(1, sizeof *m);
	struct iso_ring ring = { .radius = 160, .length = 100, .seed = 3 };

	assert_non_null(m);
	m->ctx = ctx;
	m->fail_at = m->cancel_at = -1;
	m->caller = pthread_self();
	OK(iso_ring_events(m->v, ctx, &ring, 0, EVENTS));
	for (int j = 0; j < EVENTS; j++) {
		m->count[j] = (iso_real)(.7 * (j % 5));
		m->mult[j] = (iso_real)(j % 11 ? .2 + .1 * (j % 7) : 0);
		m->add[j] = (iso_real)(.5 * (j % 3));
		m->fwhm[j] = (iso_real)(200 + 17 * (j % 13));
	}
	m->v[100].p1[0] = NAN;
	return m;
}

static struct iso_ray_source source(struct memory *m, bool data)
{
	return (struct iso_ray_source){ .size = sizeof(struct iso_ray_source),
		                        .n = EVENTS,
		                        .has_count = data,
		                        .has_mult = data,
		                        .has_add = data,
		                        .read = read_memory,
		                        .arg = m };
}

static struct iso_ray model(int n_sub, enum iso_subset_rule rule)
{
	return (struct iso_ray){
		.size = sizeof(struct iso_ray), .grid = grid, .n_sub = n_sub, .rule = rule, .seed = 7
	};
}

static iso_op *in_memory(iso_ctx *ctx, struct memory *m, const struct iso_ray *p)
{
	struct iso_events e = { .n = EVENTS, .v = m->v, .fwhm_ps = m->fwhm };
	iso_op *op = NULL;

	OK(iso_ray_create(&op, ctx, p, &e));
	return op;
}

static iso_op *streamed(iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s, int64_t block)
{
	iso_op *op = NULL;

	OK(iso_ray_stream_create(&op, ctx, p, s, block));
	return op;
}

/* ---- a reconstruction by either ---- */

struct image {
	iso_real x[VOXELS];
	struct iso_em_result r;
};

/* m: the data vectors of an operator in memory; NULL: there are none, or the source has them. */
static struct image *reconstruct(iso_op *op, const struct memory *m)
{
	static iso_real sens[VOXELS];
	struct image *i = calloc(1, sizeof *i);
	struct iso_em em = {
		.size = sizeof em, .op = op, .iterations = ITERATIONS, .sens = { 1, iso_op_n_sub(op), sens }
	};

	assert_non_null(i);
	i->r.size = sizeof i->r;
	if (m) em.data = (struct iso_em_data){ m->count, m->add, m->mult };
	for (int v = 0; v < VOXELS; v++) {
		sens[v] = (iso_real)(50 + v % 3);
		i->x[v] = 1;
	}
	OK(iso_em_run(i->x, &i->r, &em, NULL));
	return i;
}

static void image_free(struct image *i)
{
	iso_em_result_free(&i->r);
	free(i);
}

/* To the bit, and so are the statistics. */
static void same_image(struct image *a, struct image *b)
{
	assert_memory_equal(a->x, b->x, sizeof a->x);
	assert_int_equal(a->r.used, b->r.used);
	assert_int_equal(a->r.skipped, b->r.skipped);
	assert_true(a->r.lost == b->r.lost);
	assert_int_equal(a->r.n, b->r.n);
	assert_memory_equal(a->r.loglik, b->r.loglik, (size_t)a->r.n * sizeof *a->r.loglik);
}

/* On the CPU also with another number of threads. */
static void compare(iso_ctx *ctx, struct memory *m, bool data, const struct iso_ray *p, int64_t block)
{
	struct iso_ray_source s = source(m, data);
	iso_ctx *one = cpu(1);

	s.has_fwhm = p->tof_each;

	iso_op *a = streamed(ctx, p, &s, block);
	iso_op *b = in_memory(iso_ctx_is_cuda(ctx) ? ctx : one, m, p);
	struct image *x = reconstruct(a, NULL), *y = reconstruct(b, data ? m : NULL);

	assert_int_equal(iso_op_n_in(a), VOXELS);
	assert_int_equal(iso_op_n_out(a), EVENTS);
	for (int sub = 0; sub < p->n_sub; sub++)
		assert_int_equal(iso_op_rows(a, sub).n, iso_op_rows(b, sub).n);
	same_image(x, y);
	image_free(x);
	image_free(y);
	iso_op_free(a);
	iso_op_free(b);
	iso_ctx_free(one);
}

/* Other weights; and a count beyond what the bricks of CUDA take, in one of the blocks. */
static void compare_variants(iso_ctx *ctx, struct memory *m, int64_t block)
{
	struct iso_ray tof = model(SUBSETS, ISO_RANDOM), joseph = tof, lines = tof, whole = tof, each;
	iso_real count = m->count[EVENTS / 2];

	tof.tof_fwhm_ps = 300;
	tof.tof_truncate = 3;
	each = tof;
	each.tof_each = true;
	joseph.projector = ISO_JOSEPH;
	lines.rays = 3;
	lines.spread_mm[0] = lines.spread_mm[1] = 4;
	whole.n_sub = 1;
	compare(ctx, m, true, &tof, block);
	compare(ctx, m, true, &each, block);
	compare(ctx, m, false, &joseph, block);
	compare(ctx, m, true, &lines, block);
	m->count[EVENTS / 2] = 1000;
	compare(ctx, m, true, &whole, block);
	compare(ctx, m, true, &tof, block);
	m->count[EVENTS / 2] = count;
}

static void check_equal(iso_ctx *ctx)
{
	static const int64_t blocks[] = { 37, 338, EVENTS - 1, EVENTS, 5 * EVENTS };
	struct memory *m = make_memory(ctx);

	compare_variants(ctx, m, 41);
	for (int k = 0; k < N_OF(blocks); k++) {
		struct iso_ray whole = model(1, ISO_INTERLEAVED);

		compare(ctx, m, false, &whole, blocks[k]);
		compare(ctx, m, true, &whole, blocks[k]);
		for (int i = 0; i < N_OF(rules); i++) {
			struct iso_ray p = model(SUBSETS, rules[i]);

			compare(ctx, m, true, &p, blocks[k]);
		}
	}
	free(m);
}

static void equals_events_in_memory(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_equal(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_equals_events_in_memory, check_equal)

/* So little memory that nothing is kept on the device. */
static void check_blocks(iso_ctx *cuda)
{
	iso_ctx_set_device_memory_limit(cuda, 1 << 20);
	check_equal(cuda);
}

CUDA_TEST(cuda_blocks_equal_events_in_memory, check_blocks)

/* Every subset alone, and all of them at once, by single steps. */
static void all_subsets_are_one_step(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct memory *m = make_memory(ctx);
	struct iso_ray_source s = source(m, true);
	struct iso_ray p = model(SUBSETS, ISO_RANDOM);
	iso_op *op = streamed(ctx, &p, &s, 50);
	iso_real x[VOXELS], all[VOXELS], sum[VOXELS] = { 0 }, one[VOXELS];
	struct iso_em_data none = { 0 };
	struct iso_em_stat t, u;
	int64_t used = 0;

	(void)state;
	for (int v = 0; v < VOXELS; v++) x[v] = (iso_real)(1 + v % 4);
	for (int sub = 0; sub < SUBSETS; sub++) {
		OK(iso_op_em_step(one, &u, op, sub, x, &none));
		used += u.used;
		for (int v = 0; v < VOXELS; v++) sum[v] += one[v];
	}
	OK(iso_op_em_step(all, &t, op, ISO_ALL, x, &none));
	NEAR(relative_difference(VOXELS, all, sum), 0, TOLERANCE(1e-6, 1e-13));
	assert_int_equal(t.used, used);
	assert_int_equal(t.used + t.skipped, EVENTS);
	iso_op_free(op);
	free(m);
	iso_ctx_free(ctx);
}

/* ---- what is kept ---- */

static void check_kept(iso_ctx *ctx)
{
	struct memory *m = make_memory(ctx);
	struct iso_ray_source s = source(m, true);
	struct iso_ray p = model(SUBSETS, ISO_BLOCKS);
	iso_op *op = streamed(ctx, &p, &s, 100);
	struct image *kept, *anew;
	int64_t blocks, n;

	kept = reconstruct(op, NULL);
	iso_ray_stream_state(&blocks, &n, op);
	assert_int_equal(blocks, 3 * 4);
	assert_int_equal(n, blocks);
	/* for the counts, and for all iterations; the device adds counts up itself */
	assert_int_equal(m->read, (iso_ctx_is_cuda(ctx) ? 1 : 2) * EVENTS);
	iso_op_free(op);

	m->read = 0;
	iso_ctx_set_memory_limit(ctx, 1);
	iso_ctx_set_device_memory_limit(ctx, 1);
	op = streamed(ctx, &p, &s, 100);
	anew = reconstruct(op, NULL);
	iso_ray_stream_state(&blocks, &n, op);
	assert_int_equal(n, 0);
	assert_int_equal(m->read, (1 + ITERATIONS) * EVENTS);
	same_image(kept, anew);
	image_free(kept);
	image_free(anew);
	iso_op_free(op);
	free(m);
}

static void keeps_blocks_that_fit(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_kept(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_keeps_blocks_that_fit, check_kept)

/* A device without room: the host holds what it ordered, and nothing is read twice. */
static void check_held(iso_ctx *ctx)
{
	struct memory *m = make_memory(ctx);
	struct iso_ray_source s = source(m, true);
	struct iso_ray p = model(SUBSETS, ISO_BLOCKS);
	struct image *all, *held;
	iso_op *op;
	int64_t blocks, n;

	iso_ctx_set_device_memory_limit(ctx, 1);
	op = streamed(ctx, &p, &s, 100);
	held = reconstruct(op, NULL);
	iso_ray_stream_state(&blocks, &n, op);
	assert_int_equal(n, blocks);
	assert_int_equal(m->read, 2 * EVENTS); /* for the counts, and for all iterations */
	iso_op_free(op);
	iso_ctx_set_device_memory_limit(ctx, 0);
	op = in_memory(ctx, m, &p);
	all = reconstruct(op, m);
	same_image(all, held);
	image_free(all);
	image_free(held);
	iso_op_free(op);
	free(m);
}

CUDA_TEST(cuda_holds_blocks_in_the_host, check_held)

/* ---- beside the events ---- */

static void finishes_on_the_callers_thread(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct memory *m = make_memory(ctx);
	struct iso_ray_source s = source(m, true);
	struct iso_ray p = model(SUBSETS, ISO_INTERLEAVED);
	iso_op *a, *b = in_memory(ctx, m, &p);
	struct image *x, *y;

	(void)state;
	s.finish = double_factor;
	a = streamed(ctx, &p, &s, 64);
	x = reconstruct(a, NULL);
	assert_true(m->finished);
	assert_false(m->on_caller);
	for (int j = 0; j < EVENTS; j++) m->mult[j] *= 2;
	y = reconstruct(b, m);
	same_image(x, y);
	image_free(x);
	image_free(y);
	iso_op_free(a);
	iso_op_free(b);
	free(m);
	iso_ctx_free(ctx);
}

static iso_op *blurred(iso_ctx *ctx, iso_op *op)
{
	iso_op *psf = NULL, *chain = NULL;

	OK(iso_psf_create(&psf, ctx, &grid, (double[]){ 15, 15, 15 }));
	OK(iso_chain_create(&chain, op, psf));
	iso_op_free(psf);
	iso_op_free(op);
	return chain;
}

static void goes_behind_a_psf(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct memory *m = make_memory(ctx);
	struct iso_ray_source s = source(m, true);
	struct iso_ray p = model(SUBSETS, ISO_RANDOM);
	iso_op *a = blurred(ctx, streamed(ctx, &p, &s, 64)), *b = blurred(ctx, in_memory(ctx, m, &p));
	struct image *x = reconstruct(a, NULL), *y = reconstruct(b, m);

	(void)state;
	same_image(x, y);
	image_free(x);
	image_free(y);
	iso_op_free(a);
	iso_op_free(b);
	free(m);
	iso_ctx_free(ctx);
}

/* ---- scratch ---- */

static int files_in(const char *folder)
{
	DIR *d = opendir(folder);
	int n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

static void rewrites_by_subsets(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct memory *m = make_memory(ctx);
	struct iso_ray_source s = source(m, true);
	char folder[64];

	(void)state;
	s.finish = double_factor;
	snprintf(folder, sizeof folder, "test_stream_%d", (int)getpid());
	assert_int_equal(mkdir(folder, 0777), 0);
	for (int i = 0; i < N_OF(rules); i++) {
		struct iso_ray p = model(SUBSETS, rules[i]), in_order = model(SUBSETS, ISO_BLOCKS);
		iso_op *a = streamed(ctx, &p, &s, 64), *b;
		iso_ray_scratch *scratch = NULL;
		struct image *x = reconstruct(a, NULL), *y;

		m->read = 0;
		OK(iso_ray_scratch_create(&scratch, ctx, &p, &s, folder));
		assert_int_equal(m->read, EVENTS);
		assert_int_equal(files_in(folder), 0);
		b = streamed(ctx, &in_order, iso_ray_scratch_source(scratch), 53);
		y = reconstruct(b, NULL);
		assert_int_equal(m->read, EVENTS);
		same_image(x, y);
		image_free(x);
		image_free(y);
		iso_op_free(a);
		iso_op_free(b);
		iso_ray_scratch_free(scratch);
	}
	assert_int_equal(rmdir(folder), 0);
	free(m);
	iso_ctx_free(ctx);
}

/* Nothing is kept: counts and each iteration read every byte once, and what is read ahead after the last update is two
   blocks at most. Without a scratch file every update reads all events. */
static void reads_a_share_each_update(void **state)
{
	enum { BLOCK = 50 };
	iso_ctx *ctx = cpu(2);
	struct memory *m = make_memory(ctx);
	struct iso_ray_source s = source(m, true);
	int64_t event = sizeof(struct iso_event) + 3 * sizeof(iso_real);

	(void)state;
	for (int i = 0; i < N_OF(rules); i++) {
		struct iso_ray p = model(SUBSETS, rules[i]), in_order = model(SUBSETS, ISO_BLOCKS);
		iso_ray_scratch *scratch = NULL;

		OK(iso_ray_scratch_create(&scratch, ctx, &p, &s, "."));
		iso_ctx_set_memory_limit(ctx, 1);
		iso_op *op = streamed(ctx, &in_order, iso_ray_scratch_source(scratch), BLOCK);
		int64_t least = (1 + ITERATIONS) * EVENTS * event;

		image_free(reconstruct(op, NULL));
		iso_op_free(op);
		assert_in_range(iso_ray_scratch_bytes_read(scratch), least, least + 2 * BLOCK * event);
		iso_ctx_set_memory_limit(ctx, 0);
		iso_ray_scratch_free(scratch);
	}
	free(m);
	iso_ctx_free(ctx);
}

static void scratch_needs_a_disk(void **state)
{
	(void)state;
	assert_false(iso_ray_scratch_fits("no-such-folder", 1));
	assert_false(iso_ray_scratch_fits(".", INT64_MAX / 2));
	assert_false(iso_ray_scratch_fits("/dev/shm", 1)); /* memory */
	assert_false(iso_ray_scratch_fits("/proc", 1));
}

static void scratch_failures(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct memory *m = make_memory(ctx);
	struct iso_ray_source s = source(m, true);
	struct iso_ray p = model(SUBSETS, ISO_RANDOM);
	iso_ray_scratch *scratch = NULL;

	(void)state;
	REFUSED(iso_ray_scratch_create(&scratch, ctx, &p, &s, "no-such-folder"), ISO_EIO,
	        "no-such-folder: can't make the scratch file");
	m->fail_at = 500;
	REFUSED(iso_ray_scratch_create(&scratch, ctx, &p, &s, "."), ISO_EINPUT, "no-such-file.lmdT");
	m->fail_at = -1;
	p.n_sub = EVENTS + 1;
	REFUSED(iso_ray_scratch_create(&scratch, ctx, &p, &s, "."), ISO_EARG, "1014 subsets");
	p.n_sub = 1;
	iso_ctx_cancel(ctx);
	REFUSED(iso_ray_scratch_create(&scratch, ctx, &p, &s, "."), ISO_ECANCEL, "stopped");
	assert_null(scratch);
	free(m);
	iso_ctx_free(ctx);
}

/* ---- failures on the way ---- */

static void source_fails_midway(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct memory *m = make_memory(ctx);
	struct iso_ray_source s = source(m, true);
	struct iso_em_data none = { 0 };
	struct iso_em_stat t;
	iso_real x[VOXELS], acc[VOXELS], again[VOXELS];

	(void)state;
	for (int v = 0; v < VOXELS; v++) x[v] = 1;
	for (int i = 0; i < N_OF(rules); i++) {
		struct iso_ray p = model(SUBSETS, rules[i]);
		iso_op *op = streamed(ctx, &p, &s, 20);

		m->fail_at = 700;
		REFUSED(iso_op_em_step(acc, &t, op, ISO_ALL, x, &none), ISO_EINPUT, "no-such-file.lmdT");
		m->fail_at = -1; /* and then the operator works as if nothing had been */
		OK(iso_op_em_step(acc, &t, op, ISO_ALL, x, &none));
		assert_int_equal(t.used + t.skipped, EVENTS);
		OK(iso_op_em_step(again, &t, op, ISO_ALL, x, &none));
		assert_memory_equal(acc, again, sizeof acc);
		iso_op_free(op);
	}
	free(m);
	iso_ctx_free(ctx);
}

static void stops_on_request(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct memory *m = make_memory(ctx);
	struct iso_ray_source s = source(m, false);
	struct iso_ray p = model(1, ISO_BLOCKS);
	iso_op *op = streamed(ctx, &p, &s, 10);
	struct iso_em_data none = { 0 };
	struct iso_em_stat t;
	iso_real x[VOXELS] = { 1 }, acc[VOXELS];

	(void)state;
	m->cancel_at = 300;
	REFUSED(iso_op_em_step(acc, &t, op, 0, x, &none), ISO_ECANCEL, "stopped on request");
	assert_true(m->read < 400);
	iso_op_free(op);
	free(m);
	iso_ctx_free(ctx);
}

static void bad_values(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct memory *m = make_memory(ctx);
	struct iso_ray_source s = source(m, true);
	struct iso_ray p = model(1, ISO_BLOCKS);
	iso_op *op = streamed(ctx, &p, &s, 100);
	struct iso_em_data none = { 0 };
	struct iso_em_stat t;
	iso_real x[VOXELS] = { 1 }, acc[VOXELS], *array[3] = { m->count, m->mult, m->add };
	static const char *const name[] = { "count", "factor", "additive term" };
	static const double wrong[] = { -1, NAN, INFINITY };

	(void)state;
	for (int a = 0; a < 3; a++)
		for (int i = 0; i < 3; i++) {
			iso_real good = array[a][777];

			array[a][777] = (iso_real)wrong[i];
			REFUSED(iso_op_em_step(acc, &t, op, 0, x, &none), ISO_EINPUT, name[a]);
			array[a][777] = good;
		}
	iso_op_free(op); /* its first blocks are kept, the last was refused */
	op = streamed(ctx, &p, &s, 100);
	m->mult[777] = (iso_real)TOLERANCE(1e-30, 1e-300);
	m->add[777] = (iso_real)TOLERANCE(1e30, 1e300);
	REFUSED(iso_op_em_step(acc, &t, op, 0, x, &none), ISO_EINPUT, "too large to hold");
	iso_op_free(op);
	free(m);
	iso_ctx_free(ctx);
}

static void refuses(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct memory *m = make_memory(ctx);
	struct iso_ray_source s = source(m, false);
	struct iso_ray p = model(1, ISO_BLOCKS);
	iso_op *op = streamed(ctx, &p, &s, 100), *no = NULL;
	struct iso_em_data d = { .y = m->count };
	struct iso_em_stat t;
	iso_real x[VOXELS], y[EVENTS];

	(void)state;
	REFUSED(iso_forward(y, op, 0, x), ISO_EARG, "no forward or back projection");
	REFUSED(iso_adjoint(x, op, 0, y), ISO_EARG, "no forward or back projection");
	REFUSED(iso_op_em_step(x, &t, op, 0, x, &d), ISO_EARG, "data vectors are given");
	REFUSED(iso_ray_stream_create(&no, ctx, &p, &s, 0), ISO_EARG, "blocks of 0 events");
	s.has_fwhm = true;
	REFUSED(iso_ray_stream_create(&no, ctx, &p, &s, 10), ISO_EARG, "has_fwhm of the source and tof_each");
	s.has_fwhm = false;
	s.n = 0;
	REFUSED(iso_ray_stream_create(&no, ctx, &p, &s, 10), ISO_EARG, "no events");
	s.n = EVENTS;
	p.n_sub = EVENTS + 1;
	REFUSED(iso_ray_stream_create(&no, ctx, &p, &s, 10), ISO_EARG, "1014 subsets");
	p = model(1, ISO_BLOCKS);
	p.grid.n[0] = 0;
	REFUSED(iso_ray_stream_create(&no, ctx, &p, &s, 10), ISO_EARG, "grid");
	assert_null(no);
	iso_op_free(op);
	free(m);
	iso_ctx_free(ctx);
}

/* More memory, larger blocks; and what is planned for one fits. */
static void chooses_a_block(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct iso_ray_source s = { .size = sizeof s, .n = 1000000000, .has_mult = true };
	struct iso_ray p = model(1, ISO_BLOCKS);
	int64_t last = 0;

	(void)state;
	for (int64_t host = 30000000; host <= 3000000000; host *= 10) {
		int64_t block = iso_ray_stream_block(ctx, &p, &s, host, 0), bytes, device;
		struct iso_plan plan = { 0 };

		iso_ray_stream_plan(&plan, ctx, &p, &s, block);
		iso_plan_total(&bytes, &device, &plan);
		iso_plan_free(&plan);
		assert_true(bytes < host / 2 && bytes > host / 20);
		assert_int_equal(block & (block - 1), 0);
		assert_true(block > last);
		last = block;
	}
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_events_in_memory),
		cmocka_unit_test(cuda_equals_events_in_memory),
		cmocka_unit_test(cuda_blocks_equal_events_in_memory),
		cmocka_unit_test(all_subsets_are_one_step),
		cmocka_unit_test(keeps_blocks_that_fit),
		cmocka_unit_test(cuda_keeps_blocks_that_fit),
		cmocka_unit_test(cuda_holds_blocks_in_the_host),
		cmocka_unit_test(finishes_on_the_callers_thread),
		cmocka_unit_test(goes_behind_a_psf),
		cmocka_unit_test(rewrites_by_subsets),
		cmocka_unit_test(reads_a_share_each_update),
		cmocka_unit_test(scratch_needs_a_disk),
		cmocka_unit_test(scratch_failures),
		cmocka_unit_test(source_fails_midway),
		cmocka_unit_test(stops_on_request),
		cmocka_unit_test(bad_values),
		cmocka_unit_test(refuses),
		cmocka_unit_test(chooses_a_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
