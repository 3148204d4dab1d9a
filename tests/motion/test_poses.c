/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of poses: what is read and refused, notes, references, and files written; also built in double. */
#include "poses_vectors.h"
#include "files.h"

#include <locale.h>

#define NAMES "time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n"
#define YRT_ROW "0,1,0,0,1,0,1,0,2,0,0,1,3,0\n"

static iso_poses *read_as(const char *text, struct iso_poses_options o)
{
	iso_poses *p = NULL;

	o.size = sizeof o;
	put_text("p.csv", text);
	OK(iso_poses_read(&p, "p.csv", &o));
	return p;
}

static iso_poses *read_text(const char *text)
{
	return read_as(text, (struct iso_poses_options){ .kind = ISO_POSES_ANY });
}

static void refuse_as(const char *text, struct iso_poses_options o, const char *message)
{
	iso_poses *p = NULL;

	o.size = sizeof o;
	put_text("p.csv", text);
	REFUSED(iso_poses_read(&p, "p.csv", &o), ISO_EINPUT, message);
	assert_null(p);
}

static void refuse(const char *text, const char *message)
{
	refuse_as(text, (struct iso_poses_options){ .kind = ISO_POSES_ANY }, message);
}

static struct iso_pose at(const iso_poses *p, double t)
{
	struct iso_pose z;

	assert_true(iso_poses_at(&z, p, t));
	return z;
}

/* ---- algebra ---- */

static void algebra(void **state)
{
	iso_poses *p = poses_table("table.csv", ISO_POSES_OBJECT, ISO_POSE_OF_FILE);
	struct iso_pose a = at(p, 9), b = at(p, 20), i = iso_pose_identity();
	double x[3] = { 1, -2, 3 }, y[3], z[3];

	(void)state;
	BELOW(farthest(iso_pose_multiply(a, iso_pose_inverse(a)).m, i.m, 12), 1e-14);
	iso_pose_apply(y, &b, x);
	iso_pose_apply(y, &a, y);
	struct iso_pose ab = iso_pose_multiply(a, b);

	iso_pose_apply(z, &ab, x);
	BELOW(farthest(y, z, 3), 1e-14);
	BELOW(iso_motion_way(&a, &a, &poses_grid), 0);
	iso_poses_free(p);
}

/* ---- what is read ---- */

static void forms(void **state)
{
	static const char *const same[] = {
		"time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n1,2,0,0,0,1,2,3\n",
		"\xef\xbb\xbf# words\r\n\r\nTime_s; qw; QX; qy; qz; x_mm; y_mm; z_mm\r\n 1; -1;0;0;0 ;1;2;3",
		"# words\nz_mm\ty_mm\tx_mm\ttime_s\n3\t2\t1\t1\n# more\n\n",
		"\"time_s\",r00,r01,r02,r10,r11,r12,r20,r21,r22,x_mm,y_mm,z_mm\n1,1,0,0,0,1,0,0,0,1,1,2,3\n",
		"time_s x_mm y_mm z_mm angle_deg\n1 1 2 3 720\n",
	};
	const struct iso_pose want = { { 1, 0, 0, 1, 0, 1, 0, 2, 0, 0, 1, 3 } };

	(void)state;
	for (int i = 0; i < N_OF(same); i++) {
		iso_poses *p = read_text(same[i]);
		struct iso_pose z = at(p, 5);

		assert_int_equal(iso_poses_rows(p), 1);
		assert_int_equal(iso_poses_rule(p), ISO_POSE_LINEAR);
		assert_true(iso_poses_time(p, 0) == 1);
		BELOW(farthest(z.m, want.m, 12), 0);
		assert_string_equal(iso_poses_note(p), "");
		iso_poses_free(p);
	}
}

static void rules(void **state)
{
	iso_poses *p = read_text("# rule: step\ntime_s,z_mm\n1,10\n2,20\n3,nan\n4,40\n");
	struct iso_pose z;

	(void)state;
	assert_int_equal(iso_poses_rule(p), ISO_POSE_STEP);
	assert_true(at(p, 0).m[11] == 10 && at(p, 1.99).m[11] == 10 && at(p, 2).m[11] == 20 &&
	            at(p, 9).m[11] == 40);
	assert_false(iso_poses_at(&z, p, 3) || iso_poses_at(&z, p, 3.99) || iso_poses_row(&z, p, 2));
	assert_false(iso_poses_row(&z, p, 4) || iso_poses_row(&z, p, -1));
	iso_poses_free(p);
	p = read_as("# rule: step\ntime_s,z_mm\n1,10\n2,20\n3,nan\n",
	            (struct iso_poses_options){ .rule = ISO_POSE_LINEAR });
	assert_true(at(p, 1.5).m[11] == 15 && at(p, 2.5).m[11] == 20);
	iso_poses_free(p);
}

/* 720 degrees in two rows are two turns; quarters are exact. */
static void angles(void **state)
{
	iso_poses *p = read_text("time_s,angle_deg\n0,0\n80,720\n");
	const struct iso_pose quarter = { { 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0 } };

	(void)state;
	BELOW(farthest(at(p, 10).m, quarter.m, 12), 0);
	BELOW(farthest(at(p, 50).m, quarter.m, 12), 0);
	BELOW(farthest(at(p, 40).m, iso_pose_identity().m, 12), 0);
	iso_poses_free(p);
	p = read_as("time_s,angle_deg,x_mm\n0,90,1\n",
	            (struct iso_poses_options){ .kind = ISO_POSES_GANTRY, .inverse = true });
	struct iso_pose z = at(p, 0),
			back = iso_pose_inverse((struct iso_pose){ { 0, -1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0 } });

	BELOW(farthest(z.m, back.m, 12), 0);
	iso_poses_free(p);
}

/* First inverted, then turned: C P^-1 C^-1. */
static void options(void **state)
{
	const struct iso_pose c = { { 0, -1, 0, 5, 1, 0, 0, 6, 0, 0, 1, 7 } };
	struct iso_poses_options o = { .size = sizeof o, .inverse = true, .axes = &c };
	iso_poses *p = poses_table("table.csv", ISO_POSES_OBJECT, ISO_POSE_STEP), *q = NULL;

	(void)state;
	o.rule = ISO_POSE_STEP;
	OK(iso_poses_read(&q, POSES "table.csv", &o));
	for (int t = 0; t < 60; t += 7) {
		struct iso_pose a, b;

		assert_int_equal(iso_poses_at(&a, p, t), iso_poses_at(&b, q, t));
		if (!iso_poses_at(&a, p, t)) continue;
		a = iso_pose_multiply(iso_pose_multiply(c, iso_pose_inverse(a)), iso_pose_inverse(c));
		BELOW(farthest(a.m, b.m, 12), 1e-13);
	}
	iso_poses_free(p);
	iso_poses_free(q);
}

static void from_memory(void **state)
{
	double row[13] = { 0, 0, -1, 0, 1, 1, 0, 0, 2, 0, 0, 1, 3 };
	iso_poses *p = NULL;
	struct iso_poses_options bad = { 0 };

	(void)state;
	OK(iso_poses_create(&p, row, 1, 13, NULL, "array"));
	BELOW(farthest(at(p, 0).m, row + 1, 12), 1e-15);
	iso_poses_free(p);
	p = NULL;
	REFUSED(iso_poses_create(&p, row, 1, 7, NULL, "array"), ISO_EARG,
	        "rows of 7 numbers, must be 8 or 13");
	REFUSED(iso_poses_create(&p, row, 0, 13, NULL, "array"), ISO_EARG, "n is 0");
	REFUSED(iso_poses_create(&p, row, 1, 13, &bad, "array"), ISO_EARG, "size");
	bad = (struct iso_poses_options){ .size = sizeof bad, .rule = (enum iso_pose_rule)3 };
	REFUSED(iso_poses_create(&p, row, 1, 13, &bad, "array"), ISO_EARG, "rule 3");
	row[4] = INFINITY;
	REFUSED(iso_poses_create(&p, row, 1, 13, NULL, "array"), ISO_EINPUT,
	        "array: row 0, column 5 (x_mm): infinite");
	assert_null(p);
}

/* ---- refusals ---- */

static void bad_tables(void **state)
{
	(void)state;
	refuse(NAMES, "has no row");
	refuse("# nothing\n", "has no row");
	refuse("# isotome poses 2\n" NAMES, "line 1: version '2'");
	refuse("# rule: cubic\n" NAMES, "line 1: rule 'cubic', must be linear or step");
	refuse("time_s,qw,qx,qy\n0,1,0,0\n", "column qz is missing");
	refuse("qw,qx,qy,qz\n1,0,0,0\n", "column time_s is missing");
	refuse("time_s\n0\n", "times and no poses");
	refuse("time_s,x\n0,1\n", "line 1, column 2: 'x' is no column");
	refuse("time_s,x_mm,X_MM\n0,1,2\n", "line 1, column 3: x_mm stands again");
	refuse("time_s,angle_deg,qw,qx,qy,qz\n0,1,1,0,0,0\n", "a rotation is given twice");
	refuse("0,1,0,0,0,1,2,3\n", "line 1: 8 numbers, expected are the names of columns, or 14");
	refuse("time_s,z_mm\n0,1\n2\n", "line 3: 1 columns, expected 2");
	refuse("time_s,z_mm\n0,1\n2,x3\n", "line 3, column 2 (z_mm): 'x3' is not a number");
	refuse_as("time_s,angle_deg\n0,1\n", (struct iso_poses_options){ .kind = ISO_POSES_OBJECT },
	          "turns a gantry");
	refuse_as("time_s,angle_deg\n0,1\n", (struct iso_poses_options){ .kind = ISO_POSES_BED },
	          "a bed takes no angle");
}

static void bad_rows(void **state)
{
	(void)state;
	refuse("time_s,z_mm\n0,1\n2,1\n# x\n2,1\n",
	       "line 5, column 1 (time_s): 2 s does not come after 2 s: times must rise");
	refuse("time_s,z_mm\nnan,1\n", "line 2, column 1 (time_s): the time is not finite");
	refuse("time_s,y_mm,z_mm\n0,1,nan\n", "line 2, column 3 (z_mm): nan, must be finite");
	refuse("time_s,z_mm\n0,inf\n", "'inf' is not a number");
	refuse(NAMES "0,.0005,0,0,0,0,0,0\n", "line 2, column 2 (qw): a quaternion of length 0.0005");
	refuse(NAMES "0,1,0,0,0,0,0,10001\n", "line 2, column 8 (z_mm): 10001 mm, beyond 10 m");
	refuse("time_s,angle_deg\n0,100001\n", "line 2, column 2 (angle_deg): 100001 degrees");
	refuse("0,1,0,0,0,0,1,0,0,0,0,-1,0,0\n",
	       "line 1, column 2 (r00): the determinant is -1: a reflection");
	refuse("0,1,0,0,0,0,1,0,0,0,0,1.001,0,0\n",
	       "line 1, column 2 (r00): no rotation: |R^t R - 1| is 0.002");
}

static void bad_yrt(void **state)
{
	struct iso_poses_options inverse = { .inverse = true };

	(void)state;
	refuse(YRT_ROW "5,1,0,0\n", "line 2: 4 columns, expected 14");
	refuse(YRT_ROW "# x\n", "line 2");
	refuse("# x\n" YRT_ROW, "line 1: a comment");
	refuse("0,1,0,0,1,0,1,0,2,0,0,1,nan,0\n", "'nan' is not a number");
	refuse_as(YRT_ROW, inverse, "inverse already");
}

static void bad_files(void **state)
{
	char line[5000];
	iso_poses *p = NULL;

	(void)state;
	memset(line, '1', sizeof line);
	put("p.csv", line, sizeof line);
	REFUSED(iso_poses_read(&p, "p.csv", NULL), ISO_EINPUT, "line 1 is longer than");
	put("p.csv", "time_s,z_mm\n0,\0001\n", 16);
	REFUSED(iso_poses_read(&p, "p.csv", NULL), ISO_EINPUT, "line 2 holds bytes of 0");
	put("p.csv", "", 0);
	REFUSED(iso_poses_read(&p, "p.csv", NULL), ISO_EINPUT, "empty");
	REFUSED(iso_poses_read(&p, "none.csv", NULL), ISO_EINPUT, "none.csv");
	REFUSED(iso_poses_read(&p, POSES "ask_s.npy", NULL), ISO_EINPUT,
	        "poses are (n, 8), (n, 13) or records");
	put_text("p.npy", "no numpy");
	REFUSED(iso_poses_read(&p, "p.npy", NULL), ISO_EINPUT, "not a .npy file");
	assert_null(p);
}

/* ---- records of NumPy ---- */

static void put_records(const char *descr, const double *v, int n)
{
	char head[256];

	memcpy(head, "\x93NUMPY\x01\x00\xf6\x00", 10);
	memset(head + 10, ' ', sizeof head - 10);
	sprintf(head + 10, "{'descr': %s, 'fortran_order': False, 'shape': (%d,), }", descr, 1);
	head[10 + strlen(head + 10)] = ' ';
	char all[512];

	memcpy(all, head, sizeof head);
	memcpy(all + sizeof head, v, (size_t)n * sizeof *v);
	put("p.npy", all, sizeof head + (size_t)n * sizeof *v);
}

static void records(void **state)
{
	struct iso_poses_options o = { .size = sizeof o, .kind = ISO_POSES_GANTRY };
	iso_poses *p = NULL;

	(void)state;
	put_records("[('z_mm', '<f8'), ('time_s', '<f8'), ('angle_deg', '<f8')]", (double[]){ 7, 1, 180 }, 3);
	OK(iso_poses_read(&p, "p.npy", &o));
	assert_true(at(p, 0).m[0] == -1 && at(p, 0).m[11] == 7);
	iso_poses_free(p);
	p = NULL;
	put_records("[('z', '<f8'), ('time_s', '<f8')]", (double[]){ 7, 1 }, 2);
	REFUSED(iso_poses_read(&p, "p.npy", &o), ISO_EINPUT, "'z' is no field");
	put_records("[('z_mm', '<f8', (2,)), ('time_s', '<f8')]", (double[]){ 7, 1, 2 }, 3);
	REFUSED(iso_poses_read(&p, "p.npy", &o), ISO_EINPUT, "field 'z_mm' is not one number");
	put_records("[('z_mm', '<f8'), ('time_s', '<f8')]", (double[]){ 2e4, 1 }, 2);
	REFUSED(iso_poses_read(&p, "p.npy", &o), ISO_EINPUT, "row 0, column 1 (z_mm): 20000 mm");
	assert_null(p);
}

/* ---- notes and times ---- */

static void notes(void **state)
{
	iso_poses *p = read_text("0,1,0,0,0,0,1,0,0,0,0,1.0001,0,0\n");

	(void)state;
	assert_non_null(strstr(iso_poses_note(p), "orthonormal, elements changed by up to 0.0001"));
	iso_poses_free(p);
	p = read_text("time_s,z_mm\n0,0\n1,.005\n");
	assert_non_null(strstr(iso_poses_note(p), "are they in m?"));
	iso_poses_free(p);
}

static void times(void **state)
{
	iso_poses *p = read_text("time_s,z_mm\n10,0\n11,1\n12,2\n20,3\n");
	const uint32_t t[] = { 0, 7999, 8000, 9000, 15000, 22000, 22001 };

	(void)state;
	assert_int_equal(iso_poses_outside(p, t, N_OF(t)), 3);
	assert_int_equal(iso_poses_reaches(p, 20), ISO_OK);
	REFUSED(iso_poses_reaches(p, 20.5), ISO_EINPUT, "ends at 20 s, before the first event at 20.5 s");
	iso_poses_free(p);
	p = read_text("time_s,z_mm\n10,0\n");
	assert_int_equal(iso_poses_outside(p, t, N_OF(t)), 0);
	assert_int_equal(iso_poses_reaches(p, 20), ISO_OK);
	iso_poses_free(p);
}

static void references(void **state)
{
	iso_poses *p = read_text("# rule: step\ntime_s,z_mm\n0,0\n10,4\n20,nan\n30,8\n");
	struct iso_pose r;

	(void)state;
	OK(iso_poses_reference(&r, p, "12", NULL, 0, 40, &poses_grid, .5));
	assert_true(r.m[11] == 4);
	REFUSED(iso_poses_reference(&r, p, "25", NULL, 0, 40, &poses_grid, .5), ISO_EINPUT,
	        "at 25 s is not known");
	OK(iso_poses_reference(&r, p, "mean", NULL, 0, 40, &poses_grid, .5));
	NEAR(r.m[11], 4, 1e-14);
	REFUSED(iso_poses_reference(&r, p, "mean", NULL, 20, 30, &poses_grid, .5), ISO_EINPUT,
	        "there is no mean");
	put_text("one.csv", YRT_ROW);
	OK(iso_poses_reference(&r, p, "one.csv", NULL, 0, 40, &poses_grid, .5));
	assert_true(r.m[3] == -1 && r.m[7] == -2 && r.m[11] == -3);
	REFUSED(iso_poses_reference(&r, p, "p.csv", NULL, 0, 40, &poses_grid, .5), ISO_EINPUT, "4 rows");
	put_text("one.csv", "time_s,z_mm\n0,nan\n");
	REFUSED(iso_poses_reference(&r, p, "one.csv", NULL, 0, 40, &poses_grid, .5), ISO_EINPUT,
	        "is not known");
	iso_poses_free(p);
}

static void bad_motion(void **state)
{
	struct iso_motion_parts parts = { .size = sizeof parts };
	struct iso_motion_span span = poses_span;
	struct iso_piece *v = NULL;
	iso_motion *m = poses_motion(NULL, NULL, NULL, NULL);
	struct iso_pose twice = { { 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0 } };
	int64_t n = 0;

	(void)state;
	parts.reference = &twice;
	iso_motion *none = NULL;

	REFUSED(iso_motion_create(&none, &parts), ISO_EARG, "the reference is no rotation");
	REFUSED(iso_motion_pieces(&v, &n, m, &span, &poses_grid, 0), ISO_EARG, "pieces of 0 mm");
	span.to_s = 0;
	REFUSED(iso_motion_pieces(&v, &n, m, &span, &poses_grid, 1), ISO_EARG, "must end after it begins");
	span = poses_span;
	span.live = 2;
	REFUSED(iso_motion_pieces(&v, &n, m, &span, &poses_grid, 1), ISO_EARG, "live share");
	OK(iso_motion_pieces(&v, &n, m, &poses_span, &poses_grid, 1));
	assert_int_equal(n, 1);
	NEAR(v[0].weight, 1, 0);
	free(v);
	iso_motion_free(m);
}

/* Rows of one pose are one piece, but not across time that is not known. */
static void at_rest(void **state)
{
	iso_poses *p = read_text("time_s,z_mm\n5,1\n10,1\n20,nan\n30,1\n");
	iso_motion *m = poses_motion(p, NULL, NULL, NULL);
	struct iso_piece *v = NULL;
	int64_t n = 0;

	(void)state;
	OK(iso_motion_pieces(&v, &n, m, &poses_span, &poses_grid, 1));
	assert_int_equal(n, 2);
	assert_true(v[0].from_s == 0 && v[0].to_s == 20 && v[1].from_s == 30 && v[1].to_s == 60);
	NEAR(v[0].weight, 20. / 60, 1e-15);
	NEAR(v[1].weight, 30. / 60, 1e-15);
	free(v);
	iso_motion_free(m);
	iso_poses_free(p);
}

/* ---- written and read again ---- */

static void compare_tables(const char *a, const char *b, double tolerance)
{
	struct iso_poses_options o = { .size = sizeof o, .kind = ISO_POSES_ANY, .rule = ISO_POSE_STEP };
	iso_poses *p = NULL, *q = NULL;

	OK(iso_poses_read(&p, a, &o));
	OK(iso_poses_read(&q, b, &o));
	for (int t = 0; t < 600; t++) {
		struct iso_pose y, z;

		assert_int_equal(iso_poses_at(&y, p, t * .1), iso_poses_at(&z, q, t * .1));
		if (iso_poses_at(&y, p, t * .1)) BELOW(farthest(y.m, z.m, 12), tolerance);
	}
	iso_poses_free(p);
	iso_poses_free(q);
}

static void write_again(const char *from, const char *to, double tolerance)
{
	struct iso_poses_options o = { .size = sizeof o, .kind = ISO_POSES_ANY };
	iso_poses *p = NULL;

	OK(iso_poses_read(&p, from, &o));
	OK(iso_poses_write(to, p, false));
	iso_poses_free(p);
	compare_tables(from, to, tolerance);
}

static void written(void **state)
{
	(void)state;
	write_again(POSES "table.csv", "a.csv", 1e-15);
	write_again(POSES "table.csv", "a.npy", 1e-15);
	write_again(POSES "gantry.csv", "g.csv", 0);
	write_again(POSES "yrt.csv", "b.csv", 1e-14);
	write_again(POSES "yrt.csv", "b.npy", 1e-14);
	write_again(POSES "yrt.csv", "b.yrt.csv", 1e-7);
	write_again("b.csv", "c.yrt.csv", 1e-7);
	write_again(POSES "bed.csv", "d.yrt.csv", 1e-12);

	char a[4096] = "", b[4096] = "";

	get(POSES "yrt.csv", a, sizeof a - 1);
	get("b.yrt.csv", b, sizeof b - 1);
	assert_string_equal(a, b);
}

static void not_written(void **state)
{
	iso_poses *p = poses_table("table.csv", ISO_POSES_OBJECT, ISO_POSE_OF_FILE);
	iso_poses *g = poses_table("gantry.csv", ISO_POSES_GANTRY, ISO_POSE_OF_FILE);

	(void)state;
	files(true);
	REFUSED(iso_poses_write("a.txt", p, false), ISO_EARG, "poses are written as");
	REFUSED(iso_poses_write("a.npy", g, false), ISO_EARG, "no place for the angles");
	REFUSED(iso_poses_write("a.yrt.csv", p, false), ISO_EINPUT, "from 31 s on is not known");
	iso_poses_free(p);
	assert_int_equal(files(false), 0);
	put_text("a.csv", "x");
	REFUSED(iso_poses_write("a.csv", g, false), ISO_EARG, "exists");
	OK(iso_poses_write("a.csv", g, true));
	p = read_text("time_s,z_mm\n0,0\n.0001,1\n");
	REFUSED(iso_poses_write("a.yrt.csv", p, false), ISO_EINPUT, "must come after 0 ms");
	iso_poses_free(p);
	iso_poses_free(g);
}

/* Decimal points where the process is in a locale of decimal commas. */
static void in_a_locale(void **state)
{
	(void)state;
	if (!setlocale(LC_ALL, "de_DE.UTF-8")) setlocale(LC_ALL, "fr_FR.UTF-8");
	write_again(POSES "table.csv", "locale.csv", 1e-15);
	setlocale(LC_ALL, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(algebra),     cmocka_unit_test(forms),      cmocka_unit_test(rules),
		cmocka_unit_test(angles),      cmocka_unit_test(options),    cmocka_unit_test(from_memory),
		cmocka_unit_test(bad_tables),  cmocka_unit_test(bad_rows),   cmocka_unit_test(bad_yrt),
		cmocka_unit_test(bad_files),   cmocka_unit_test(records),    cmocka_unit_test(notes),
		cmocka_unit_test(times),       cmocka_unit_test(references), cmocka_unit_test(bad_motion),
		cmocka_unit_test(at_rest),     cmocka_unit_test(written),    cmocka_unit_test(not_written),
		cmocka_unit_test(in_a_locale),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
