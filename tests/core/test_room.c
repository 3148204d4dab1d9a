/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of one owner: zeroed, given back together, one status for all. */
#include "core/room.h"
#include "core/size.h"
#include "test.h"

static void arrays_are_zero_and_go_together(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct iso_room r = { .ctx = ctx, .what = "test" };
	double *a, *copy;
	int *b;

	(void)state;
	ISO_HOST(&r, a, 100);
	ISO_DEVICE(&r, b, 0);
	assert_int_equal(r.status, ISO_OK);
	assert_non_null(b);
	for (int i = 0; i < 100; i++) assert_true(a[i] == 0);
	a[99] = 3;
	ISO_UPLOAD(&r, copy, a, 100);
	assert_true(copy != a && copy[99] == 3);
	ISO_MOVE(&r, a, 100);
	assert_true(a && a[99] == 3);
	iso_room_drop(&r, copy);
	iso_room_drop(&r, NULL);
	assert_null(iso_room_upload(&r, NULL, 100, 8));
	assert_int_equal(iso_room_free(&r), ISO_OK);
	assert_null(r.last);
	iso_ctx_free(ctx);
}

/* What comes after the first failure is NULL, and the status is that of the first. */
static void first_failure_stays(void **state)
{
	struct iso_room r = { .what = "test" };
	char *a, *b;

	(void)state;
	ISO_HOST(&r, a, 8);
	assert_non_null(a);
	assert_null(iso_room_host(&r, INT64_MAX, 8));
	assert_int_equal(r.status, ISO_ENOMEM);
	assert_non_null(strstr(iso_message(), "test"));
	ISO_HOST(&r, b, 8);
	assert_null(b);
	void *own = size_alloc(1, 1);

	assert_null(iso_room_take(&r, own));
	free(own);
	assert_int_equal(iso_room_free(&r), ISO_ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_are_zero_and_go_together),
		cmocka_unit_test(first_failure_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
