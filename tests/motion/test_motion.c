/* SPDX-License-Identifier: BSD-3-Clause */
/* Poses asked, chains, events, pieces and clusters against the reference vectors of poses; also built in double. */
#include "poses_vectors.h"

enum { ASKED = 22, EVENTS = 3177, EVERY = 5, MOVED = 636 };

/* What a motion says at each time of ask_s against a file of 3 x 4 matrices, NaN where the pose is not known. */
static void compare(const char *name, const iso_motion *m, double tolerance)
{
	double *t = npy("ask_s.npy", ASKED, sizeof *t), *want = npy(name, ASKED * 12, sizeof *want), most = 0;

	for (int i = 0; i < ASKED; i++) {
		struct iso_pose z;
		bool known = iso_motion_at(&z, m, t[i]);

		assert_int_equal(known, !isnan(want[12 * i]));
		if (known) most = larger(most, farthest(z.m, want + 12 * i, 12));
	}
	BELOW(most, tolerance);
	free(t);
	free(want);
}

static void compare_table(const char *name, const char *table, enum iso_pose_rule rule, double tolerance)
{
	iso_poses *p = poses_table(table, ISO_POSES_OBJECT, rule);
	iso_motion *m = poses_motion(p, NULL, NULL, NULL);

	compare(name, m, tolerance);
	iso_motion_free(m);
	iso_poses_free(p);
}

static void asked(void **state)
{
	(void)state;
	compare_table("ask_step.npy", "table.csv", ISO_POSE_STEP, 1e-12);
	compare_table("ask_linear.npy", "table.csv", ISO_POSE_OF_FILE, 1e-12);
	compare_table("ask_step.npy", "table.npy", ISO_POSE_STEP, 1e-12);
	compare_table("ask_linear.npy", "table.npy", ISO_POSE_LINEAR, 1e-12);
	compare_table("yrt_ask_step.npy", "yrt.csv", ISO_POSE_OF_FILE, 1e-7);
}

static void with_reference(void **state)
{
	iso_poses *p = poses_table("table.csv", ISO_POSES_OBJECT, ISO_POSE_OF_FILE);
	struct iso_pose r;

	(void)state;
	assert_true(iso_poses_at(&r, p, 40));
	iso_motion *m = poses_motion(p, NULL, NULL, &r);

	compare("ask_linear_ref40.npy", m, 1e-12);
	iso_motion_free(m);
	iso_poses_free(p);
}

static void chains(void **state)
{
	iso_poses *p = poses_table("table.csv", ISO_POSES_OBJECT, ISO_POSE_OF_FILE);
	iso_poses *bed = poses_table("bed.csv", ISO_POSES_BED, ISO_POSE_OF_FILE);
	iso_poses *gantry = poses_table("gantry.csv", ISO_POSES_GANTRY, ISO_POSE_OF_FILE);
	iso_motion *m = poses_motion(p, bed, gantry, NULL);

	(void)state;
	compare("ask_chain_linear.npy", m, 1e-12);
	iso_motion_free(m);
	iso_poses_free(p);
	iso_poses_free(bed);
	iso_poses_free(gantry);
}

/* ---- events ---- */

struct scan {
	struct iso_event *v;
	uint32_t *time_ms;
};

static struct scan scan_events(void)
{
	uint16_t *crystal = npy("events_crystals.npy", EVENTS, 2 * sizeof *crystal);
	struct scan s = { calloc(EVENTS, sizeof *s.v), npy("events_time_ms.npy", EVENTS, sizeof *s.time_ms) };
	iso_scanner *ring = NULL;

	OK(iso_scanner_read(&ring, POSES "ring.yaml"));
	const double *at = iso_scanner_positions(ring);

	for (int i = 0; i < EVENTS; i++)
		for (int a = 0; a < 3; a++) {
			s.v[i].p1[a] = (float)at[3 * crystal[2 * i] + a];
			s.v[i].p2[a] = (float)at[3 * crystal[2 * i + 1] + a];
		}
	iso_scanner_free(ring);
	free(crystal);
	return s;
}

static void scan_free(struct scan s)
{
	free(s.v);
	free(s.time_ms);
}

static void compare_ends(const char *name, enum iso_pose_rule rule)
{
	iso_poses *p = poses_table("table.csv", ISO_POSES_OBJECT, rule);
	iso_motion *m = poses_motion(p, NULL, NULL, NULL);
	double *want = npy(name, MOVED * 6, sizeof *want), most = 0;
	uint8_t *known = npy("events_known.npy", EVENTS, 1);
	struct scan s = scan_events();
	iso_ctx *ctx = cpu(2);
	int64_t unknown = -1, left_out = 0;

	OK(iso_motion_events(&unknown, ctx, m, s.v, s.time_ms, EVENTS));
	for (int i = 0; i < EVENTS; i++) {
		assert_int_equal(iso_event_bad(&s.v[i]), !known[i]);
		left_out += !known[i];
		for (int a = 0; a < 6 && known[i] && i % EVERY == 0; a++)
			most = larger(most, fabs((a < 3 ? s.v[i].p1[a] : s.v[i].p2[a - 3]) -
			                         want[i / EVERY * 6 + a]));
	}
	assert_int_equal(unknown, left_out);
	BELOW(most, 5e-5);
	iso_ctx_free(ctx);
	scan_free(s);
	free(known);
	free(want);
	iso_motion_free(m);
	iso_poses_free(p);
}

static void ends(void **state)
{
	(void)state;
	compare_ends("ends_step.npy", ISO_POSE_STEP);
	compare_ends("ends_linear.npy", ISO_POSE_LINEAR);
}

/* Any number of threads, and any order of events, give the same bits. */
static void same_bits(void **state)
{
	enum { MANY = 40000 };
	iso_poses *p = poses_table("table.csv", ISO_POSES_OBJECT, ISO_POSE_OF_FILE);
	iso_motion *m = poses_motion(p, NULL, NULL, NULL);
	struct iso_event *v[3];
	uint32_t *t = calloc(MANY, sizeof *t), *back = calloc(MANY, sizeof *back);
	int64_t unknown[3];

	(void)state;
	for (int k = 0; k < 3; k++) v[k] = calloc(MANY, sizeof *v[k]);
	for (int i = 0; i < MANY; i++) {
		t[i] = back[MANY - 1 - i] = (uint32_t)(i * 1.6);
		v[0][i] = v[1][i] = v[2][MANY - 1 - i] =
			(struct iso_event){ { (float)i, 2, 3 }, { 4, 5, (float)-i }, 6 };
	}
	for (int k = 0; k < 3; k++) {
		iso_ctx *ctx = cpu(k + 1);

		OK(iso_motion_events(&unknown[k], ctx, m, v[k], k == 2 ? back : t, MANY));
		iso_ctx_free(ctx);
	}
	assert_int_equal(unknown[0], unknown[1]);
	assert_int_equal(unknown[0], unknown[2]);
	assert_memory_equal(v[0], v[1], MANY * sizeof *v[0]);
	for (int i = 0; i < MANY; i++) assert_memory_equal(&v[0][i], &v[2][MANY - 1 - i], sizeof **v);
	for (int k = 0; k < 3; k++) free(v[k]);
	free(t);
	free(back);
	iso_motion_free(m);
	iso_poses_free(p);
}

/* ---- pieces and clusters ---- */

static void compare_pieces(const struct iso_piece *v, int64_t n, int64_t want_n, const char *poses,
                           const char *weights, double tolerance)
{
	double *z, *w, most = 0, sum = 0;

	assert_int_equal(n, want_n);
	z = npy(poses, n * 12, sizeof *z);
	w = npy(weights, n, sizeof *w);
	for (int64_t i = 0; i < n; i++) {
		most = larger(most, farthest(v[i].z.m, z + 12 * i, 12));
		most = larger(most, fabs(v[i].weight - w[i]));
		sum += v[i].weight;
	}
	BELOW(most, tolerance);
	NEAR(sum, 55. / 60, 1e-12);
	free(z);
	free(w);
}

static void pieces(void **state)
{
	enum { STEP = 9, LINEAR = 327, CLUSTERS = 36 };
	iso_poses *step = poses_table("table.csv", ISO_POSES_OBJECT, ISO_POSE_STEP);
	iso_poses *linear = poses_table("table.csv", ISO_POSES_OBJECT, ISO_POSE_LINEAR);
	iso_motion *a = poses_motion(step, NULL, NULL, NULL), *b = poses_motion(linear, NULL, NULL, NULL);
	int64_t n = 0, n_clusters = 0, of[LINEAR];
	int32_t *want;
	struct iso_piece *v = NULL, *cluster = NULL;

	(void)state;
	OK(iso_motion_pieces(&v, &n, a, &poses_span, &poses_grid, .5));
	compare_pieces(v, n, STEP, "step_poses.npy", "step_weights.npy", 1e-12);
	free(v);
	OK(iso_motion_pieces(&v, &n, b, &poses_span, &poses_grid, .5));
	compare_pieces(v, n, LINEAR, "piece_poses.npy", "piece_weights.npy", 1e-9);
	OK(iso_motion_clusters(&cluster, &n_clusters, of, v, n, &poses_grid, 4));
	compare_pieces(cluster, n_clusters, CLUSTERS, "cluster_poses.npy", "cluster_weights.npy", 1e-9);
	want = npy("cluster_of_piece.npy", n, sizeof *want);
	for (int i = 0; i < LINEAR; i++) assert_int_equal(of[i], want[i]);
	free(want);
	free(v);
	free(cluster);
	iso_motion_free(a);
	iso_motion_free(b);
	iso_poses_free(step);
	iso_poses_free(linear);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asked), cmocka_unit_test(with_reference), cmocka_unit_test(chains),
		cmocka_unit_test(ends),  cmocka_unit_test(same_bits),      cmocka_unit_test(pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
