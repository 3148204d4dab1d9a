/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated scans of an object that moves: events lie where the pose of their millisecond says, and come as often as it
   lets the scanner see them. */
#include "test.h"

#define RADIUS 100.
#define HALF 40. /* of the ring's length */

static const char ring[] = "kind: cylinder\nradius_mm: 100\nrings: 20\nring_pitch_mm: 4\n"
			   "crystals_per_ring: 160\nmin_crystal_distance: 20\n";

/* A still scan and one of an object that moves share these. */
struct bench {
	iso_scanner *scanner;
	struct iso_array x, mu;
	iso_poses *poses, *bed, *gantry;
	struct iso_motion_parts parts;
	struct iso_simulate p;
	struct iso_simulated info;
};

static void setup(struct bench *b, const struct iso_grid *grid, double counts)
{
	FILE *f = fopen("test_moving.yaml", "w");

	*b = (struct bench){ 0 };
	assert_non_null(f);
	fputs(ring, f);
	fclose(f);
	OK(iso_scanner_read(&b->scanner, "test_moving.yaml"));
	remove("test_moving.yaml");
	OK(iso_array_on_grid(&b->x, grid));
	OK(iso_array_on_grid(&b->mu, grid));
	for (int64_t i = 0; i < b->x.n; i++) b->x.v[i] = 1;
	b->parts.size = sizeof b->parts;
	b->info.size = sizeof b->info;
	b->p = (struct iso_simulate){ .size = sizeof b->p,
		                      .scanner = b->scanner,
		                      .activity = &b->x,
		                      .counts = counts,
		                      .duration_s = 40,
		                      .motion = &b->parts,
		                      .seed = 3 };
}

static void teardown(struct bench *b)
{
	iso_array_free(&b->x);
	iso_array_free(&b->mu);
	iso_poses_free(b->poses);
	iso_poses_free(b->bed);
	iso_poses_free(b->gantry);
	iso_scanner_free(b->scanner);
}

/* A row: time, a turn by `degrees` about an axis, a place. */
static void put_row(double row[8], double t, double degrees, double ax, double ay, double az, double x,
                    double y, double z)
{
	double length = sqrt(ax * ax + ay * ay + az * az), s = sin(degrees * M_PI / 360) / length;

	memcpy(row, (double[8]){ t, cos(degrees * M_PI / 360), s * ax, s * ay, s * az, x, y, z },
	       8 * sizeof *row);
}

static iso_poses *table(const double *rows, int64_t n, enum iso_pose_rule rule)
{
	struct iso_poses_options o = { .size = sizeof o, .rule = rule };
	iso_poses *p = NULL;

	OK(iso_poses_create(&p, rows, n, 8, &o, "rows"));
	return p;
}

static struct iso_events simulate(struct bench *b, int threads)
{
	iso_ctx *ctx = cpu(threads);
	struct iso_events e = { 0 };

	OK(iso_simulate(&e, &b->info, ctx, &b->p));
	iso_ctx_free(ctx);
	assert_int_equal(e.n, b->info.trues + b->info.scatters + b->info.randoms);
	return e;
}

/* Three poses that turn and shift, one of them half out of the field. */
static void take_poses(struct bench *b, enum iso_pose_rule rule)
{
	double rows[4 * 8];

	put_row(rows, 0, 0, 1, 0, 0, 0, 0, 0);
	put_row(rows + 8, 10, 35, 1, 2, -1, 12, -20, 5);
	put_row(rows + 16, 20, -50, 0, 1, 1, -8, 4, 44);
	put_row(rows + 24, 30, 20, 1, -1, 0, 15, 10, -20);
	b->poses = table(rows, 4, rule);
	b->parts.poses = b->poses;
}

/* ---- places ---- */

/* Distance of `at` from the line of an event, and how far along it lies from where dt says the decay was. */
static void off_line(double *across, double *along, const struct iso_event *v, const double at[3])
{
	double d[3], r[3], length = 0, dot = 0, r2 = 0;

	for (int a = 0; a < 3; a++) {
		d[a] = (double)v->p2[a] - (double)v->p1[a];
		r[a] = at[a] - (double)v->p1[a];
		length += d[a] * d[a];
		dot += d[a] * r[a];
		r2 += r[a] * r[a];
	}
	length = sqrt(length);
	*across = sqrt(fmax(0, r2 - dot * dot / (length * length)));
	*along = dot / length - .5 * (length + .299792458 * (double)v->dt_ps);
}

/* Poses, bed and gantry at once, all linear: each event's line passes the source where it was at the event's
   millisecond, G^-1 B P x, as near as crystals of 4 mm allow, and the time of flight is of that place. */
static void lines_pass_where_the_source_was(void **state)
{
	static const struct iso_grid grid = { { 3, 3, 3 }, { .5, .5, .5 }, { 20, 8, -5 } };
	const double x[3] = { 20, 8, -5 };
	double bed[2 * 8], gantry[2 * 8], worst = 0, mean = 0, mean_along = 0;
	struct bench b;

	(void)state;
	setup(&b, &grid, 4000);
	for (int64_t i = 0; i < b.x.n; i++) b.x.v[i] = i == 13;
	take_poses(&b, ISO_POSE_LINEAR);
	put_row(bed, 0, 10, 0, 0, 1, 0, 3, -10);
	put_row(bed + 8, 40, 10, 0, 0, 1, 0, 3, 10);
	put_row(gantry, 0, 0, 0, 0, 1, 0, 0, 0);
	put_row(gantry + 8, 40, 100, 0, 0, 1, 0, 0, 0);
	b.bed = table(bed, 2, ISO_POSE_LINEAR);
	b.gantry = table(gantry, 2, ISO_POSE_LINEAR);
	b.parts.bed = b.bed;
	b.parts.gantry = b.gantry;
	b.p.tof_fwhm_ps = 50;
	struct iso_events e = simulate(&b, 2);

	for (int64_t i = 0; i < e.n; i++) {
		struct iso_pose p, q, g;
		double t = e.time_ms[i] / 1000., at[3], across, along;

		assert_true(i == 0 || e.time_ms[i] >= e.time_ms[i - 1]);
		assert_true(iso_poses_at(&p, b.poses, t));
		assert_true(iso_poses_at(&q, b.bed, t));
		assert_true(iso_poses_at(&g, b.gantry, t));
		iso_pose_apply(at, &p, x);
		iso_pose_apply(at, &q, at);
		g = iso_pose_inverse(g);
		iso_pose_apply(at, &g, at);
		off_line(&across, &along, &e.v[i], at);
		worst = fmax(worst, across);
		mean += across / (double)e.n;
		mean_along += along / (double)e.n;
	}
	BELOW(worst, 3.2); /* half the diagonal of a crystal, and of the voxel */
	BELOW(mean, 1.6);
	NEAR(mean_along, 0, .25); /* sigma 3.2 mm an event */
	iso_events_free(&e);
	teardown(&b);
}

/* ---- numbers ---- */

/* Uniform numbers of a generator that shares nothing with Philox. */
static double uniform(uint64_t *s)
{
	*s = *s * 6364136223846793005 + 1442695040888963407;
	return (double)(*s >> 11) * 0x1p-53;
}

/* Share of n isotropic pairs from the box of the grid at a pose that meet the cylinder of the ring with both photons.
   No line is short enough to be no pair: all of the object stays within 85 mm of the axis. */
static double seen_share(const struct iso_grid *g, const struct iso_pose *p, int64_t n)
{
	uint64_t s = 12345;
	int64_t seen = 0;

	for (int64_t i = 0; i < n; i++) {
		double x[3], d[3], a = 2 * M_PI * uniform(&s), up = 2 * uniform(&s) - 1,
				   flat = sqrt(1 - up * up);

		for (int k = 0; k < 3; k++)
			x[k] = g->centre[k] + (uniform(&s) - .5) * (double)g->n[k] * g->voxel[k];
		iso_pose_apply(x, p, x);
		d[0] = flat * cos(a);
		d[1] = flat * sin(a);
		d[2] = up;
		double along = x[0] * d[0] + x[1] * d[1], r2 = x[0] * x[0] + x[1] * x[1];

		assert_true(r2 < 85 * 85);
		double root = sqrt(along * along + flat * flat * (RADIUS * RADIUS - r2));

		seen += fabs(x[2] + up * (root - along) / (flat * flat)) < HALF &&
		        fabs(x[2] - up * (root + along) / (flat * flat)) < HALF;
	}
	return (double)seen / (double)n;
}

static const struct iso_grid body = { { 8, 6, 10 }, { 8, 8, 8 }, { 4, -3, 2 } };

/* Events at each pose are decays then, of a half life of half the scan, times the share that the pose lets be seen; an
   independent count of isotropic pairs tells that. Their sum is what was asked for. */
static void counts_follow_the_poses(void **state)
{
	const int64_t n = 200000;
	double share[4], from = 0, expected = 0, got[4] = { 0 };
	struct bench b;

	(void)state;
	setup(&b, &body, 30000);
	take_poses(&b, ISO_POSE_STEP);
	b.p.half_life_s = 20;
	struct iso_events e = simulate(&b, 2);

	for (int64_t i = 0; i < e.n; i++) got[e.time_ms[i] < 40000 ? e.time_ms[i] / 10000 : 3]++;
	for (int k = 0; k < 4; k++) {
		struct iso_pose p;
		double to = 1 - exp2(-(k + 1) / 2.), decays = (to - from) / .75 * b.info.decays;

		assert_true(iso_poses_row(&p, b.poses, k));
		share[k] = seen_share(&body, &p, n);
		double want = decays * share[k];

		NEAR(got[k], want, 4 * sqrt(want + want * want / ((double)n * share[k])));
		expected += want;
		from = to;
	}
	BELOW(share[2], .6 * share[0]); /* half out of the field */
	NEAR((double)e.n, expected, 4 * sqrt(expected + expected * expected / (4. * (double)n * .3)));
	NEAR((double)e.n, 30000, 5 * sqrt(1.5 * 30000));
	iso_events_free(&e);
	teardown(&b);
}

/* The mean of the numbers of many short scans is --counts, randoms and bent ones among them. */
static void counts_are_right_on_average(void **state)
{
	const int scans = sized(10, 6);
	double sum = 0, randoms = 0, bent = 0;
	struct bench b;

	(void)state;
	setup(&b, &body, 500);
	take_poses(&b, ISO_POSE_LINEAR);
	b.p.randoms = .3;
	b.p.bent = .2;
	for (int i = 0; i < scans; i++) {
		b.p.seed = (uint64_t)(100 + i);
		struct iso_events e = simulate(&b, 2);

		sum += (double)e.n / scans;
		randoms += (double)b.info.randoms / scans;
		bent += (double)b.info.scatters / scans;
		iso_events_free(&e);
	}
	NEAR(sum, 500, 4 * sqrt(1.1 * 500 / scans));
	NEAR(randoms, 150, 4 * sqrt(150. / scans));
	NEAR(bent, 100, 4 * sqrt(1.1 * 100 / scans));
	teardown(&b);
}

/* ---- attenuation ---- */

/* Mean attenuation factor of events, their lines moved into the object's axes if `motion`. */
static double mean_alpha(struct iso_events *e, const struct iso_array *mu,
                         const struct iso_motion_parts *parts)
{
	iso_ctx *ctx = cpu(2);
	iso_real *alpha = calloc((size_t)e->n, sizeof *alpha);
	iso_motion *m = NULL;
	int64_t unknown;
	double mean = 0;

	assert_non_null(alpha);
	if (parts) {
		OK(iso_motion_create(&m, parts));
		OK(iso_motion_events(&unknown, ctx, m, e->v, e->time_ms, e->n));
		assert_int_equal(unknown, 0);
	}
	OK(iso_ray_attenuation(alpha, ctx, mu, e));
	for (int64_t i = 0; i < e->n; i++) mean += (double)alpha[i] / (double)e->n;
	free(alpha);
	iso_motion_free(m);
	iso_ctx_free(ctx);
	return mean;
}

/* A plate on one side of the object, through which nothing passes, thins the events by its mean attenuation along their
   lines, and no line that is left crosses it: moved lines if it moves with the object, lines in place if it stays. */
static void attenuation_moves_or_stays(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, &body, sized(12000, 4000));
	take_poses(&b, ISO_POSE_LINEAR);
	for (int64_t i = 0; i < b.mu.n; i++) b.mu.v[i] = i % 8 == 7;
	for (int fixed = 0; fixed < 2; fixed++) {
		b.p.mu = b.p.mu_fixed = NULL;
		struct iso_events e = simulate(&b, 2);
		double without = (double)e.n / b.info.decays;
		double want = mean_alpha(&e, &b.mu, fixed ? NULL : &b.parts);

		iso_events_free(&e);
		*(fixed ? &b.p.mu_fixed : &b.p.mu) = &b.mu;
		e = simulate(&b, 2);
		NEAR((double)e.n / b.info.decays / without, want, 5 * want * sqrt(2 / b.p.counts));
		BELOW(want, .85);
		BELOW(1 - mean_alpha(&e, &b.mu, fixed ? NULL : &b.parts),
		      .04); /* lines end at centres of crystals */
		iso_events_free(&e);
	}
	teardown(&b);
}

/* ---- the same bits ---- */

static void assert_same(const struct iso_events *a, const struct iso_events *b)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->v, b->v, (size_t)a->n * sizeof *a->v);
	assert_memory_equal(a->crystal, b->crystal, 2 * (size_t)a->n * sizeof *a->crystal);
	assert_memory_equal(a->time_ms, b->time_ms, (size_t)a->n * sizeof *a->time_ms);
}

static void same_events_for_every_number_of_threads(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, &body, 9000);
	take_poses(&b, ISO_POSE_LINEAR);
	for (int64_t i = 0; i < b.mu.n; i++) b.mu.v[i] = (iso_real).005;
	b.p.mu = &b.mu;
	b.p.mu_fixed = &b.mu;
	b.p.randoms = .2;
	b.p.bent = .1;
	b.p.tof_fwhm_ps = 300;
	b.p.half_life_s = 30;
	struct iso_events one = simulate(&b, 1);

	for (int threads = 2; threads < 4; threads++) {
		struct iso_events e = simulate(&b, threads);

		assert_same(&one, &e);
		iso_events_free(&e);
	}
	iso_events_free(&one);
	teardown(&b);
}

/* Rows of the identity are an object at rest, to the bit. Beyond 1e-6 they are a motion: other events of the same kind,
   here with ends in the same rings. */
static void identities_are_rest(void **state)
{
	double rows[2 * 8];
	struct bench b;
	int64_t count[2][20] = { { 0 } };

	(void)state;
	setup(&b, &body, 20000);
	put_row(rows, 0, 0, 0, 0, 1, 0, 0, 0);
	put_row(rows + 8, 20, 0, 0, 0, 1, 9e-7, 0, 0);
	b.poses = table(rows, 2, ISO_POSE_LINEAR);
	b.parts.poses = b.poses;
	struct iso_events moving = simulate(&b, 2);

	b.p.motion = NULL;
	struct iso_events still = simulate(&b, 2);

	assert_same(&moving, &still);
	iso_events_free(&moving);
	iso_poses_free(b.poses);
	rows[13] = 1e-5;
	b.poses = table(rows, 2, ISO_POSE_LINEAR);
	b.parts.poses = b.poses;
	b.p.motion = &b.parts;
	moving = simulate(&b, 2);
	assert_true(moving.n != still.n || memcmp(moving.v, still.v, (size_t)still.n * sizeof *still.v) != 0);
	for (int64_t i = 0; i < still.n; i++) count[0][still.crystal[2 * i] / 160]++;
	for (int64_t i = 0; i < moving.n; i++) count[1][moving.crystal[2 * i] / 160]++;
	for (int k = 0; k < 20; k++) {
		double a = (double)count[0][k] / (double)still.n, c = (double)count[1][k] / (double)moving.n;

		NEAR(a, c, 4.5 * sqrt(a / (double)still.n + c / (double)moving.n));
	}
	iso_events_free(&moving);
	iso_events_free(&still);
	teardown(&b);
}

/* A gantry that turns by whole turns from row to row is no rest. */
static void whole_turns_are_no_rest(void **state)
{
	static const char text[] = "time_s,angle_deg\n0,0\n40,720\n";
	struct iso_poses_options o = { .size = sizeof o, .kind = ISO_POSES_GANTRY };
	FILE *f = fopen("test_moving.csv", "w");
	struct bench b;

	(void)state;
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	setup(&b, &body, 2000);
	OK(iso_poses_read(&b.gantry, "test_moving.csv", &o));
	remove("test_moving.csv");
	b.parts.gantry = b.gantry;
	struct iso_events turning = simulate(&b, 2);

	b.p.motion = NULL;
	struct iso_events still = simulate(&b, 2);

	assert_true(turning.n != still.n ||
	            memcmp(turning.v, still.v, (size_t)still.n * sizeof *still.v) != 0);
	iso_events_free(&turning);
	iso_events_free(&still);
	teardown(&b);
}

/* While a pose is not known the last known one holds, and before the first known one that; so a table without those rows
   gives the same events. */
static void unknown_poses_hold_the_last(void **state)
{
	double with[5 * 8], without[2 * 8];
	struct bench b;

	(void)state;
	setup(&b, &body, 3000);
	put_row(without, 0, 30, 1, 0, 0, 10, 0, 0);
	put_row(without + 8, 30, 10, 0, 1, 0, 0, 0, 20);
	put_row(with, 0, 0, 0, 0, 1, 0, 0, 0);
	put_row(with + 8, 5, 30, 1, 0, 0, 10, 0, 0);
	put_row(with + 16, 10, 0, 0, 0, 1, 0, 0, 0);
	put_row(with + 24, 20, 0, 0, 0, 1, 0, 0, 0);
	put_row(with + 32, 30, 10, 0, 1, 0, 0, 0, 20);
	for (int k = 0; k < 5; k += k == 0 ? 2 : 1)
		for (int i = 1; i < 8 && k < 4; i++) with[8 * k + i] = NAN;
	b.poses = table(without, 2, ISO_POSE_STEP);
	b.bed = table(with, 5, ISO_POSE_STEP);
	b.parts.poses = b.poses;
	struct iso_events known = simulate(&b, 2);

	b.parts.poses = b.bed;
	struct iso_events held = simulate(&b, 2);

	assert_same(&known, &held);
	iso_events_free(&known);
	iso_events_free(&held);
	teardown(&b);
}

/* ---- by photons ---- */

static void take_physics(struct bench *b)
{
	for (int64_t i = 0; i < b->mu.n; i++) b->mu.v[i] = (iso_real).0096;
	b->p.mu = &b->mu;
	b->p.physics = true;
	b->p.window_kev[0] = 435;
	b->p.window_kev[1] = 650;
	b->p.resolution = .11;
}

/* Share of the events whose lines lie more along y than along x. */
static double share_along_y(const struct iso_events *e)
{
	int64_t n = 0;

	for (int64_t i = 0; i < e->n; i++)
		n += fabsf(e->v[i].p1[1] - e->v[i].p2[1]) > fabsf(e->v[i].p1[0] - e->v[i].p2[0]);
	return (double)n / (double)e->n;
}

/* A box, denser at one end, that a pose turns by 90 degrees and shifts has as many trues and scatters, in the same rings
   and directions, as a box at rest that is built there. */
static void photons_see_the_object_where_it_is(void **state)
{
	/* x' = -y + 10, y' = x - 8, z' = z + 14 of the body's centre, 4, -3, 2 */
	static const struct iso_grid there = { { 6, 8, 10 }, { 8, 8, 8 }, { 13, -4, 16 } };
	double row[8], trues[2], scatters[2], along[2], ring_of[2] = { 0 };
	struct bench b;

	(void)state;
	put_row(row, 0, 90, 0, 0, 1, 10, -8, 14);
	for (int moved = 0; moved < 2; moved++) {
		setup(&b, moved ? &body : &there, 100);
		take_physics(&b);
		b.p.decays = sized(80000, 20000);
		for (int64_t i = 0; i < b.mu.n; i++)
			if ((moved ? i % 8 : i / 6 % 8) >= 6) b.mu.v[i] = (iso_real).045;
		b.poses = table(row, 1, ISO_POSE_STEP);
		b.parts.poses = b.poses;
		if (!moved) b.p.motion = NULL;
		struct iso_events e = simulate(&b, 2);

		NEAR(b.info.decays, b.p.decays, 5 * sqrt(b.p.decays));
		trues[moved] = (double)b.info.trues;
		scatters[moved] = (double)b.info.scatters;
		along[moved] = share_along_y(&e);
		for (int64_t i = 0; i < 2 * e.n; i++)
			ring_of[moved] += e.crystal[i] / 160 / (2. * (double)e.n);
		iso_events_free(&e);
		teardown(&b);
	}
	NEAR(trues[0], trues[1], 4 * sqrt(trues[0] + trues[1]));
	NEAR(scatters[0], scatters[1], 4 * sqrt(scatters[0] + scatters[1]));
	NEAR(along[0], along[1], 4 * sqrt(.5 / trues[0]));
	NEAR(ring_of[0], ring_of[1], 4 * 5 * sqrt(2 / trues[0])); /* of 20 rings, 5 deviate as much */
}

/* Randoms by rate follow the singles at the pose: none come while the object is away. Prompts and randoms are as many as
   asked for, and the same for every number of threads. */
static void photons_and_randoms_follow_the_pose(void **state)
{
	double rows[2 * 8];
	struct iso_simulated_photons found = { .size = sizeof found };
	struct bench b;

	(void)state;
	setup(&b, &body, 5000);
	take_physics(&b);
	iso_scanner_free(b.scanner);
	FILE *f = fopen("test_moving.yaml", "w");

	assert_non_null(f);
	fprintf(f, "%stime: {coincidence_ns: 5}\n", ring);
	fclose(f);
	OK(iso_scanner_read(&b.scanner, "test_moving.yaml"));
	remove("test_moving.yaml");
	b.p.scanner = b.scanner;
	put_row(rows, 0, 20, 1, 1, 0, 5, 0, 0);
	put_row(rows + 8, .1, 0, 0, 0, 1, 0, 0, 500);
	b.poses = table(rows, 2, ISO_POSE_STEP);
	b.parts.poses = b.poses;
	b.p.by_rate = true;
	b.p.duration_s = .2; /* so short that randoms matter */
	b.p.photons = &found;
	struct iso_events e = simulate(&b, 2);
	double randoms = (double)b.info.randoms;

	for (int64_t i = 0; i < e.n; i++) assert_true(e.time_ms[i] <= 500 * b.p.duration_s);
	NEAR((double)e.n, b.p.counts, 5 * sqrt(1.5 * b.p.counts));
	NEAR(randoms, found.randoms_expected, 5 * sqrt(1.5 * found.randoms_expected));
	assert_true(randoms > 20);
	struct iso_events again = simulate(&b, 1);

	assert_same(&e, &again);
	iso_events_free(&e);
	iso_events_free(&again);
	teardown(&b);
}

/* ---- refusals ---- */

static void bad_input_is_refused(void **state)
{
	double rows[8];
	struct bench b;
	iso_ctx *ctx = cpu(2);
	struct iso_events e = { 0 };

	(void)state;
	setup(&b, &body, 100);
	take_poses(&b, ISO_POSE_STEP);
	b.p.duration_s = 0;
	REFUSED(iso_simulate(&e, &b.info, ctx, &b.p), ISO_EARG, "needs the length of the scan");
	b.p.duration_s = 40;
	b.p.exact_counts = true;
	REFUSED(iso_simulate(&e, &b.info, ctx, &b.p), ISO_EARG, "cannot be exact");
	b.p.exact_counts = false;
	b.p.physics = true;
	b.p.mu = b.p.mu_fixed = &b.mu;
	REFUSED(iso_simulate(&e, &b.info, ctx, &b.p), ISO_EARG, "'physics'");
	b.p.physics = false;
	b.p.motion = NULL;
	b.p.mu_fixed = &b.mu;
	REFUSED(iso_simulate(&e, &b.info, ctx, &b.p), ISO_EARG, "'mu_fixed'");
	b.p.mu_fixed = NULL;
	b.p.motion = &b.parts;
	put_row(rows, 0, 0, 0, 0, 1, 0, 0, 500);
	b.bed = table(rows, 1, ISO_POSE_STEP);
	b.parts.bed = b.bed;
	REFUSED(iso_simulate(&e, &b.info, ctx, &b.p), ISO_EINPUT, "none of 1048576 decays");
	b.parts.size = 0;
	REFUSED(iso_simulate(&e, &b.info, ctx, &b.p), ISO_EARG, "size");
	iso_ctx_free(ctx);
	teardown(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_pass_where_the_source_was),
		cmocka_unit_test(counts_follow_the_poses),
		cmocka_unit_test(counts_are_right_on_average),
		cmocka_unit_test(attenuation_moves_or_stays),
		cmocka_unit_test(same_events_for_every_number_of_threads),
		cmocka_unit_test(identities_are_rest),
		cmocka_unit_test(whole_turns_are_no_rest),
		cmocka_unit_test(unknown_poses_hold_the_last),
		cmocka_unit_test(photons_see_the_object_where_it_is),
		cmocka_unit_test(photons_and_randoms_follow_the_pose),
		cmocka_unit_test(bad_input_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
