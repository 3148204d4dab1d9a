/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of a material from those of its elements: attenuation adds up by mass, form factors by
   atoms, F^2 = sum over the formula of n_Z F_Z^2. */
#include "material.h"
#include "water.h"
#include "text/formula.h"
#include "core/status.h"

enum { STEPS = 8192 }; /* of the integral over F^2 */

#define LARGEST_Q (MATERIAL_TOP / (double)MATERIAL_HC)

/* Cross sections weighed by mass, from cm^2/g to 1/mm. */
static void fill_mu(struct iso_material *m, const struct iso_formula *f, const struct iso_elements *source,
                    double density)
{
	for (int i = 0; i < MATERIAL_ENERGIES; i++) {
		double sum = 0;

		for (int k = 0; k < 3; k++) {
			double cs = 0, mass = 0;

			for (int e = 0; e < f->n; e++) {
				double part = f->atoms[e] * source->weight(f->z[e]);

				cs += part * source->at(f->z[e], (enum iso_element_curve)k, MATERIAL_LOW + i);
				mass += part;
			}
			sum += cs / mass * density / 10;
			m->mu[i][k] = (float)sum;
		}
		m->mu[i][3] = 0;
	}
}

/* x = q^2 at step k, for q = t^2 LARGEST_Q, t = k / STEPS: steps are small where F^2 is large. */
static double step_x(double k)
{
	double q = LARGEST_Q * (k / STEPS) * (k / STEPS);

	return q * q;
}

/* F^2 dx/dt / 4 = F^2 LARGEST_Q^2 t^3. */
static double integrand(const struct iso_formula *f, const struct iso_elements *source, double k)
{
	double t = k / STEPS, squared = 0;

	for (int i = 0; i < f->n; i++) {
		double one = source->at(f->z[i], ISO_FORM, LARGEST_Q * t * t);

		squared += f->atoms[i] * one * one;
	}
	return squared * t * t * t;
}

/* rest[k] = R(step_x(k)), by Simpson's rule over each step, from the small end on. */
static void integrate(double *rest, const struct iso_formula *f, const struct iso_elements *source)
{
	double after = integrand(f, source, STEPS);

	rest[STEPS] = 0;
	for (int k = STEPS - 1; k >= 0; k--) {
		double before = integrand(f, source, k);

		rest[k] = rest[k + 1] + before + 4 * integrand(f, source, k + .5) + after;
		after = before;
	}
	for (int k = STEPS; k >= 0; k--) rest[k] /= rest[0];
}

/* R at the largest x of each energy; R is close to linear in x over a step. */
static void fill_rest(struct iso_material *m, const double *rest)
{
	for (int i = 0; i < MATERIAL_ENERGIES; i++) {
		double x = pow((MATERIAL_LOW + i) / (double)MATERIAL_HC, 2);
		int k = (int)(STEPS * sqrt(sqrt(x) / LARGEST_Q));

		k = k < STEPS ? k : STEPS - 1;
		double share = (x - step_x(k)) / (step_x(k + 1) - step_x(k));

		m->rest[i] = (float)fmax(rest[k] + share * (rest[k + 1] - rest[k]), 0);
	}
}

static void fill_inverse(struct iso_material *m, const double *rest)
{
	int k = STEPS;

	for (int j = 0; j <= MATERIAL_FORM; j++) {
		double r = (double)j / MATERIAL_FORM * j / MATERIAL_FORM;

		while (k > 1 && rest[k - 1] < r) k--;
		double share = (r - rest[k]) / (rest[k - 1] - rest[k]);

		m->q2[j] = (float)(step_x(k) + share * (step_x(k - 1) - step_x(k)));
	}
}

int iso_material_from(struct iso_material *m, const struct iso_elements *source, const char *formula,
                      double density)
{
	struct iso_formula f;
	double rest[STEPS + 1];
	int st = iso_formula_parse(&f, formula);

	if (st) return st;
	for (int i = 0; i < f.n; i++)
		if (!(source->weight(f.z[i]) > 0))
			return iso_fail(ISO_EINPUT, "material '%.60s': no cross sections of %s in the %s",
			                formula, iso_element_symbol(f.z[i]), source->name);
	if (!(density > 0) || !isfinite(density))
		return iso_fail(ISO_EINPUT, "material '%.60s': density is %g g/cm^3, must be above 0",
		                formula, density);
	fill_mu(m, &f, source, density);
	integrate(rest, &f, source);
	fill_rest(m, rest);
	fill_inverse(m, rest);
	return ISO_OK;
}

/* ---- energies above those of the tables ---- */

#define FARTHEST_XRAYLIB 800. /* keV */

/* Cross sections weighed by mass, 1/mm, no running sums. */
static void curves(double mu[3], const struct iso_formula *f, const struct iso_elements *source,
                   double density, double kev)
{
	for (int k = 0; k < 3; k++) {
		double cs = 0, mass = 0;

		for (int e = 0; e < f->n; e++) {
			double part = f->atoms[e] * source->weight(f->z[e]);

			cs += part * source->at(f->z[e], (enum iso_element_curve)k, kev);
			mass += part;
		}
		mu[k] = cs / mass * density / 10;
	}
}

int iso_material_wide(float (*mu)[4], int n, const char *formula, double density)
{
	const struct iso_elements *source = iso_material_source();
	const double top = strcmp(source->name, "xraylib") == 0 ? FARTHEST_XRAYLIB : MATERIAL_TOP;
	double last[3], before[3], at[3];
	struct iso_formula f;
	int st = iso_formula_parse(&f, formula);

	if (st) return st;
	curves(last, &f, source, density, top);
	curves(before, &f, source, density, top - 100);
	const double power = log(last[0] / before[0]) / log(top / (top - 100));

	for (int i = 0; i < n; i++) {
		double kev = i < MATERIAL_LOW ? MATERIAL_LOW : i;

		if (kev <= top) {
			curves(at, &f, source, density, kev);
		} else {
			at[0] = last[0] * pow(kev / top, power);
			at[1] = last[1] * water_cross_section(kev) / water_cross_section(top);
			at[2] = last[2] * (top / kev) * (top / kev);
		}
		for (int k = 0; k < 3; k++)
			mu[i][k] = (float)((k > 0 ? at[0] : 0) + (k > 1 ? at[1] : 0) + at[k]);
		mu[i][3] = 0;
	}
	return ISO_OK;
}

int iso_material_make(struct iso_material *m, const char *formula, double density)
{
	return iso_material_from(m, iso_material_source(), formula, density);
}
