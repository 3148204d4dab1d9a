/* SPDX-License-Identifier: BSD-3-Clause */
/* Rigid poses: products, inverses, quaternions, the rotation nearest to a matrix, slerp. */
#include "pose.h"

#include <math.h>
#include <string.h>

/* Element (i, j) of the rotation; T is column 3. */
#define AT(p, i, j) ((p)->m[4 * (i) + (j)])

struct iso_pose iso_pose_identity(void)
{
	return (struct iso_pose){ { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 } };
}

struct iso_pose iso_pose_multiply(struct iso_pose a, struct iso_pose b)
{
	struct iso_pose c;

	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 4; j++)
			AT(&c, i, j) = AT(&a, i, 0) * AT(&b, 0, j) + AT(&a, i, 1) * AT(&b, 1, j) +
			               AT(&a, i, 2) * AT(&b, 2, j) + (j == 3 ? AT(&a, i, 3) : 0);
	return c;
}

/* R' = R^t, T' = -R^t T */
struct iso_pose iso_pose_inverse(struct iso_pose a)
{
	struct iso_pose c;

	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++) AT(&c, i, j) = AT(&a, j, i);
		AT(&c, i, 3) = 0 - (AT(&a, 0, i) * AT(&a, 0, 3) + AT(&a, 1, i) * AT(&a, 1, 3) +
		                    AT(&a, 2, i) * AT(&a, 2, 3));
	}
	return c;
}

void iso_pose_apply(double y[3], const struct iso_pose *p, const double x[3])
{
	if (!y || !p || !x) return;

	const double v[3] = { x[0], x[1], x[2] };

	for (int i = 0; i < 3; i++)
		y[i] = AT(p, i, 0) * v[0] + AT(p, i, 1) * v[1] + AT(p, i, 2) * v[2] + AT(p, i, 3);
}

struct iso_pose pose_of_turn(const struct turn *a)
{
	const double w = a->q[0], x = a->q[1], y = a->q[2], z = a->q[3];

	return (struct iso_pose){ {
		1 - 2 * (y * y + z * z),
		2 * (x * y - w * z),
		2 * (x * z + w * y),
		a->t[0],
		2 * (x * y + w * z),
		1 - 2 * (x * x + z * z),
		2 * (y * z - w * x),
		a->t[1],
		2 * (x * z - w * y),
		2 * (y * z + w * x),
		1 - 2 * (x * x + y * y),
		a->t[2],
	} };
}

struct iso_pose pose_about_z(double degrees, const double t[3])
{
	/* whole quarters apart: degrees = 90 quarter + rest, |rest| <= 45 */
	double quarter = rint(degrees / 90), rest = (degrees - 90 * quarter) * (M_PI / 180);
	double c = cos(rest), s = sin(rest);
	const double cosines[4] = { c, -s, -c, s }, sines[4] = { s, c, -s, -c };
	int k = (int)(quarter - 4 * floor(quarter / 4));

	return (struct iso_pose){ {
		cosines[k],
		0 - sines[k],
		0,
		t[0],
		sines[k],
		cosines[k],
		0,
		t[1],
		0,
		0,
		1,
		t[2],
	} };
}

/* ---- the nearest rotation ---- */

/* One rotation of Jacobi's method: a[i][j] becomes 0; v gathers the rotations as columns. */
static void jacobi_turn(double a[4][4], double v[4][4], int i, int j)
{
	double theta = (a[j][j] - a[i][i]) / (2 * a[i][j]);
	double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
	double c = 1 / sqrt(t * t + 1), s = t * c;

	for (int k = 0; k < 4; k++) {
		double x = a[k][i], y = a[k][j];

		a[k][i] = c * x - s * y;
		a[k][j] = s * x + c * y;
	}
	for (int k = 0; k < 4; k++) {
		double x = a[i][k], y = a[j][k], p = v[k][i], q = v[k][j];

		a[i][k] = c * x - s * y;
		a[j][k] = s * x + c * y;
		v[k][i] = c * p - s * q;
		v[k][j] = s * p + c * q;
	}
}

/* The vector of the largest eigenvalue of a symmetric matrix, which is used up. */
static void largest_vector(double q[4], double a[4][4])
{
	double v[4][4] = { { 1, 0, 0, 0 }, { 0, 1, 0, 0 }, { 0, 0, 1, 0 }, { 0, 0, 0, 1 } };
	int best = 0;

	for (int sweep = 0; sweep < 30; sweep++) {
		double off = 0;

		for (int i = 0; i < 4; i++)
			for (int j = i + 1; j < 4; j++) {
				off += fabs(a[i][j]);
				if (fabs(a[i][j]) > 1e-300) jacobi_turn(a, v, i, j);
			}
		if (off < 1e-17) break;
	}
	for (int k = 1; k < 4; k++)
		if (a[k][k] > a[best][best]) best = k;
	for (int k = 0; k < 4; k++) q[k] = v[k][best];
}

/* trace(R(q)^t M) is a quadratic form of q: Horn, J. Opt. Soc. Am. A 4, 629 (1987), with R for the turn of M's axes. */
void pose_nearest(double q[4], const struct iso_pose *m)
{
	double xx = AT(m, 0, 0), yy = AT(m, 1, 1), zz = AT(m, 2, 2);
	double wx = AT(m, 2, 1) - AT(m, 1, 2), wy = AT(m, 0, 2) - AT(m, 2, 0), wz = AT(m, 1, 0) - AT(m, 0, 1);
	double xy = AT(m, 0, 1) + AT(m, 1, 0), xz = AT(m, 0, 2) + AT(m, 2, 0), yz = AT(m, 1, 2) + AT(m, 2, 1);
	double k[4][4] = {
		{ xx + yy + zz, wx, wy, wz },
		{ wx, xx - yy - zz, xy, xz },
		{ wy, xy, yy - xx - zz, yz },
		{ wz, xz, yz, zz - xx - yy },
	};

	largest_vector(q, k);
	double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]) * (q[0] < 0 ? -1 : 1);

	for (int i = 0; i < 4; i++) q[i] /= length;
}

struct iso_pose pose_orthonormal(const struct iso_pose *m)
{
	struct turn a = { .t = { AT(m, 0, 3), AT(m, 1, 3), AT(m, 2, 3) } };

	pose_nearest(a.q, m);
	return pose_of_turn(&a);
}

double pose_skew(const struct iso_pose *m)
{
	double most = 0;

	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) {
			double d = AT(m, 0, i) * AT(m, 0, j) + AT(m, 1, i) * AT(m, 1, j) +
			           AT(m, 2, i) * AT(m, 2, j) - (i == j);

			if (!(fabs(d) <= most)) most = fabs(d);
		}
	return most;
}

double pose_determinant(const struct iso_pose *m)
{
	return AT(m, 0, 0) * (AT(m, 1, 1) * AT(m, 2, 2) - AT(m, 1, 2) * AT(m, 2, 1)) -
	       AT(m, 0, 1) * (AT(m, 1, 0) * AT(m, 2, 2) - AT(m, 1, 2) * AT(m, 2, 0)) +
	       AT(m, 0, 2) * (AT(m, 1, 0) * AT(m, 2, 1) - AT(m, 1, 1) * AT(m, 2, 0));
}

/* ---- between two poses ---- */

/* Weights of a and b for slerp: w = 2 atan2(|a-b|, |a+b|); below 1e-6 plain means do. */
static void slerp(double q[4], const double a[4], const double b[4], double s)
{
	double minus = 0, plus = 0, length = 0;

	for (int i = 0; i < 4; i++) {
		minus += (a[i] - b[i]) * (a[i] - b[i]);
		plus += (a[i] + b[i]) * (a[i] + b[i]);
	}
	double w = 2 * atan2(sqrt(minus), sqrt(plus)), wa = 1 - s, wb = s;

	if (w >= 1e-6) {
		wa = sin((1 - s) * w) / sin(w);
		wb = sin(s * w) / sin(w);
	}
	for (int i = 0; i < 4; i++) q[i] = wa * a[i] + wb * b[i];
	for (int i = 0; i < 4; i++) length += q[i] * q[i];
	for (int i = 0; i < 4; i++) q[i] /= sqrt(length);
}

struct turn pose_between(const struct turn *a, const struct turn *b, double s)
{
	struct turn r = *a;
	double product = 0, other[4];

	for (int i = 0; i < 4; i++) product += a->q[i] * b->q[i];
	for (int i = 0; i < 4; i++) other[i] = product < 0 ? 0 - b->q[i] : b->q[i];
	/* an object at rest stays where it is to the bit, so that its pieces are one */
	if (memcmp(a->q, other, sizeof other) != 0) slerp(r.q, a->q, other, s);
	for (int i = 0; i < 3; i++) r.t[i] = a->t[i] + s * (b->t[i] - a->t[i]);
	return r;
}
