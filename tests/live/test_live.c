/* SPDX-License-Identifier: BSD-3-Clause */
/* Live pages inside: planes and their bytes, curve, state, who may see them; and a page without a run. */
#include "test.h"

#include "live/live.h"
#include "text/json_file.h"

#include <unistd.h>

static iso_ctx *ctx;

/* A page that nobody serves. */
static iso_live *unserved(void)
{
	iso_live *l = calloc(1, sizeof *l);

	assert_non_null(l);
	l->back = calloc(1, sizeof *l->back);
	l->ready = calloc(1, sizeof *l->ready);
	l->front = calloc(1, sizeof *l->front);
	assert_true(l->back && l->ready && l->front);
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

static void unserved_free(iso_live *l)
{
	pthread_mutex_destroy(&l->lock);
	free(l->back);
	free(l->ready);
	free(l->front);
	free(l);
}

static void tokens(void **state)
{
	const char *token = "0123456789abcdef0123456789abcdef";
	char made[2][LIVE_TOKEN + 1];

	(void)state;
	assert_string_equal(iso_live_behind_token("/0123456789abcdef0123456789abcdef/state", token), "state");
	assert_string_equal(iso_live_behind_token("/0123456789abcdef0123456789abcdef/", token), "");
	assert_null(iso_live_behind_token("/0123456789abcdef0123456789abcdee/", token));
	assert_null(iso_live_behind_token("/0123456789abcdef0123456789abcdef", token));
	assert_null(iso_live_behind_token("x0123456789abcdef0123456789abcdef/", token));
	assert_null(iso_live_behind_token("", token));
	OK(iso_live_make_token(made[0]));
	OK(iso_live_make_token(made[1]));
	assert_int_equal(strlen(made[0]), LIVE_TOKEN);
	assert_string_not_equal(made[0], made[1]);
}

static void hosts(void **state)
{
	(void)state;
	assert_true(iso_live_host_is_own("127.0.0.1:8080", 8080));
	assert_true(iso_live_host_is_own("localhost:8080", 8080));
	assert_true(iso_live_host_is_own("[::1]:8080", 8080));
	assert_true(iso_live_host_is_own("127.0.0.1", 80));
	assert_false(iso_live_host_is_own("127.0.0.1", 8080));
	assert_false(iso_live_host_is_own("127.0.0.1:808", 8080));
	assert_false(iso_live_host_is_own("evil.example:8080", 8080));
	assert_false(iso_live_host_is_own("localhost.evil:8080", 8080));
	assert_false(iso_live_host_is_own("::1:8080", 8080));
	assert_false(iso_live_host_is_own(":8080", 8080));
	assert_false(iso_live_host_is_own("", 80));
	assert_false(iso_live_host_is_own(NULL, 8080));
	assert_true(iso_live_origin_is_own(NULL, "a:1"));
	assert_true(iso_live_origin_is_own("http://a:1", "a:1"));
	assert_false(iso_live_origin_is_own("https://a:1", "a:1"));
	assert_false(iso_live_origin_is_own("null", "a:1"));
}

/* 600 x 3 x 2 voxels, of which every third along x is shown. */
static void planes(void **state)
{
	struct iso_grid g = { { 600, 3, 2 }, { 1, 2, 3 }, { 0, 0, 0 } };
	struct live_image *im = calloc(1, sizeof *im);
	struct iso_array a = { 0 };
	const int64_t at[3] = { 7, 1, 1 };

	(void)state;
	assert_non_null(im);
	OK(iso_array_on_grid(&a, &g));
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)(i % 1000);
	a.v[600 * 3 + 600 * 1 + 7] = 5000;
	OK(iso_live_planes(im, &a, at));
	assert_int_equal(im->n, 3);
	assert_int_equal(im->plane[0].step, 3);
	assert_int_equal(im->plane[0].n[0], 200);
	assert_int_equal(im->plane[0].n[1], 1);
	assert_int_equal(im->plane[0].cross[0], 2);
	assert_true(im->value == 5000);
	assert_true(im->plane[0].v[1] == (float)a.v[600 * 3 + 3]);
	assert_int_equal(im->plane[2].axis, 0);
	assert_int_equal(im->plane[2].n[0], 3);
	assert_int_equal(im->plane[2].n[1], 2);
	assert_true(im->plane[2].v[3 + 1] == 5000);
	OK(iso_live_planes(im, &a, (int64_t[]){ -5, 99, 1 }));
	assert_int_equal(im->at[0], 0);
	assert_int_equal(im->at[1], 2);
	iso_array_free(&a);
	free(im);
}

/* A ball, and a voxel that is hotter and stands alone. */
static void middle_of_the_object(void **state)
{
	struct iso_grid g = { { 20, 20, 20 }, { 1, 1, 1 }, { 0, 0, 0 } };
	struct iso_array a = { 0 };
	int64_t at[3];

	(void)state;
	OK(iso_array_on_grid(&a, &g));
	for (int64_t i = 0; i < a.n; i++)
		a.v[i] = llabs(i % 20 - 6) <= 2 && llabs(i / 20 % 20 - 9) <= 2 && llabs(i / 400 - 13) <= 2;
	a.v[0] = 50;
	OK(iso_live_object(at, &a));
	assert_int_equal(at[0], 6);
	assert_int_equal(at[1], 9);
	assert_int_equal(at[2], 13);
	iso_array_free(&a);
}

static unsigned pixel(const unsigned char *bytes, size_t at)
{
	return bytes[at] | (unsigned)bytes[at + 1] << 8;
}

/* A slice: one plane, between the least and the greatest value and 0. */
static void bytes_of_planes(void **state)
{
	static const iso_real v[] = { -1, 0, 3, 1, 2, 0 };
	struct live_image *im = calloc(1, sizeof *im);
	struct iso_array a = { 0 };
	unsigned char *bytes;
	size_t size;

	(void)state;
	assert_non_null(im);
	OK(iso_array_create(&a, 2, (int64_t[]){ 2, 3 }));
	memcpy(a.v, v, sizeof v);
	a.v[4] = (iso_real)NAN;
	OK(iso_live_planes(im, &a, (int64_t[]){ 2, 0, 0 }));
	assert_non_null(bytes = iso_live_image_bytes(im, &size));
	assert_int_equal(size, 100 + 32 + 2 * 6);
	assert_memory_equal(bytes, "ISOLIVE2", 8);
	double last;

	memcpy(&last, bytes + 92, sizeof last); /* of the last colour */
	assert_true(last > -1 && last <= 3);
	assert_int_equal(pixel(bytes, 132), 0);
	assert_int_equal(pixel(bytes, 134), 16384); /* 65534 / 4, to the nearest */
	assert_int_equal(pixel(bytes, 136), 65534);
	assert_int_equal(pixel(bytes, 140), 65535);
	free(bytes);
	iso_array_free(&a);
	free(im);
}

/* Of a curve that is too long every other point goes, so that 2500 become 313; the last is never far behind. */
static void curve(void **state)
{
	iso_live *l = unserved();
	struct iso_live_step s = { .size = sizeof s, .total = 5000, .per = 2, .figure = "cost" };

	(void)state;
	for (s.done = 1; s.done <= 5000; s.done++) {
		s.objective = s.done % 2 ? NAN : (double)s.done;
		iso_live_step(l, &s);
	}
	struct live_facts f = iso_live_facts(l);

	assert_true(f.n_points > LIVE_POINTS / 2 - 2 && f.n_points <= LIVE_POINTS);
	for (int i = 0; i < f.n_points; i++) {
		assert_true(f.point[i].at == f.point[i].value / 2);
		assert_true(f.point[i].at == 1 + 8 * i); /* the first, and then evenly */
	}
	assert_true(f.point[f.n_points - 1].at > 2480);
	s.done = 2; /* the next frame */
	s.objective = 7;
	iso_live_step(l, &s);
	f = iso_live_facts(l);
	assert_int_equal(f.n_points, 1);
	unserved_free(l);
}

/* Whatever the texts hold, the state is JSON, and has what was told. */
static void state_is_json(void **state)
{
	iso_live *l = unserved();
	char *text, *long_text = malloc(1 << 20);
	json_t *root = NULL;

	(void)state;
	assert_non_null(long_text);
	memset(long_text, 'x', 1 << 20);
	long_text[(1 << 20) - 1] = '\0';
	for (int k = 0; k < 40; k++) iso_live_warning(l, long_text);
	iso_live_warning(l, "</script><b>\"\\\xff\x01\xe2\x82");
	iso_live_progress(l,
	                  &(struct iso_progress){ .stage = "a\"b", .done = 1, .total = 2, .left_s = 1e300 });
	iso_live_step(l,
	              &(struct iso_live_step){ .size = sizeof(struct iso_live_step), .objective = INFINITY });
	iso_live_part(l, "frame", 2, 5);
	struct live_facts f = iso_live_facts(l);

	assert_non_null(text = iso_live_state(&f, 10, 3));
	assert_true(strlen(text) < 20000);
	OK(iso_json_parse(&root, "state", text, strlen(text)));
	const json_t *w = json_object_get(root, "warnings");

	assert_int_equal(json_integer_value(json_object_get(w, "count")), 41);
	assert_string_equal(json_string_value(json_array_get(json_object_get(w, "last"), LIVE_WARNINGS - 1)),
	                    "</script><b>\"\\????");
	assert_string_equal(json_string_value(json_object_get(json_object_get(root, "stage"), "part")),
	                    "frame 2 of 5");
	json_decref(root);
	free(text);
	free(long_text);
	unserved_free(l);
}

/* An object of the state, which is freed at the end. */
static const json_t *state_of(json_t **root, const struct live_facts *f, double now_s, const char *key)
{
	char *text = iso_live_state(f, now_s, 0);

	assert_non_null(text);
	json_decref(*root);
	*root = NULL;
	OK(iso_json_parse(root, "state", text, strlen(text)));
	free(text);
	return json_object_get(*root, key);
}

static double number_of(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

/* Between two reports the clock goes on, and the time left goes down to 0. */
static void clock_goes_on(void **state)
{
	struct live_facts f = { .told_s = 7, .elapsed_s = 5, .left_s = 20 };
	json_t *root = NULL;
	const json_t *o = state_of(&root, &f, 10, "stage");

	(void)state;
	NEAR(number_of(o, "elapsed_s"), 8, 1e-9);
	NEAR(number_of(o, "left_s"), 17, 1e-9);
	o = state_of(&root, &f, 40, "stage");
	NEAR(number_of(o, "left_s"), 0, 0);
	f.left_s = -1;
	assert_true(json_is_null(json_object_get(state_of(&root, &f, 10, "stage"), "left_s")));
	json_decref(root);
}

/* 10 updates a second, 5 an iteration, 1000 events an iteration; when none comes any more the rate falls. */
static void rates(void **state)
{
	struct live_facts f = {
		.per = 5, .rows = 1000, .n_marks = 3, .mark = { { 1, 0 }, { 2, 10 }, { 3, 20 } }
	};
	json_t *root = NULL;
	const json_t *o = state_of(&root, &f, 3.1, "iterations");

	(void)state;
	NEAR(number_of(o, "iterations_a_second"), 2, 1e-9);
	NEAR(number_of(o, "rows_a_second"), 2000, 1e-6);
	o = state_of(&root, &f, 11, "iterations");
	NEAR(number_of(o, "iterations_a_second"), .4, 1e-9);
	json_decref(root);
}

/* Five images a second for a page, one in two seconds where nobody looks, and less often where an image takes long: a
   hundredth of the time. */
static void how_often(void **state)
{
	iso_live *l = unserved();
	struct iso_array a = { 0 };

	(void)state;
	OK(iso_array_create(&a, 2, (int64_t[]){ 4, 4 }));
	OK(iso_live_image(l, &a));
	double now = l->image_due_s; /* and 0.2 s after the image */

	l->image_due_s = now - 1;
	assert_false(iso_live_wants_image(l));
	iso_live_polled(l);
	assert_true(iso_live_wants_image(l));
	l->asked_s -= 1; /* it took a second to come here */
	OK(iso_live_image(l, &a));
	assert_true(l->image_due_s - now > 90);
	iso_array_free(&a);
	unserved_free(l);
}

static void saves(void **state)
{
	iso_live *l = unserved();
	struct live_facts f;

	(void)state;
	iso_live_saved(l, ISO_EIO);
	f = iso_live_facts(l);
	assert_true(f.saves == 0 && f.save_failed);
	iso_live_saved(l, ISO_OK);
	f = iso_live_facts(l);
	assert_true(f.saves == 1 && !f.save_failed);
	unserved_free(l);
}

/* A point that is clicked, and without one the middle of the object again. */
static void points(void **state)
{
	iso_live *l = unserved();
	struct iso_array a = { 0 };

	(void)state;
	OK(iso_array_create(&a, 2, (int64_t[]){ 9, 9 }));
	a.v[9 * 4 + 5] = a.v[9 * 4 + 6] = a.v[9 * 4 + 7] = 1;
	iso_live_ask_point(l, (int64_t[]){ 1, 2, 0 });
	OK(iso_live_image(l, &a));
	assert_true(iso_live_front(l)->at[0] == 1 && iso_live_front(l)->at[1] == 2);
	iso_live_ask_point(l, NULL);
	OK(iso_live_image(l, &a));
	assert_true(iso_live_front(l)->at[0] == 6 && iso_live_front(l)->at[1] == 4);
	iso_array_free(&a);
	unserved_free(l);
}

/* A note lasts for its stage. */
static void notes(void **state)
{
	iso_live *l = unserved();

	(void)state;
	iso_live_progress(l, &(struct iso_progress){ .stage = "read", .note = "e.lmdT" });
	iso_live_progress(l, &(struct iso_progress){ .stage = "read", .elapsed_s = 1 });
	assert_string_equal(iso_live_facts(l).note, "e.lmdT");
	iso_live_progress(l, &(struct iso_progress){ .stage = "osem" });
	assert_string_equal(iso_live_facts(l).note, "");
	unserved_free(l);
}

/* Planes change hands: the server has the last, the run never waits. */
static void hands(void **state)
{
	iso_live *l = unserved();
	struct iso_array a = { 0 };

	(void)state;
	OK(iso_array_create(&a, 2, (int64_t[]){ 4, 4 }));
	assert_int_equal(iso_live_front(l)->version, 0);
	for (int k = 1; k <= 5; k++) {
		a.v[5] = a.v[6] = (iso_real)k;
		OK(iso_live_image(l, &a));
	}
	assert_int_equal(iso_live_front(l)->version, 5);
	assert_true(iso_live_front(l)->value == 5);
	assert_false(iso_live_wants_image(l));
	REFUSED(iso_live_image(l, &(struct iso_array){ .v = a.v, .n = 1, .n_dim = 7 }), ISO_EARG, "");
	assert_false(iso_live_ask_save(l));
	iso_live_can_save(l, true);
	assert_true(iso_live_ask_save(l));
	assert_true(iso_live_asked_to_save(l));
	assert_false(iso_live_asked_to_save(l));
	iso_array_free(&a);
	unserved_free(l);
}

/* Starts, is asked to stop, and ends; or says what is wrong, or missing. */
static void served(void **state)
{
	struct iso_live_options o = { .size = sizeof o };
	iso_live *l = NULL;
	int st = iso_live_start(&l, ctx, &o);

	(void)state;
#ifdef ISO_MICROHTTPD
	OK(st);
	assert_memory_equal(iso_live_address(l), "http://127.0.0.1:", 17);
	iso_live_ask_stop(l);
	assert_true(iso_ctx_cancelled(ctx));
	iso_ctx_clear_cancel(ctx);
	iso_live_stop(l, "done");
	o.bind = "::1";
	if (iso_live_start(&l, ctx, &o) == ISO_OK) { /* a machine may have no IPv6 */
		assert_memory_equal(iso_live_address(l), "http://[::1]:", 13);
		iso_live_stop(l, NULL);
	}
	o.bind = "example.org";
	REFUSED(iso_live_start(&l, ctx, &o), ISO_EARG, "no numeric address");
#else
	assert_int_equal(st, ISO_EDEVICE);
	REFUSED(st, ISO_EDEVICE, "libmicrohttpd");
#endif
	o.port = 70000;
	REFUSED(iso_live_start(&l, ctx, &o), ISO_EARG, "port is 70000");
	o.size = 0;
	REFUSED(iso_live_start(&l, ctx, &o), ISO_EARG, "size");
}

/* A page asks every .35 s, and then fetches the last image; whoever stopped the run waits a fraction of a second. */
static void end_of_run(void **state)
{
	struct live_end e = { .now_s = 10, .began_s = 10, .polled_s = 9.9, .guests = 1 };

	(void)state;
	assert_true(iso_live_end_waits(&e));
	e.now_s = 10.5;
	assert_true(iso_live_end_waits(&e));
	e.hurried = true;
	assert_false(iso_live_end_waits(&e)); /* it was closed */
	e.polled_s = 10.3;
	assert_true(iso_live_end_waits(&e));
	e.now_s = 10.7;
	assert_false(iso_live_end_waits(&e)); /* asks on and on, and never sees it */
	e.now_s = 10.5;
	e.seen_s = 10.4;
	assert_true(iso_live_end_waits(&e));
	e.seen_s = 10.3;
	assert_false(iso_live_end_waits(&e));
	e = (struct live_end){ .now_s = 10, .began_s = 10, .polled_s = 9.9, .guests = 0 };
	assert_false(iso_live_end_waits(&e)); /* no connection is open */
	e = (struct live_end){ .now_s = 10, .began_s = 10, .polled_s = 0, .guests = 1 };
	assert_false(iso_live_end_waits(&e));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens),          cmocka_unit_test(hosts),
		cmocka_unit_test(planes),          cmocka_unit_test(middle_of_the_object),
		cmocka_unit_test(bytes_of_planes), cmocka_unit_test(curve),
		cmocka_unit_test(state_is_json),   cmocka_unit_test(hands),
		cmocka_unit_test(served),          cmocka_unit_test(end_of_run),
		cmocka_unit_test(clock_goes_on),   cmocka_unit_test(rates),
		cmocka_unit_test(how_often),       cmocka_unit_test(saves),
		cmocka_unit_test(points),          cmocka_unit_test(notes),
	};
	int failed;

	if (iso_ctx_create(&ctx, "cpu", 1) != ISO_OK) return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	iso_ctx_free(ctx);
	return failed;
}
