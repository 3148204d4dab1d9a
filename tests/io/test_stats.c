/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of arrays, of lists and files of events, of recordings. */
#include "files.h"
#include "test.h"

static void arrays(void **state)
{
	struct iso_array a = { 0 };
	struct iso_array_stats s = { .size = sizeof s };

	(void)state;
	OK(iso_array_create(&a, 1, (int64_t[]){ 6 }));
	memcpy(a.v, (iso_real[]){ NAN, 2, -4, INFINITY, 0, 5 }, 6 * sizeof *a.v);
	OK(iso_array_stats(&s, &a));
	assert_true(s.min == -4 && s.max == 5 && s.sum == 3 && s.mean == .75);
	assert_true(s.nan == 1 && s.infinite == 1 && s.negative == 1 && s.zero == 1);
	a.n = 0;
	OK(iso_array_stats(&s, &a));
	assert_true(isnan(s.mean) && isinf(s.min) && s.sum == 0);
	iso_array_free(&a);
}

/* More than one block; the last event has no length, and counts as bad alone. */
static void events(void **state)
{
	enum { N = 70000 };
	struct iso_events e = { .n = N, .v = calloc(N, sizeof *e.v), .n_bad = 1 };
	struct iso_events_stats s = { .size = sizeof s }, list = { .size = sizeof list };
	iso_event_file *f = NULL;

	(void)state;
	for (int i = 0; i < N; i++)
		e.v[i] = (struct iso_event){ { (float)i, 1, 2 }, { -3, 4, 5 }, (float)(i - 100) };
	e.v[N - 1] = (struct iso_event){ { 9e9f, 0, 0 }, { 9e9f, 0, 0 }, 0 };
	OK(iso_events_write("e.lmdT", &e, NULL));
	OK(iso_event_file_open(&f, "e.lmdT", NULL));
	OK(iso_event_file_stats(&s, f));
	iso_event_file_close(f);
	assert_true(s.n == N && s.n_bad == 1 && s.counts == N - 1);
	assert_true(s.ends_mm.x[0] == -3 && s.ends_mm.x[1] == N - 2);
	assert_true(s.ends_mm.y[0] == 1 && s.ends_mm.y[1] == 4 && s.ends_mm.z[0] == 2 && s.ends_mm.z[1] == 5);
	assert_true(s.dt_ps[0] == -100 && s.dt_ps[1] == N - 102);
	assert_true(s.time_s[0] > s.time_s[1] && s.mult[0] > s.mult[1]);
	OK(iso_events_stats_begin(&list));
	OK(iso_events_stats_add(&list, &e));
	assert_memory_equal(&list, &s, sizeof s);
	iso_events_free(&e);
}

static void recordings(void **state)
{
	struct iso_rings rings = {
		.radius = 10, .rings = 2, .views = 3, .polar_first = 1, .polar_step = 1, .azimuth_step = 2
	};
	struct iso_transducers t = { .speed = 1.5, .dt_us = .1, .samples = 4, .gamma = 1 };
	struct iso_array y = { 0 };
	iso_recording *r = NULL;
	double range[2];

	(void)state;
	OK(iso_transducers_rings(&t, &rings));
	OK(iso_array_create(&y, 4, (int64_t[]){ 2, 3, t.n, t.samples }));
	y.v[7] = -2;
	y.v[y.n - 1] = 5;
	OK(iso_recording_of(&r, &t, &y));
	OK(iso_recording_range(range, r));
	assert_true(range[0] == -2 && range[1] == 5);
	iso_recording_free(r);
	iso_array_free(&y);
	iso_transducers_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays),
		cmocka_unit_test(events),
		cmocka_unit_test(recordings),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
