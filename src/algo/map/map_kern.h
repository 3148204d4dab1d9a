/* SPDX-License-Identifier: BSD-3-Clause */
/* What the algorithms of penalised likelihood do with one voxel, or with one row. Notation as in map.h; docs/priors.md
   has the equations. */
#ifndef ISO_MAP_KERN_H
#define ISO_MAP_KERN_H

#include "core/hd.h"

#define MAP_BALANCE 1.5   /* subsets may differ by this factor before the balance image shortens steps */
#define MAP_STEEPEST 1e24 /* curvature of a row */

/* P = u / (max(S, M/1.5) + 2 beta C u), with u = x + off; 0 where S is 0. */
ISO_HD iso_real map_precondition(double u, double sens, double balance, double curvature, double beta)
{
	double data = balance / MAP_BALANCE;

	if (!(sens > 0)) return 0;
	return (iso_real)(u / ((data > sens ? data : sens) + 2 * beta * curvature * u));
}

/* The t >= 0 of which e log t - S t - beta (g t + C (t - x)^2) is greatest, the root of a t^2 + b t = e with a = 2 beta C,
   b = S + beta g - a x; 0 where S is 0. */
ISO_HD iso_real map_solve(double x, double e, double sens, double gradient, double curvature, double beta)
{
	double a = 2 * beta * curvature, b = sens + beta * gradient - a * x, root = sqrt(b * b + 4 * a * e);

	if (!(sens > 0)) return 0;
	return (iso_real)(b > 0 ? 2 * e / (b + root) : a > 0 ? (root - b) / (2 * a) : 0);
}

/* y (A 1) / (A x + a)^2 of a row, its weight in the likelihood's curvature, from its ratios at x and at x + t:
   here = y / (A x + a), there = y / (A x + a + t (A 1)). 0 where the row is skipped or without counts; cut where sums of it
   might leave the floats: of a row that nothing in x explains, and whose a is tiny. */
ISO_HD iso_real map_row_curvature(double here, double there, double t)
{
	double c = there > 0 && here > there ? here * ((here - there) / (t * there)) : 0;

	return (iso_real)(c < MAP_STEEPEST ? c : MAP_STEEPEST);
}

/* 1 / (k^2 + beta H), the scale of lbfgs; at most 1000 times that of EM, u / S. */
ISO_HD iso_real map_scale(double k2, double hessian, double beta, double u, double sens)
{
	double by = k2 + beta * hessian, least = 1e-3 * sens / u;

	return (iso_real)(sens > 0 ? 1 / (by > least ? by : least) : 0);
}

/* Whether a voxel is free to move for a Newton step (Bertsekas 1982): not where the gradient leads out of x >= 0 and
   a step of length `scale` along it would leave. */
ISO_HD bool map_is_free(double x, double g, double scale, double sens)
{
	return sens > 0 && (g >= 0 || x + scale * g > 0);
}

/* |g|/S where x > 0, max(g, 0)/S where x is 0: how far the voxel is from the conditions of Karush, Kuhn and Tucker. */
ISO_HD double map_residual(double x, double g, double sens)
{
	if (!(sens > 0)) return 0;
	return (x > 0 ? fabs(g) : g > 0 ? g : 0) / sens;
}

#endif
