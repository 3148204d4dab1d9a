/* SPDX-License-Identifier: BSD-3-Clause */
/* What a clock tells: stages with rates, and brief ones only where they last longer than a moment. */
#include "core/ctx.h"
#include "core/progress.h"
#include "test.h"

#include <pthread.h>
#include <unistd.h>

#define LONGER_US 350000 /* than a moment */

static struct heard {
	int n;
	struct iso_progress first, last;
} heard;

static void hear(void *arg, const struct iso_progress *p)
{
	struct heard *h = arg;

	if (h->n++ == 0) h->first = *p;
	h->last = *p;
}

static iso_ctx *listening(void)
{
	iso_ctx *ctx = NULL;

	heard = (struct heard){ 0 };
	assert_int_equal(iso_ctx_create(&ctx, "cpu", 1), ISO_OK);
	iso_ctx_set_progress(ctx, hear, &heard);
	return ctx;
}

static void stage_with_a_rate(void **state)
{
	iso_ctx *ctx = listening();
	struct iso_clock c = iso_clock_start_of(ctx, "order", "events", 10, 20);

	(void)state;
	assert_int_equal(heard.n, 1);
	assert_int_equal(heard.first.done, 10);
	assert_true(heard.first.elapsed_s == 0 && heard.first.per_s == 0 && !heard.first.brief);
	iso_clock_count(&c, "events", 1000);
	usleep(1000);
	iso_clock_step(&c, 15, "note");
	assert_string_equal(heard.last.unit, "events");
	assert_string_equal(heard.last.note, "note");
	assert_float_equal(heard.last.per_s * heard.last.elapsed_s, 5000,
	                   1e-6); /* of the steps of this run alone */
	assert_float_equal(heard.last.left_s, heard.last.elapsed_s, 1e-9);
	iso_ctx_free(ctx);
}

static void steps_without_unit(void **state)
{
	iso_ctx *ctx = listening();
	struct iso_clock c = iso_clock_start(ctx, "mlem", 0, 2);

	(void)state;
	iso_clock_step(&c, 1, NULL);
	assert_null(heard.last.unit);
	assert_true(heard.last.per_s == 0);
	iso_ctx_free(ctx);
}

static void over_in_a_moment(void **state)
{
	iso_ctx *ctx = listening();
	struct iso_clock c = iso_clock_brief(ctx, "read", "bytes", 1000, "a.nii");

	(void)state;
	for (int i = 0; i < 1000; i++) iso_clock_add(&c, 1);
	iso_clock_end(&c);
	assert_int_equal(heard.n, 0);
	iso_ctx_free(ctx);
}

static void longer_than_a_moment(void **state)
{
	iso_ctx *ctx = listening();
	struct iso_clock c = iso_clock_brief(ctx, "read", "bytes", 1000, "a.nii");

	(void)state;
	usleep(LONGER_US);
	for (int i = 0; i < 500; i++) iso_clock_add(&c, 1);
	assert_in_range(heard.n, 2, 20); /* its beginning, and not every step */
	assert_true(heard.first.brief && heard.first.elapsed_s == 0 && heard.first.done == 0);
	assert_string_equal(heard.last.note, "a.nii");
	iso_clock_end(&c);
	assert_int_equal(heard.last.done, 1000);
	assert_true(heard.last.per_s > 0);
	iso_ctx_free(ctx);
}

/* Of a total that is not known, the end tells what it was. */
static void total_not_known(void **state)
{
	iso_ctx *ctx = listening();
	struct iso_clock c = iso_clock_brief(ctx, "read", "bytes", 0, NULL);

	(void)state;
	usleep(LONGER_US);
	iso_clock_add(&c, 0);
	assert_int_equal(heard.n, 2);
	assert_true(heard.last.total == 0 && heard.last.left_s < 0);
	iso_clock_add(&c, 7);
	iso_clock_end(&c);
	assert_true(heard.last.total == 7 && heard.last.done == 7);
	iso_ctx_free(ctx);
}

static void *add_elsewhere(void *clock)
{
	iso_clock_add(clock, 40);
	return NULL;
}

/* Every thread counts, the one that started the clock tells. */
static void other_threads(void **state)
{
	iso_ctx *ctx = listening();
	struct iso_clock c = iso_clock_brief(ctx, "order", "events", 100, NULL);
	pthread_t thread;

	(void)state;
	usleep(LONGER_US);
	assert_int_equal(pthread_create(&thread, NULL, add_elsewhere, &c), 0);
	pthread_join(thread, NULL);
	assert_int_equal(heard.n, 0);
	iso_clock_add(&c, 1);
	assert_int_equal(heard.last.done, 41);
	iso_ctx_free(ctx);
}

static void *mute_thread(void *ctx)
{
	iso_progress_mute();
	struct iso_clock c = iso_clock_brief(ctx, "read", "bytes", 2, NULL);

	usleep(LONGER_US);
	iso_clock_add(&c, 1);
	iso_clock_end(&c);
	return NULL;
}

/* Without a context whoever listens on this thread hears; threads of the library's own speak to nobody. */
static void listeners(void **state)
{
	iso_ctx *ctx = listening();
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, mute_thread, ctx), 0);
	pthread_join(thread, NULL);
	assert_int_equal(heard.n, 0);
	iso_progress_listen(hear, &heard);
	struct iso_clock c = iso_clock_brief(NULL, "write", "bytes", 5, NULL);

	iso_progress_listen(NULL, NULL);
	usleep(LONGER_US);
	iso_clock_add(&c, 1);
	assert_int_equal(heard.n, 2);
	assert_string_equal(heard.last.stage, "write");
	c = iso_clock_brief(NULL, "write", "bytes", 5, NULL);
	usleep(LONGER_US);
	iso_clock_add(&c, 1);
	assert_int_equal(heard.n, 2);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stage_with_a_rate), cmocka_unit_test(steps_without_unit),
		cmocka_unit_test(over_in_a_moment),  cmocka_unit_test(longer_than_a_moment),
		cmocka_unit_test(total_not_known),   cmocka_unit_test(other_threads),
		cmocka_unit_test(listeners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
