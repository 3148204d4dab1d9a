/* SPDX-License-Identifier: BSD-3-Clause */
/* Gates by phase and by amplitude against reference vectors, triggers of a trace, tables and their files, the signal of a
   ball that moves in a body, and what is refused. */
#include "test.h"

#include "file/npy.h"

#include <unistd.h>

static const char dir[] = TEST_DATA "/warp";

static double *column(const char *name, int columns, int64_t *n)
{
	char path[512];
	double *v = NULL;

	snprintf(path, sizeof path, "%s/%s.npy", dir, name);
	OK(iso_table_read(&v, n, columns, path));
	return v;
}

static struct iso_trace trace(void)
{
	struct iso_trace t = { 0 };

	OK(iso_trace_read(&t, TEST_DATA "/warp/trace.npy"));
	assert_int_equal(t.n, 1500);
	return t;
}

/* The gates at the times of the vectors, and after the table was written and read. */
static void compare(iso_gates *g, const char *name)
{
	int64_t n, m;
	double *ask = column("gate_ask_s", 1, &n), *want = column(name, 1, &m);
	iso_gates *again = NULL;

	OK(iso_gates_write("gates_test.csv", g, true));
	OK(iso_gates_read(&again, "gates_test.csv"));
	for (int64_t i = 0; i < n; i++) {
		assert_int_equal(iso_gates_at(g, ask[i]), (int)want[i]);
		assert_int_equal(iso_gates_at(again, ask[i]), (int)want[i]);
	}
	assert_int_equal(iso_gates_count(g), 6);
	unlink("gates_test.csv");
	iso_gates_free(g);
	iso_gates_free(again);
	free(ask);
	free(want);
}

static void phase(void **state)
{
	static const char *const names[][2] = { { "triggers_s", "gate_phase6" },
		                                { "triggers_odd_s", "gate_phase6_odd" } };

	(void)state;
	for (int i = 0; i < 2; i++) {
		iso_gates *g = NULL;
		int64_t n;
		double *t = column(names[i][0], 1, &n);

		OK(iso_gates_by_phase(&g, t, n, 6));
		assert_int_equal(iso_gates_at(g, t[0]), 0);
		assert_int_equal(iso_gates_at(g, t[0] - 1e-9), -1);
		assert_int_equal(iso_gates_at(g, t[n - 1]), -1);
		compare(g, names[i][1]);
		free(t);
	}
}

static void amplitude(void **state)
{
	struct iso_trace t = trace();
	int64_t n;
	double level[5], *want = column("gate_levels", 1, &n);
	iso_gates *g = NULL;

	(void)state;
	OK(iso_trace_levels(level, 6, &t));
	for (int i = 0; i < 5; i++) NEAR(level[i], want[i], 1e-12);
	OK(iso_gates_by_amplitude(&g, &t, level, 5));
	for (int i = 0; i < 6; i++) NEAR(iso_gates_time(g, i), 10, .3);
	compare(g, "gate_amplitude6");
	free(want);
	iso_trace_free(&t);
}

/* An uneven trace is resampled: twice the samples in one half of the time must not draw the levels there. */
static void uneven(void **state)
{
	double time[151], value[151], level[1];
	struct iso_trace t = { 151, time, value };

	(void)state;
	for (int i = 0; i < 151; i++) value[i] = time[i] = i < 50 ? i : 50 + .5 * (i - 50);
	OK(iso_trace_levels(level, 2, &t));
	NEAR(level[0], 50, 1e-12);
}

/* Edges of rows are where the signal crosses a level, up and down. */
static void edges(void **state)
{
	double time[] = { 0, 1, 3 }, value[] = { 0, 4, 0 }, level[] = { 1, 3 };
	const struct iso_trace t = { 3, time, value };
	const struct iso_gate_row want[] = {
		{ 0, .25, 0 }, { .25, .75, 1 }, { .75, 1.5, 2 }, { 1.5, 2.5, 1 }, { 2.5, 3, 0 }
	};
	iso_gates *g = NULL;

	(void)state;
	OK(iso_gates_by_amplitude(&g, &t, level, 2));
	assert_int_equal(iso_gates_rows(g), 5);
	for (int i = 0; i < 5; i++) {
		const struct iso_gate_row r = iso_gates_row(g, i);

		assert_true(r.from_s == want[i].from_s && r.to_s == want[i].to_s && r.gate == want[i].gate);
	}
	iso_gates_free(g);
}

/* A sine of 4 s: up through its middle at 4, 8, ..., not at 0, before which it was never low; noise adds none. */
static void triggers(void **state)
{
	enum { N = 1001 };
	static double time[N], value[N];
	const struct iso_trace t = { N, time, value };
	double *found = NULL;
	int64_t n;

	(void)state;
	for (int i = 0; i < N; i++) {
		time[i] = .02 * i;
		value[i] = sin(M_PI / 2 * time[i]) + .02 * (i % 2);
	}
	OK(iso_trace_triggers(&found, &n, &t));
	assert_int_equal(n, 4);
	for (int i = 0; i < 4; i++) NEAR(found[i], 4 * (i + 1), .03);
	free(found);
}

/* ---- from data ---- */

static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(seed >> 11) + .5) / 9007199254740992.;
}

static double gauss(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* A ball (sigma 8 mm, 15 % of the activity) that moves by +-8 mm along z in 4.1 s, in a body of sigma 60 mm, seen with
   1 - |z|/100 mm. The place along the line is in dt. */
static struct iso_events body(int per_frame, double seconds)
{
	struct iso_events e = { .n = (int64_t)(2 * seconds * per_frame) };

	e.v = calloc((size_t)e.n, sizeof *e.v);
	e.time_ms = calloc((size_t)e.n, sizeof *e.time_ms);
	assert_true(e.v && e.time_ms);
	seed = 1;
	for (int64_t i = 0; i < e.n; i++) {
		double p[3], t = seconds * (double)i / (double)e.n;

		do {
			const bool ball = uniform() < .15;

			for (int a = 0; a < 3; a++) p[a] = gauss() * (ball ? 8 : 60);
			if (ball) p[2] += 8 * sin(2 * M_PI * t / 4.1);
		} while (uniform() > 1 - fabs(p[2]) / 100);
		e.v[i] = (struct iso_event){ { (float)p[0] - 400, (float)p[1], (float)p[2] },
			                     { (float)p[0] + 200, (float)p[1], (float)p[2] },
			                     (float)(200 / .299792458) };
		e.time_ms[i] = (uint32_t)(1000 * t);
	}
	return e;
}

/* With the mean of sin(2 pi t / 4.1) over each frame of 0.5 s. */
static double correlation(const struct iso_trace *t)
{
	double sxy = 0, sxx = 0, syy = 0, sx = 0, sy = 0;

	for (int64_t i = 0; i < t->n; i++) {
		const double x = sin(2 * M_PI * t->time_s[i] / 4.1), y = t->value[i];

		sx += x, sy += y, sxx += x * x, syy += y * y, sxy += x * y;
	}
	const double n = (double)t->n;

	return (n * sxy - sx * sy) / sqrt((n * sxx - sx * sx) * (n * syy - sy * sy));
}

static void from_data(void **state)
{
	struct iso_events e = body(sized(10000, 3000), 30);
	struct iso_signal how = { .size = sizeof how };
	struct iso_trace first = { 0 };

	(void)state;
	for (int threads = 1; threads < 3; threads++)
		for (int kind = 0; kind < 2; kind++) {
			iso_ctx *ctx = cpu(threads);
			struct iso_trace t = { 0 };

			how.kind = (enum iso_signal_kind)kind;
			OK(iso_trace_of_events(&t, ctx, &e, &how));
			assert_int_equal(t.n, 59);
			BELOW(1 - correlation(&t), sized(20, 100) / 1e3);
			if (kind == 0 && threads == 1) {
				first = t;
			} else {
				if (kind == 0)
					assert_memory_equal(first.value, t.value, 59 * sizeof *t.value);
				iso_trace_free(&t);
			}
			iso_ctx_free(ctx);
		}
	iso_trace_free(&first);
	iso_events_free(&e);
}

/* ---- what is refused ---- */

static void tables_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "from_s,to_s,gate\n0,1,0\n0.5,2,1\n",
		  "line 3: begins at 0.5 s, before the row ahead of it ends" },
		{ "from_s,to_s,gate\n0,1,-1\n", "line 2: gate -1, must be a whole number from 0" },
		{ "from_s,to_s,gate\n0,1,0.5\n", "line 2: gate 0.5" },
		{ "from_s,to_s,gate\n1,1,0\n", "line 2: from 1 to 1 s" },
		{ "from_s,to_s,gate\n0,1\n", "line 2 has 2 columns, expected 3" },
		{ "from_s,to_s,gate\n0,x,0\n", "line 2, column 2 (to_s): 'x' is not a number" },
		{ "from_s,until,gate\n0,1,0\n", "no column 'to_s'" },
		{ "# nothing\n", "has no row of numbers" },
	};
	iso_gates *g = NULL;

	(void)state;
	for (int i = 0; i < N_OF(cases); i++) {
		FILE *f = fopen("gates_bad.csv", "w");

		assert_non_null(f);
		fputs(cases[i].text, f);
		fclose(f);
		REFUSED(iso_gates_read(&g, "gates_bad.csv"), ISO_EINPUT, cases[i].message);
		assert_null(g);
	}
	unlink("gates_bad.csv");
}

/* A byte order mark, ends of lines of Windows, another order of columns, a comment. */
static void tables_read(void **state)
{
	iso_gates *g = NULL;
	FILE *f = fopen("gates_odd.csv", "w");

	(void)state;
	assert_non_null(f);
	fputs("\xef\xbb\xbf# a comment\r\ngate;from_s;to_s\r\n1; 0;1.5\r\n\r\n0;2;3\r\n", f);
	fclose(f);
	OK(iso_gates_read(&g, "gates_odd.csv"));
	assert_int_equal(iso_gates_count(g), 2);
	assert_int_equal(iso_gates_at(g, 1), 1);
	assert_int_equal(iso_gates_at(g, 1.5), -1);
	assert_int_equal(iso_gates_at(g, 2), 0);
	REFUSED(iso_gates_write("gates_odd.csv", g, false), ISO_EARG, "gates_odd.csv");
	unlink("gates_odd.csv");
	iso_gates_free(g);
}

static void refused(void **state)
{
	double time[] = { 0, 1, 1 }, value[] = { 1, 1, 1 }, level[] = { 2, 1 };
	struct iso_trace t = { 3, time, value };
	struct iso_events e = { .n = 1 };
	struct iso_signal how = { .size = sizeof how };
	iso_ctx *ctx = cpu(1);
	iso_gates *g = NULL;
	uint32_t ms = 19999;

	(void)state;
	REFUSED(iso_trace_levels(level, 2, &t), ISO_EARG, "time 2 of the samples is 1 s");
	t.n = 2;
	REFUSED(iso_trace_levels(level, 2, &t), ISO_EARG, "is 1 everywhere");
	REFUSED(iso_trace_levels(level, 0, &t), ISO_EARG, "0 gates, must be 1 to 1024");
	REFUSED(iso_gates_by_amplitude(&g, &t, level, 2), ISO_EARG,
	        "level 1 is 1; levels must be finite and rise");
	REFUSED(iso_gates_by_phase(&g, time, 1, 4), ISO_EARG, "1 triggers, at least 2");
	REFUSED(iso_trace_of_events(&t, ctx, &e, &how), ISO_EINPUT, "the events have no times");
	e.time_ms = &ms;
	REFUSED(iso_trace_of_events(&t, ctx, &e, &how), ISO_EINPUT, "a scan of 20 s or more");
	how.band[1] = 2;
	REFUSED(iso_trace_of_events(&t, ctx, &e, &how), ISO_EARG, "'band' is 0 to 2 Hz");
	assert_null(g);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(phase),          cmocka_unit_test(amplitude),   cmocka_unit_test(uneven),
		cmocka_unit_test(edges),          cmocka_unit_test(triggers),    cmocka_unit_test(from_data),
		cmocka_unit_test(tables_refused), cmocka_unit_test(tables_read), cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
