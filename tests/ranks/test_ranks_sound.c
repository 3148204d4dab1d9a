/* SPDX-License-Identifier: BSD-3-Clause */
/* The optoacoustic models shared by ranks: whatever one process alone computes, any number of ranks does, bit for bit.
   Run by mpirun with one to four ranks; ISO_TEST_DEVICE: the device, cpu unless it is set. */
#include "core/comm.h"
#include "io/format.h"
#include "test.h"

#include <unistd.h>

/* A context of all ranks with one thread each, and one of this process alone with two. */
struct both {
	iso_ctx *ranks, *alone;
};

static struct both both(void)
{
	const char *device = getenv("ISO_TEST_DEVICE") ? getenv("ISO_TEST_DEVICE") : "cpu";
	struct both b = { NULL, NULL };

	OK(iso_ctx_create_ranks(&b.ranks, device, 1, NULL));
	OK(iso_ctx_create(&b.alone, device, 2));
	return b;
}

static void both_free(struct both *b)
{
	iso_ctx_free(b->ranks);
	iso_ctx_free(b->alone);
}

/* Numbers of either sign; every fifth 0. */
static iso_real *numbers(int64_t n)
{
	iso_real *v = calloc((size_t)n, sizeof *v);

	assert_non_null(v);
	for (int64_t i = 0; i < n; i++) v[i] = i % 5 ? (iso_real)sin((double)(i * i % 1009)) : 0;
	return v;
}

static void same(const iso_real *a, const iso_real *b, int64_t n)
{
	int64_t other = 0, some = 0;

	for (int64_t i = 0; i < n; i++) {
		other += memcmp(a + i, b + i, sizeof *a) != 0;
		some += a[i] != 0;
	}
	if (other > 0) fail_msg("%" PRId64 " of %" PRId64 " values are others", other, n);
	assert_true(some > 0);
}

/* ---- transducers: rings of 7 around the image; in the plane of the image, one ring ---- */

static struct iso_transducers transducers(int rings)
{
	struct iso_transducers t = {
		.speed = 1.5, .dt_us = .05, .first_us = 1, .samples = 260, .gamma = 1, .n_eir = 9
	};
	const struct iso_rings on = {
		10, rings, 7, rings > 1 ? .4 : M_PI / 2, 2.3 / rings, .1, 2 * M_PI / 7
	};

	OK(iso_transducers_rings(&t, &on));
	t.aperture = calloc((size_t)(2 * t.n), sizeof *t.aperture);
	t.eir = calloc((size_t)t.n_eir, sizeof *t.eir);
	assert_true(t.aperture && t.eir);
	for (int64_t i = 0; i < 2 * t.n; i++) t.aperture[i] = 1.5 + .1 * (double)(i % 3);
	for (int64_t i = 0; i < t.n_eir; i++) t.eir[i] = cos(.7 * (double)i) / (double)(i + 1);
	return t;
}

static const struct iso_grid solid = { { 37, 11, 27 }, { .25, .25, .25 }, { .1, -.2, .3 } };
static const struct iso_grid small = { { 5, 4, 3 }, { .3, .3, .3 }, { 0, 0, 0 } };
static const struct iso_grid plane = { { 40, 33, 1 }, { .25, .25, .25 }, { 0, 0, 0 } };

/* ---- operators ---- */

/* What an operator makes of numbers, on the host. */
static iso_real *applied(iso_op *op, bool adjoint)
{
	iso_ctx *ctx = iso_op_ctx(op);
	int64_t n_in = adjoint ? iso_op_n_out(op) : iso_op_n_in(op);
	int64_t n_out = adjoint ? iso_op_n_in(op) : iso_op_n_out(op);
	iso_real *in = numbers(n_in), *from = to_device(ctx, n_in, in), *to = to_device(ctx, n_out, NULL),
		 *got;

	OK((adjoint ? iso_adjoint : iso_forward)(to, op, ISO_ALL, from));
	got = to_host(ctx, n_out, to);
	device_free(ctx, from);
	device_free(ctx, to);
	free(in);
	return got;
}

static void same_way(iso_op *a, iso_op *b, bool adjoint)
{
	iso_real *x = applied(a, adjoint), *y = applied(b, adjoint);

	same(x, y, adjoint ? iso_op_n_in(a) : iso_op_n_out(a));
	free(x);
	free(y);
}

static void same_ops(iso_op *a, iso_op *b)
{
	same_way(a, b, false);
	same_way(a, b, true);
}

/* A few iterations of least squares, plain and with total variation. */
static iso_real *solved(iso_op *op, const struct iso_grid *g, bool cg, const iso_real *y)
{
	iso_real *x = calloc((size_t)iso_op_n_in(op), sizeof *x);

	assert_non_null(x);
	if (cg)
		OK(iso_cg_run(
			x, NULL,
			&(struct iso_cg){ .size = sizeof(struct iso_cg), .op = op, .y = y, .iterations = 3 },
			NULL));
	else
		OK(iso_fista_run(x, NULL,
		                 &(struct iso_fista){ .size = sizeof(struct iso_fista),
		                                      .op = op,
		                                      .y = y,
		                                      .grid = *g,
		                                      .tv = 1e-6,
		                                      .nonneg = true,
		                                      .iterations = 3,
		                                      .tv_steps = 5 },
		                 NULL));
	return x;
}

/* Of the data of some image. */
static void same_solutions(iso_op *a, iso_op *b, const struct iso_grid *g)
{
	iso_real *y = applied(b, false);

	for (int cg = 0; cg < 2; cg++) {
		iso_real *x = solved(a, g, cg, y), *z = solved(b, g, cg, y);

		same(x, z, iso_op_n_in(a));
		free(x);
		free(z);
	}
	free(y);
}

static void check_svoxel(const struct both *c, const struct iso_svoxel *p, bool solve)
{
	iso_op *a = NULL, *b = NULL;

	OK(iso_svoxel_create(&a, c->ranks, p));
	OK(iso_svoxel_create(&b, c->alone, p));
	same_ops(a, b);
	if (solve) same_solutions(a, b, &p->grid);
	iso_op_free(a);
	iso_op_free(b);
}

static struct iso_svoxel spectra_of(const struct iso_transducers *t, const struct iso_grid *g)
{
	struct iso_svoxel p = { .size = sizeof p, .t = t, .grid = *g };

	OK(iso_svoxel_lines(&p, 2.5));
	return p;
}

static void svoxel(void **state)
{
	struct both c = both();
	struct iso_transducers t = transducers(3), one = transducers(1);
	struct iso_svoxel p = spectra_of(&t, &solid), flat = spectra_of(&one, &plane);

	(void)state;
	check_svoxel(&c, &p, true);
	p.sir = ISO_SIR_RECT;
	check_svoxel(&c, &p, false);
	OK(iso_svoxel_lines_at(&p, .21, .05, 30));
	check_svoxel(&c, &p, false);
	check_svoxel(&c, &flat, false);
	p = spectra_of(&t, &small);
	p.sir = ISO_SIR_NEAR;
	check_svoxel(&c, &p, false);
	iso_transducers_free(&t);
	iso_transducers_free(&one);
	both_free(&c);
}

/* Kernels of two to four taps, two images at once. */
static void svoxel_narrow(void **state)
{
	struct both c = both();
	struct iso_transducers t = transducers(5);
	struct iso_svoxel p = spectra_of(&t, &solid);

	(void)state;
	p.batch = 2;
	for (p.width = 2; p.width <= 4; p.width++) check_svoxel(&c, &p, false);
	p.width = 4;
	p.sir = ISO_SIR_RECT;
	check_svoxel(&c, &p, false);
	iso_transducers_free(&t);
	both_free(&c);
}

static void svoxel_direct(void **state)
{
	struct both c = both();
	struct iso_transducers t = transducers(3);
	struct iso_svoxel p = spectra_of(&t, &small);

	(void)state;
	p.transform = ISO_SVOXEL_DIRECT;
	for (p.sir = ISO_SIR_POINT; p.sir <= ISO_SIR_RECT && !iso_ctx_is_cuda(c.alone); p.sir++)
		check_svoxel(&c, &p, false);
	iso_transducers_free(&t);
	both_free(&c);
}

static void check_sradon(const struct both *c, const struct iso_sradon *p, bool solve)
{
	iso_op *a = NULL, *b = NULL;

	OK(iso_sradon_create(&a, c->ranks, p));
	OK(iso_sradon_create(&b, c->alone, p));
	same_ops(a, b);
	if (solve) same_solutions(a, b, &p->grid);
	iso_op_free(a);
	iso_op_free(b);
}

/* The image has four slabs of planes, the last thinner. */
static void sradon(void **state)
{
	struct both c = both();
	struct iso_transducers t = transducers(3), one = transducers(1);
	struct iso_sradon p = { .size = sizeof p, .t = &t, .grid = solid };

	(void)state;
	p.grid.n[0] = 9;
	for (p.adjoint = ISO_SRADON_AUTO; p.adjoint <= ISO_SRADON_SCATTER; p.adjoint++)
		for (p.sampling = ISO_SRADON_MIDPOINT; p.sampling <= ISO_SRADON_ALG4; p.sampling++)
			check_sradon(&c, &p,
			             p.adjoint == ISO_SRADON_AUTO && p.sampling == ISO_SRADON_MIDPOINT);
	p = (struct iso_sradon){ .size = sizeof p, .t = &one, .grid = plane };
	check_sradon(&c, &p, false);
	iso_transducers_free(&t);
	iso_transducers_free(&one);
	both_free(&c);
}

static void ubp(void **state)
{
	const enum iso_ubp_weights weights[] = { ISO_UBP_SPHERE, ISO_UBP_SOLID_ANGLE };
	struct both c = both();
	struct iso_transducers t = transducers(3), one = transducers(1);

	(void)state;
	for (int k = 0; k < 4; k++) {
		const struct iso_ubp p = { sizeof p, k / 2 ? &one : &t, k / 2 ? plane : solid, weights[k % 2],
			                   NULL };
		iso_op *a = NULL, *b = NULL;

		OK(iso_ubp_create(&a, c.ranks, &p));
		OK(iso_ubp_create(&b, c.alone, &p));
		same_way(a, b, true);
		iso_op_free(a);
		iso_op_free(b);
	}
	iso_transducers_free(&t);
	iso_transducers_free(&one);
	both_free(&c);
}

/* ---- tissue ---- */

/* All models through a ball with bent rays, and through a mask, whose tables ranks share. */
static void tissue(void **state)
{
	struct both c = both();
	struct iso_transducers t = transducers(3);
	iso_real mask[60];

	(void)state;
	for (int i = 0; i < 60; i++) mask[i] = i % 5 < 3;
	for (int k = 0; k < 2; k++) {
		const struct iso_tissue p = { .size = sizeof p,
			                      .shape = k ? ISO_TISSUE_MASK : ISO_TISSUE_ELLIPSOID,
			                      .path = k ? ISO_SOUND_STRAIGHT : ISO_SOUND_SNELL,
			                      .axes = { .5, .5, .5 },
			                      .speed = 1.6,
			                      .image = mask,
			                      .image_grid = small,
			                      .table_mm = .25 };
		struct iso_svoxel svoxel_of = spectra_of(&t, &small);
		struct iso_sradon sradon_of = { .size = sizeof sradon_of, .t = &t, .grid = small };
		struct iso_ubp ubp_of = { sizeof ubp_of, &t, small, ISO_UBP_SPHERE, NULL };
		iso_delays *d[2] = { NULL, NULL };
		iso_op *v[2] = { NULL, NULL }, *r[2] = { NULL, NULL }, *b[2] = { NULL, NULL };

		svoxel_of.batch = 2;
		for (int i = 0; i < 2; i++) {
			iso_ctx *ctx = i ? c.alone : c.ranks;

			OK(iso_delays_create(&d[i], ctx, &t, &p, &small));
			svoxel_of.delays = sradon_of.delays = ubp_of.delays = d[i];
			OK(iso_svoxel_create(&v[i], ctx, &svoxel_of));
			OK(iso_sradon_create(&r[i], ctx, &sradon_of));
			OK(iso_ubp_create(&b[i], ctx, &ubp_of));
		}
		same_ops(v[0], v[1]);
		same_ops(r[0], r[1]);
		same_way(b[0], b[1], true);
		for (int i = 0; i < 2; i++) {
			iso_op_free(v[i]);
			iso_op_free(r[i]);
			iso_op_free(b[i]);
			iso_delays_free(d[i]);
		}
	}
	iso_transducers_free(&t);
	both_free(&c);
}

/* ---- traces ---- */

static void of_traces(iso_real *y, iso_ctx *ctx, const struct iso_transducers *t, const struct iso_svoxel *p,
                      iso_real *u)
{
	OK(iso_traces_deconvolve(y, ctx, t, 4, 0));
	OK(iso_traces_band(y, ctx, t, .5, 6));
	OK(iso_svoxel_spectra(u, ctx, p, y));
}

static void filters_and_spectra(void **state)
{
	struct both c = both();
	struct iso_transducers t = transducers(3);
	struct iso_svoxel p = spectra_of(&t, &small);
	int64_t n = t.n * t.samples, m = 2 * p.lines * t.n;
	iso_real *y = numbers(n), *z = numbers(n), *u = numbers(m), *v = numbers(m);

	(void)state;
	of_traces(y, c.ranks, &t, &p, u);
	of_traces(z, c.alone, &t, &p, v);
	same(y, z, n);
	same(u, v, m);
	free(y);
	free(z);
	free(u);
	free(v);
	iso_transducers_free(&t);
	both_free(&c);
}

/* Seven transducers with faces hear by tables of waves: the two that one of four ranks has, alone, would not. 133
   are in two blocks, of which shares begin in the middle. */
static void simulated(void **state)
{
	const struct iso_sphere sphere[] = { { { .5, 0, 0 }, 1.5, 1 }, { { -1, 1, 0 }, .7, -2 } };
	const struct iso_spheres s = { 2, (struct iso_sphere *)sphere, .5 };
	struct both c = both();

	(void)state;
	for (int rings = 1; rings <= 19; rings += 18) {
		struct iso_transducers t = transducers(rings);
		int64_t n = t.n * t.samples;
		iso_real *y = numbers(n), *z = numbers(n);
		double most[2], noise = rings > 1 ? .01 : 0;

		OK(iso_spheres_traces(y, &most[0], c.ranks, &s, &t, noise, 7));
		OK(iso_spheres_traces(z, &most[1], c.alone, &s, &t, noise, 7));
		same(y, z, n);
		assert_true(most[0] == most[1] && most[0] > 0);
		free(y);
		free(z);
		iso_transducers_free(&t);
	}
	both_free(&c);
}

/* Each rank writes the same file under a name of its own, of which it then reads a part. */
static void files(void **state)
{
	static const char *const suffix[] = { "npy", "raw", "nii", "nii.gz" };
	struct both c = both();
	struct iso_array a = { 0 };

	(void)state;
	OK(iso_array_on_grid(&a, &solid));
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)i;
	for (int i = 0; i < N_OF(suffix); i++) {
		struct iso_array read = { 0 };
		char path[64], json[80];

		snprintf(path, sizeof path, "ranks-%d-of-%d.%s", iso_rank(c.ranks), iso_ranks(c.ranks),
		         suffix[i]);
		snprintf(json, sizeof json, "%s.json", path);
		OK(iso_write(path, &a, NULL));
		OK(iso_read_shared(&read, c.ranks, path, ISO_FINITE));
		assert_true(read.n == a.n);
		same(read.v, a.v, a.n);
		iso_array_free(&read);
		unlink(path);
		unlink(json);
	}
	iso_array_free(&a);
	both_free(&c);
}

/* A file that one rank cannot read, no rank has read. */
static void missing_file(void **state)
{
	struct both c = both();
	struct iso_array a = { 0 }, read = { 0 };
	int last = iso_ranks(c.ranks) - 1;
	char path[64];
	int st;

	(void)state;
	snprintf(path, sizeof path, "missing-%d-of-%d.npy", iso_rank(c.ranks), last + 1);
	OK(iso_array_on_grid(&a, &small));
	if (iso_rank(c.ranks) < last) OK(iso_write(path, &a, NULL));
	st = iso_read_shared(&read, c.ranks, path, ISO_FINITE);
	snprintf(path, sizeof path, "missing-%d-of-%d.npy", last, last + 1);
	REFUSED(iso_comm_agree(c.ranks, st), ISO_EINPUT, path);
	snprintf(path, sizeof path, "missing-%d-of-%d.npy", iso_rank(c.ranks), last + 1);
	unlink(path);
	iso_array_free(&a);
	both_free(&c);
}

/* ---- whole problems: traces with their transducers in a file, or as .npy ---- */

static struct iso_array image_of(iso_ctx *ctx, const char *model, const char *data, const char *scanner)
{
	struct iso_array x = { 0 };
	iso_problem *p = NULL;

	OK(iso_problem_create(&p, ctx, model));
	OK(iso_problem_set(p, "data", data));
	if (scanner) OK(iso_problem_set(p, "scanner", scanner));
	OK(iso_problem_set(p, "grid", "12,10,9"));
	OK(iso_problem_set(p, "voxel", "0.3"));
	if (strcmp(model, "ubp") != 0) OK(iso_problem_set(p, "iterations", "2"));
	OK(iso_problem_recon(&x, NULL, p));
	iso_problem_free(p);
	return x;
}

static void same_images(const struct both *c, const char *model, const char *data, const char *scanner)
{
	struct iso_array x = image_of(c->ranks, model, data, scanner),
			 z = image_of(c->alone, model, data, scanner);

	assert_true(x.n == z.n);
	same(x.v, z.v, x.n);
	iso_array_free(&x);
	iso_array_free(&z);
}

static void problems(void **state)
{
	static const char *const models[] = { "ubp", "svoxel", "sradon" };
	struct both c = both();
	struct iso_transducers t = transducers(3);
	struct iso_array y = { 0 };
	iso_recording *r = NULL;
	char hdf5[64], npy[64];

	(void)state;
	free(t.eir);
	t.eir = NULL;
	t.n_eir = 0;
	t.first_us = 0; /* as files of the kind have it */
	snprintf(hdf5, sizeof hdf5, "ranks-%d-of-%d.hdf5", iso_rank(c.ranks), iso_ranks(c.ranks));
	snprintf(npy, sizeof npy, "traces-%d-of-%d.npy", iso_rank(c.ranks), iso_ranks(c.ranks));
	OK(iso_array_create(&y, 2, (const int64_t[]){ t.n, t.samples }));
	for (int64_t i = 0; i < y.n; i++) y.v[i] = (iso_real)sin((double)(i * i % 1009));
	OK(iso_recording_of(&r, &t, &y));
	if (iso_recording_write(hdf5, r, NULL)) skip_without(iso_message());
	OK(iso_write(npy, &y, NULL));
	for (int i = 0; i < N_OF(models); i++) {
		same_images(&c, models[i], hdf5, NULL);
		same_images(&c, models[i], npy, hdf5);
	}
	unlink(hdf5);
	unlink(npy);
	iso_recording_free(r);
	iso_array_free(&y);
	iso_transducers_free(&t);
	both_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(svoxel),
		cmocka_unit_test(svoxel_narrow),
		cmocka_unit_test(svoxel_direct),
		cmocka_unit_test(sradon),
		cmocka_unit_test(ubp),
		cmocka_unit_test(tissue),
		cmocka_unit_test(filters_and_spectra),
		cmocka_unit_test(simulated),
		cmocka_unit_test(files),
		cmocka_unit_test(missing_file),
		cmocka_unit_test(problems),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
