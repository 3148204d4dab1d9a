/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory limit of a context while files are read: heads without values, and refusals before
   any memory is taken. */
#include "files.h"

#define MB 1000000

static iso_ctx *limited(int64_t bytes)
{
	iso_ctx *ctx = NULL;

	assert_int_equal(iso_ctx_create(&ctx, "cpu", 1), ISO_OK);
	iso_ctx_set_memory_limit(ctx, bytes);
	return ctx;
}

static void heads_of_arrays(void **state)
{
	static const char *const names[] = { "a.npy", "a.nii", "a.nii.gz", "a.raw", "a.raw.json" };
	struct iso_array a = small_image(), b = { 0 };
	iso_ctx *tight = limited(a.n * (int64_t)sizeof *a.v - 1), *wide = limited(100 * MB);

	(void)state;
	for (int i = 0; i < COUNT(names); i++) {
		if (i < 4) assert_int_equal(iso_write(names[i], &a, NULL), ISO_OK);
		assert_int_equal(iso_peek(&b, names[i]), ISO_OK);
		assert_true(b.n_dim == 3 && b.n == a.n && !b.v && b.has_grid == (i > 0));
		assert_memory_equal(b.dim, a.dim, 3 * sizeof *a.dim);
		if (b.has_grid) assert_grid(&b, a.grid.voxel, a.grid.centre);
		assert_int_equal(iso_read_within(&b, tight, names[i], ISO_ANY), ISO_ENOMEM);
		assert_null(b.v);
		assert_message("needs");
		assert_message("are left of the limit of");
		assert_int_equal(iso_read_within(&b, wide, names[i], ISO_ANY), ISO_OK);
		assert_memory_equal(b.v, a.v, (size_t)a.n * sizeof *a.v);
		iso_array_free(&b);
	}
	assert_int_equal(iso_peek(&b, "none.npy"), ISO_EINPUT);
	iso_array_free(&a);
	iso_ctx_free(tight);
	iso_ctx_free(wide);
	files(true);
}

/* The values of this one are not there: whoever reads them finds a file that is cut short. */
static void image_refused_by_its_head(void **state)
{
	const struct iso_grid want = { { 2, 3, 5 }, { 1, 1, 1 }, { 0 } };
	struct iso_array a = small_image(), b = { 0 };
	char head[400];

	(void)state;
	assert_int_equal(iso_write("a.nii", &a, NULL), ISO_OK);
	assert_int_equal(get("a.nii", head, sizeof head), sizeof head);
	put_gzip("b.nii.gz", "wb9", head, 360);
	assert_int_equal(iso_read_image(&b, "b.nii.gz", ISO_FINITE, &a.grid), ISO_EINPUT);
	assert_message("ends after 360 bytes");
	assert_int_equal(iso_read_image(&b, "b.nii.gz", ISO_FINITE, &want), ISO_EINPUT);
	assert_message("expected 2 x 3 x 5 voxels");
	iso_array_free(&a);
	files(true);
}

/* What the process holds since the context was made counts, of whatever kind it is. */
static void held_memory_counts(void **state)
{
	iso_ctx *ctx = limited(100 * MB);
	char *held;

	(void)state;
	assert_int_equal(iso_memory_check(ctx, "a file", 60 * MB), ISO_OK);
	assert_int_equal(iso_memory_check(ctx, "a file", 101 * MB), ISO_ENOMEM);
	assert_message("a file: needs 96.3 MiB of host memory");
	held = malloc(80 * MB);
	assert_non_null(held);
	for (int64_t i = 0; i < 80 * MB; i += 1000) ((volatile char *)held)[i] = 1;
	assert_int_equal(iso_memory_check(ctx, "a file", 60 * MB), ISO_ENOMEM);
	free(held);
	iso_ctx_set_memory_limit(ctx, 0);
	assert_int_equal(iso_memory_check(ctx, "a file", 60 * MB), ISO_OK);
	assert_int_equal(iso_memory_check(ctx, "a file", INT64_MAX), ISO_ENOMEM);
	assert_message("are free");
	assert_int_equal(iso_memory_check(NULL, "a file", INT64_MAX), ISO_ENOMEM);
	iso_ctx_free(ctx);
}

static void events(void **state)
{
	static const char single[] = "0 5 0 1 2 3 1 0.511 10 20 30 0 1 2 3 4 5 0 7 0 8 0 0 ";
	struct iso_event one[2] = { { .p1 = { 10, 0, 0 }, .p2 = { -10, 0, 0 } } };
	struct iso_events e = { .n = 2, .v = one };
	struct iso_events_options o = { .size = sizeof o, .ctx = limited(2 * (int64_t)sizeof *one - 1) };
	FILE *f = fopen("a.dat", "w");

	(void)state;
	one[1] = one[0];
	assert_int_equal(iso_events_write("a.lmdT", &e, NULL), ISO_OK);
	assert_int_equal(iso_events_write("a.npy", &e, NULL), ISO_OK);
	assert_non_null(f);
	fprintf(f, "%s%s\n", single, single);
	assert_int_equal(fclose(f), 0);
	e = (struct iso_events){ 0 };
	for (int i = 0; i < 3; i++) {
		const char *name = i == 0 ? "a.lmdT" : i == 1 ? "a.npy" : "a.dat";

		assert_int_equal(iso_events_read(&e, name, &o), ISO_ENOMEM);
		assert_message("of host memory");
		assert_null(e.v);
	}
	iso_ctx_set_memory_limit((iso_ctx *)o.ctx, 50 * MB);
	assert_int_equal(iso_events_read(&e, "a.lmdT", &o), ISO_OK);
	iso_events_free(&e);
	iso_ctx_free((iso_ctx *)o.ctx);
	files(true);
}

static void strips(void **state)
{
	const struct iso_strip_event v[3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } };
	struct iso_strip_options o = { .size = sizeof o, .ctx = limited(3 * (int64_t)sizeof *v - 1) };
	struct iso_strip_events e = { 0 };
	iso_strip_file *f = NULL;

	(void)state;
	put("a.f32", v, sizeof v);
	put_text("a.txt", "1 2 3\n4 5 6\n");
	assert_int_equal(iso_strip_events_read(&e, "a.f32", &o), ISO_ENOMEM);
	assert_message("a.f32: needs");
	assert_int_equal(iso_strip_events_read(&e, "a.txt", &o), ISO_ENOMEM);
	assert_message("a.txt: needs");
	assert_null(e.v);
	assert_int_equal(iso_strip_file_open(&f, "a.f32", NULL, false), ISO_OK);
	assert_int_equal(iso_strip_file_total(f), 3);
	iso_strip_file_close(f);
	assert_int_equal(iso_strip_file_open(&f, "a.txt", NULL, false), ISO_OK);
	assert_int_equal(iso_strip_file_total(f), 0);
	iso_strip_file_close(f);
	iso_ctx_set_memory_limit((iso_ctx *)o.ctx, 50 * MB);
	assert_int_equal(iso_strip_events_read(&e, "a.txt", &o), ISO_OK);
	assert_int_equal(e.n, 2);
	iso_strip_events_free(&e);
	iso_ctx_free((iso_ctx *)o.ctx);
	files(true);
}

static void plan_of(struct iso_plan *plan, iso_ctx *ctx, const iso_srm *m)
{
	struct iso_srm_model p = { .size = sizeof p, .srm = m, .n_sub = 1 };

	*plan = (struct iso_plan){ 0 };
	iso_srm_op_plan(plan, ctx, &p);
}

/* The columns alone tell the same plan as the whole matrix. */
static void matrices(void **state)
{
	const struct iso_panels p = {
		.crystals = { 4, 4 },
		.pitch = { 2, 2 },
		.crystal = { 2, 2, 10 },
		.gap = 40,
		.layers = 1,
		.block = 2,
		.formula = "Lu1.8Y0.2SiO5",
		.density = 7.1,
		.resolution = .2,
		.window = { 250, 750 },
		.per_pitch = { 2, 2 },
		.planes = 4,
		.plane = 4,
	};
	iso_ctx *ctx = limited(1000);
	struct iso_plan whole, columns;
	struct iso_srm_info info = { .size = sizeof info };
	iso_srm *m = NULL, *r = NULL;
	int64_t n;

	(void)state;
	assert_int_equal(iso_srm_analytic(&m, ctx, &p), ISO_OK);
	assert_int_equal(iso_srm_threshold(m, ctx, &(struct iso_srm_bound){ .share = 1 }), ISO_OK);
	assert_int_equal(iso_srm_write("m.srm", m, true, NULL, NULL), ISO_OK);
	assert_int_equal(iso_srm_info(&info, m), ISO_OK);
	n = info.elements;
	plan_of(&whole, ctx, m);
	iso_srm_free(m);
	assert_int_equal(iso_srm_read_within(&r, ctx, "m.srm", false), ISO_ENOMEM);
	assert_message("m.srm: needs");
	assert_null(r);
	assert_int_equal(iso_srm_peek(&r, "m.srm"), ISO_OK);
	assert_int_equal(iso_srm_info(&info, r), ISO_OK);
	assert_int_equal(info.elements, n);
	plan_of(&columns, ctx, r);
	assert_int_equal(iso_plan_size(&columns), iso_plan_size(&whole));
	for (int i = 0; i < iso_plan_size(&whole); i++)
		assert_int_equal(iso_plan_line(&columns, i).host, iso_plan_line(&whole, i).host);
	iso_plan_free(&columns);
	iso_plan_free(&whole);
	iso_srm_free(r);
	iso_ctx_free(ctx);
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_of_arrays),
		cmocka_unit_test(image_refused_by_its_head),
		cmocka_unit_test(held_memory_counts),
		cmocka_unit_test(events),
		cmocka_unit_test(strips),
		cmocka_unit_test(matrices),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
