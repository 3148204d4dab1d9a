/* SPDX-License-Identifier: BSD-3-Clause */
/* Materials: attenuation against published sums, form factors against direct quadrature, the
   stored table against xraylib. */
#include "test.h"

#include "text/formula.h"
#include "physics/material.h"

#define LYSO "Lu1.8Y0.2SiO5"

static void check_formula(const char *text, int n, const int *z, const double *atoms)
{
	struct iso_formula f;

	OK(iso_formula_parse(&f, text));
	assert_int_equal(f.n, n);
	for (int i = 0; i < n; i++) {
		assert_int_equal(f.z[i], z[i]);
		NEAR(f.atoms[i], atoms[i], 1e-12);
	}
}

static void formulas(void **state)
{
	static const int lyso[] = { 71, 39, 14, 8 };

	(void)state;
	check_formula(LYSO, 4, lyso, (const double[]){ 1.8, .2, 1, 5 });
	check_formula("(Lu0.9Y.1)2SiO5", 4, lyso, (const double[]){ 1.8, .2, 1, 5 });
	check_formula("Bi4(GeO4)3", 3, (const int[]){ 83, 32, 8 }, (const double[]){ 4, 3, 12 });
	check_formula("HOH", 2, (const int[]){ 1, 8 }, (const double[]){ 2, 1 });
	check_formula("Pu", 1, (const int[]){ 94 }, (const double[]){ 1 });
	check_formula("C2(H(O)2)3", 3, (const int[]){ 6, 1, 8 }, (const double[]){ 2, 3, 6 });
	assert_string_equal(iso_element_symbol(71), "Lu");
	assert_null(iso_element_symbol(0));
	assert_null(iso_element_symbol(95));
}

static void formulas_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ "", "no known element" },
		{ "Lx2O", "no known element at 'Lx2O'" },
		{ "lu2", "no known element" },
		{ "Lu2 O3", "no known element" },
		{ "Lu2SiO5:Ce", "no known element at ':Ce'" },
		{ "2Lu", "no known element" },
		{ "Lu0", "above 0" },
		{ "Lu1.2.3", "two points" },
		{ "Lu9999999", "above 0" },
		{ "Lu.", "above 0" },
		{ "(LuO", "not closed" },
		{ "LuO)", "not opened" },
		{ "()", "no known element" },
		{ "LYSO", "no known element at 'LYSO'" },
		{ "(((((((((H)))))))))", "deeper than 8" },
		{ "HLiBCNOFNaMgAlSiPSClKCaZn", "more than 16" },
	};
	struct iso_formula f = { .n = 77 };

	(void)state;
	for (int i = 0; i < N_OF(bad); i++)
		REFUSED(iso_formula_parse(&f, bad[i].text), ISO_EINPUT, bad[i].message);
	assert_int_equal(f.n, 77);
}

/* ---- attenuation ---- */

static void check_mu(const struct iso_material *m, double kev, double per_cm, double half)
{
	float mu[3];

	material_mu(mu, m, (float)kev);
	NEAR(10 * mu[2], per_cm, half + 1e-3 * per_cm);
}

/* 1/cm: photoelectric, Compton, Rayleigh at 511 keV, totals at 511, 350 and 250; 0: not given. */
static const struct {
	const char *formula;
	double density, part[3], mu511, mu350, mu250;
} known[] = {
	{ "Lu2SiO5", 7.4, { .281, .539, .049 }, .868, 1.446, 2.644 },
	{ LYSO, 7.1, { .254, .520, .045 }, .818, 1.347, 2.438 },
	{ LYSO, 7.36, { 0 }, .848, 0, 0 },
	{ "Lu0.6Y1.4SiO5", 5.37, { 0 }, .529, 0, 1.232 },
	{ "Bi4Ge3O12", 7.13, { .396, .509, .057 }, .963, 1.701, 3.242 },
	{ "H2O", 1, { 0 }, .0960, 0, .127 },
};

/* To half of the last digit given, and 0.1 % of the stored table. */
static void check_known(const struct iso_elements *source)
{
	static struct iso_material m;

	for (int i = 0; i < N_OF(known); i++) {
		float mu[3];

		OK(iso_material_from(&m, source, known[i].formula, known[i].density));
		material_mu(mu, &m, 511);
		NEAR(10 * mu[2], known[i].mu511, 5e-4 + 1e-3 * known[i].mu511);
		for (int k = 0; k < 3 && known[i].part[0] > 0; k++)
			NEAR(10 * (mu[k] - (k ? mu[k - 1] : 0)), known[i].part[k], 1e-3);
		if (known[i].mu350 > 0) check_mu(&m, 350, known[i].mu350, 5e-4);
		if (known[i].mu250 > 0) check_mu(&m, 250, known[i].mu250, 5e-4);
	}
}

static void known_stored(void **state)
{
	(void)state;
	check_known(&iso_elements_stored);
}

static void known_made(void **state)
{
	(void)state;
	check_known(iso_material_source());
}

/* Linear between whole keV, level beyond the ends, sums that grow. */
static void between_energies(void **state)
{
	static struct iso_material m;
	float a[3], b[3], mid[3];

	(void)state;
	OK(iso_material_make(&m, LYSO, 7.1));
	for (int kev = MATERIAL_LOW; kev < MATERIAL_TOP; kev++) {
		material_mu(a, &m, (float)kev);
		material_mu(b, &m, (float)(kev + 1));
		material_mu(mid, &m, (float)kev + .25f);
		assert_true(0 < a[0] && a[0] < a[1] && a[1] < a[2]);
		for (int k = 0; k < 3; k++) NEAR(mid[k], .75 * a[k] + .25 * b[k], 1e-6 * a[k]);
	}
	material_mu(a, &m, MATERIAL_TOP);
	assert_memory_equal(a, b, sizeof a);
	material_mu(b, &m, 1e9f);
	assert_memory_equal(a, b, sizeof a);
	material_mu(a, &m, MATERIAL_LOW);
	material_mu(b, &m, 1);
	assert_memory_equal(a, b, sizeof a);
}

/* Twice the density, twice the attenuation, and the same angles. */
static void density(void **state)
{
	static struct iso_material m, twice;

	(void)state;
	OK(iso_material_make(&m, LYSO, 3.5));
	OK(iso_material_make(&twice, LYSO, 7));
	for (int i = 0; i < MATERIAL_ENERGIES; i++) assert_true(twice.mu[i][2] == 2 * m.mu[i][2]);
	assert_memory_equal(m.rest, twice.rest, sizeof m.rest);
	assert_memory_equal(m.q2, twice.q2, sizeof m.q2);
	assert_true(sizeof m <= 65536);
}

/* ---- Rayleigh angles ---- */

/* F^2 of the formula at q. */
static double form_squared(const struct iso_formula *f, const struct iso_elements *s, double q)
{
	double sum = 0;

	for (int i = 0; i < f->n; i++) sum += f->atoms[i] * pow(s->at(f->z[i], ISO_FORM, q), 2);
	return sum;
}

/* Distribution of q^2 up to q(E), by midpoints in q: cdf[i] up to q(E) i / n. */
static void quadrature(double *cdf, int n, const char *formula, const struct iso_elements *s, double kev)
{
	double top = kev / 12.39842;
	struct iso_formula f;

	OK(iso_formula_parse(&f, formula));
	cdf[0] = 0;
	for (int i = 0; i < n; i++) {
		double q = (i + .5) / n * top;

		cdf[i + 1] = cdf[i] + form_squared(&f, s, q) * q;
	}
	for (int i = 0; i <= n; i++) cdf[i] /= cdf[n];
}

enum { CELLS = 20000 };

/* Share of the photons with a smaller angle, 1 - cos(theta) = 2 (q / q(E))^2. */
static double share_below(const double *cdf, double one_minus_cos)
{
	double place = sqrt(fmin(fmax(0, one_minus_cos / 2), 1)) * CELLS;
	int k = place < CELLS ? (int)place : CELLS - 1;

	return cdf[k] + (place - k) * (cdf[k + 1] - cdf[k]);
}

/* That must be u for the angle drawn from u, as far as a float tells cosines near 1 apart. */
static void check_angles(const struct iso_elements *s, const char *formula, double kev)
{
	static struct iso_material m;
	static double cdf[CELLS + 1];
	float last = 1;

	OK(iso_material_from(&m, s, formula, 1));
	quadrature(cdf, CELLS, formula, s, kev);
	for (int i = 0; i < 5000; i++) {
		double u = (i + .5) / 5000;
		float c = material_rayleigh(&m, (float)kev, (float)u);

		assert_true(c >= -1 && c <= last);
		assert_true(share_below(cdf, 1 - (double)c - 0x1p-24) < u + 3e-5);
		assert_true(share_below(cdf, 1 - (double)c + 0x1p-24) > u - 3e-5);
		last = c;
	}
	assert_true(material_rayleigh(&m, (float)kev, 0x1p-33f) > .99999f);
	assert_true(material_rayleigh(&m, (float)kev, 1) >= -1);
}

static void angles(void **state)
{
	static const double kev[] = { 10, 30, 63.5, 100, 250, 511 };
	static const char *const formula[] = { LYSO, "H2O", "Bi4Ge3O12" };

	(void)state;
	for (int i = 0; i < N_OF(kev); i++)
		for (int k = 0; k < N_OF(formula); k++) {
			check_angles(iso_material_source(), formula[k], kev[i]);
			check_angles(&iso_elements_stored, formula[k], kev[i]);
		}
}

/* ---- the stored table ---- */

static void not_stored(void **state)
{
	static struct iso_material m;

	(void)state;
	REFUSED(iso_material_from(&m, &iso_elements_stored, "U2O", 10), ISO_EINPUT,
	        "no cross sections of U in the stored table");
	REFUSED(iso_material_make(&m, "Xy2", 10), ISO_EINPUT, "no known element");
	REFUSED(iso_material_make(&m, LYSO, 0), ISO_EINPUT, "density is 0");
	REFUSED(iso_material_make(&m, LYSO, -1), ISO_EINPUT, "density is -1");
	REFUSED(iso_material_make(&m, LYSO, NAN), ISO_EINPUT, "must be above 0");
	REFUSED(iso_material_make(&m, LYSO, INFINITY), ISO_EINPUT, "must be above 0");
}

static void stored_elements(void **state)
{
	static const int want[] = { 1,  5,  6,  7,  8,  9,  11, 12, 13, 14, 15, 16, 17, 20, 31,
		                    32, 35, 39, 53, 55, 56, 57, 58, 59, 64, 71, 74, 82, 83 };

	(void)state;
	for (int i = 0; i < N_OF(want); i++) assert_true(iso_elements_stored.weight(want[i]) > 0);
	assert_false(iso_elements_stored.weight(0) > 0);
	assert_false(iso_elements_stored.weight(92) > 0);
}

#ifdef ISO_XRAYLIB
static void check_element(int z)
{
	const struct iso_elements *a = &iso_elements_stored, *b = &iso_elements_xraylib;

	NEAR(a->weight(z), b->weight(z), 1e-6 * b->weight(z));
	for (int kev = MATERIAL_LOW; kev <= MATERIAL_TOP; kev++) {
		double sum = 0, exact = 0;

		for (int k = 0; k < 3; k++) {
			double one = b->at(z, (enum iso_element_curve)k, kev);

			NEAR(a->at(z, (enum iso_element_curve)k, kev), one, 4e-3 * one);
			sum += a->at(z, (enum iso_element_curve)k, kev);
			exact += one;
		}
		NEAR(sum, exact, 1e-3 * exact);
	}
	for (double q = 0; q < 41.9; q += .0137)
		NEAR(a->at(z, ISO_FORM, q), b->at(z, ISO_FORM, q),
		     fmax(1e-2 * b->at(z, ISO_FORM, q), 2e-4 * z));
}

/* Every stored element: mu to 0.1 %, F to 1 % or 2e-4 of the electrons. */
static void stored_xraylib(void **state)
{
	int n = 0;

	(void)state;
	for (int z = 1; z <= 94; z++)
		if (iso_elements_stored.weight(z) > 0) {
			check_element(z);
			n++;
		}
	assert_true(n >= 29);
}

/* xraylib ends before some elements do, and says nothing on the terminal. */
static void xraylib_ends(void **state)
{
	(void)state;
	assert_true(iso_elements_xraylib.weight(92) > 0);
	assert_false(iso_elements_xraylib.weight(0) > 0);
	assert_false(iso_elements_xraylib.weight(200) > 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formulas),         cmocka_unit_test(formulas_refused),
		cmocka_unit_test(known_stored),     cmocka_unit_test(known_made),
		cmocka_unit_test(between_energies), cmocka_unit_test(density),
		cmocka_unit_test(angles),           cmocka_unit_test(not_stored),
		cmocka_unit_test(stored_elements),
#ifdef ISO_XRAYLIB
		cmocka_unit_test(stored_xraylib),   cmocka_unit_test(xraylib_ends),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
