/* SPDX-License-Identifier: BSD-3-Clause */
/* What absorbs at which wavelength: names that Isotome knows, and tables of the user. */
#include "spectra.h"

#include "base/number.h"
#include "core/size.h"
#include "core/sized.h"
#include "file/suffix.h"
#include "motion/columns.h"

#include <math.h>
#include <string.h>

enum { SWEEPS = 60, ENTRY = 512 };
#define LN10 2.302585092994046
#define ALIKE 1e-9 /* of columns of length 1 */

/* From the units of the table to 1/mm: of HbO2 and Hb a mM, of the others a volume that holds nothing else. */
static const struct known {
	const char *name;
	int column; /* -1: melanin, whose absorption is a power of the wavelength */
	double unit;
} known[] = {
	{ "HbO2", 0, LN10 * 1e-4 }, { "Hb", 1, LN10 * 1e-4 }, { "water", 2, .1 },
	{ "lipid", 3, .1 },         { "melanin", -1, .1 },
};

/* ---- one chromophore ---- */

static int add(struct iso_chromophores *c, const char *name)
{
	if (c->n == ISO_CHROMOPHORES)
		return iso_fail(ISO_EARG, "unmix: more than %d chromophores", ISO_CHROMOPHORES);
	for (int j = 0; j < c->n; j++)
		if (iso_same_word(c->name[j], name))
			return iso_fail(ISO_EARG, "unmix: chromophore %.31s stands there twice", name);
	if (iso_same_word(name, "HbO2")) c->oxygenated = c->n;
	if (iso_same_word(name, "Hb")) c->deoxygenated = c->n;
	iso_snprintf(c->name[c->n++], sizeof c->name[0], "%.31s", name);
	return ISO_OK;
}

static double *absorption(const struct iso_chromophores *c, int wavelength)
{
	return c->e + (int64_t)wavelength * ISO_CHROMOPHORES + c->n - 1;
}

static int of_table(double *v, const struct known *k, double nm)
{
	const double at = (nm - SPECTRA_FIRST_NM) / SPECTRA_STEP_NM;
	const int i = (int)fmin(floor(at), SPECTRA_ROWS - 2);

	if (k->column < 0) {
		*v = 1.7e12 * pow(nm, -3.48) * k->unit;
		return ISO_OK;
	}
	if (!(at >= 0 && at <= SPECTRA_ROWS - 1))
		return iso_fail(ISO_EARG, "unmix: the spectrum of %s is known from %d to %d nm, not at %g",
		                k->name, SPECTRA_FIRST_NM,
		                SPECTRA_FIRST_NM + SPECTRA_STEP_NM * (SPECTRA_ROWS - 1), nm);
	*v = k->unit * (spectra_table[i][k->column] +
	                (at - i) * (spectra_table[i + 1][k->column] - spectra_table[i][k->column]));
	return ISO_OK;
}

static int add_known(struct iso_chromophores *c, const struct known *k, const double *nm)
{
	int st = add(c, k->name);

	for (int i = 0; i < c->wavelengths && !st; i++) st = of_table(absorption(c, i), k, nm[i]);
	return st;
}

/* ---- a table ---- */

static int check_table(const struct columns *t, const char *path)
{
	if (t->n_columns < 2 || t->name[0][0] == '\0')
		return iso_fail(ISO_EINPUT, "%s: the first line must name the columns: nm,NAME,...", path);
	if (!iso_same_word(t->name[0], "nm"))
		return iso_fail(ISO_EINPUT, "%s: the first column is '%.31s', expected nm", path, t->name[0]);
	for (int64_t i = 1; i < t->n; i++)
		if (!(t->v[i * t->n_columns] > t->v[(i - 1) * t->n_columns]))
			return iso_fail(ISO_EINPUT, "%s: line %" PRId64 ": wavelengths must rise", path,
			                t->line[i]);
	return ISO_OK;
}

/* Linear between the rows. */
static int of_columns(double *v, const struct columns *t, int column, double nm, const char *path)
{
	const int64_t w = t->n_columns;
	int64_t i = 0;

	while (i + 1 < t->n && t->v[(i + 1) * w] < nm) i++;
	const double *a = t->v + i * w, *b = i + 1 < t->n ? a + w : a;

	if (nm < a[0] || nm > b[0])
		return iso_fail(ISO_EINPUT, "%s: holds %g to %g nm, not %g", path, t->v[0],
		                t->v[(t->n - 1) * w], nm);
	*v = b > a && nm > a[0] ? a[column] + (nm - a[0]) / (b[0] - a[0]) * (b[column] - a[column])
	                        : a[column];
	return ISO_OK;
}

static int add_table(struct iso_chromophores *c, const char *path, const double *nm)
{
	struct columns t = { 0 };
	int st = columns_read(&t, path);

	if (!st && t.n == 0) st = iso_fail(ISO_EINPUT, "%s: holds no line of numbers", path);
	if (!st) st = check_table(&t, path);
	for (int k = 1; k < t.n_columns && !st; k++) {
		st = add(c, t.name[k]);
		for (int i = 0; i < c->wavelengths && !st; i++)
			st = of_columns(absorption(c, i), &t, k, nm[i], path);
	}
	columns_free(&t);
	return st;
}

/* ---- all of them ---- */

static int add_entry(struct iso_chromophores *c, const char *text, const double *nm)
{
	for (size_t k = 0; k < sizeof known / sizeof *known; k++)
		if (iso_same_word(text, known[k].name)) return add_known(c, known + k, nm);
	if (iso_has_suffix(text, ".csv")) return add_table(c, text, nm);
	return iso_fail(ISO_EARG,
	                "unmix: chromophore '%.60s' is not known; it must be HbO2, Hb, water, lipid, melanin "
	                "or a table FILE.csv (nm,NAME,...)",
	                text);
}

static int add_entries(struct iso_chromophores *c, const char *text, const double *nm)
{
	int st = ISO_OK;

	for (const char *at = text; !st;) {
		const size_t n = strcspn(at, ",");
		char entry[ENTRY];

		if (n == 0 || n >= sizeof entry)
			return iso_fail(ISO_EARG,
			                "unmix: chromophores are '%.60s', expected names with commas", text);
		memcpy(entry, at, n);
		entry[n] = '\0';
		st = add_entry(c, entry, nm);
		if (at[n] == '\0') break;
		at += n + 1;
	}
	return st;
}

/* The rows one behind the other, without the room between them. */
static void pack(struct iso_chromophores *c)
{
	for (int i = 1; i < c->wavelengths; i++)
		memmove(c->e + (int64_t)i * c->n, c->e + (int64_t)i * ISO_CHROMOPHORES,
		        (size_t)c->n * sizeof *c->e);
}

/* The two columns of u turned by the angle that makes them orthogonal; true: they were not. */
static bool turn(double *u, int rows, int n, int p, int q)
{
	double pp = 0, qq = 0, pq = 0;

	for (int i = 0; i < rows; i++) {
		pp += u[i * n + p] * u[i * n + p];
		qq += u[i * n + q] * u[i * n + q];
		pq += u[i * n + p] * u[i * n + q];
	}
	if (fabs(pq) <= 1e-15 * sqrt(pp * qq)) return false;
	const double angle = .5 * atan2(2 * pq, pp - qq), c = cos(angle), s = sin(angle);

	for (int i = 0; i < rows; i++) {
		const double a = u[i * n + p], b = u[i * n + q];

		u[i * n + p] = c * a + s * b;
		u[i * n + q] = c * b - s * a;
	}
	return true;
}

/* The largest singular value of E over its least, by turns of its columns (Hestenes). */
static int condition(struct iso_chromophores *c)
{
	const int n = c->n, rows = c->wavelengths;
	double *u = size_alloc((int64_t)rows * n, sizeof *u), most = 0, least = HUGE_VAL;
	bool turned = true;

	if (!u) return iso_fail_memory("unmix", (int64_t)rows * n * (int64_t)sizeof *u);
	memcpy(u, c->e, (size_t)rows * (size_t)n * sizeof *u);
	for (int sweep = 0; sweep < SWEEPS && turned; sweep++) {
		turned = false;
		for (int p = 0; p < n; p++)
			for (int q = p + 1; q < n; q++) turned = turn(u, rows, n, p, q) || turned;
	}
	for (int j = 0; j < n; j++) {
		double sum = 0;

		for (int i = 0; i < rows; i++) sum += u[i * n + j] * u[i * n + j];
		most = fmax(most, sqrt(sum));
		least = fmin(least, sqrt(sum));
	}
	free(u);
	c->condition = least > 0 ? most / least : HUGE_VAL;
	return ISO_OK;
}

static double length(const struct iso_chromophores *c, int j)
{
	double sum = 0;

	for (int i = 0; i < c->wavelengths; i++) sum += c->e[i * c->n + j] * c->e[i * c->n + j];
	return sqrt(sum);
}

static int check(const struct iso_chromophores *c)
{
	if (c->n > c->wavelengths)
		return iso_fail(ISO_EARG,
		                "unmix: %d wavelengths can't tell %d chromophores apart; at least as many "
		                "wavelengths are needed",
		                c->wavelengths, c->n);
	for (int p = 0; p < c->n; p++) {
		if (!(length(c, p) > 0))
			return iso_fail(ISO_EINPUT, "unmix: %s absorbs at none of the wavelengths",
			                c->name[p]);
		for (int q = 0; q < p; q++) {
			double apart = 0;

			for (int i = 0; i < c->wavelengths; i++) {
				const double *e = c->e + i * c->n;

				apart += pow(e[p] / length(c, p) - e[q] / length(c, q), 2);
			}
			if (sqrt(apart) < ALIKE)
				return iso_fail(ISO_EINPUT,
				                "unmix: %s and %s absorb alike at these wavelengths",
				                c->name[q], c->name[p]);
		}
	}
	return ISO_OK;
}

int iso_chromophores_create(struct iso_chromophores *c, const char *text, int wavelengths, const double *nm)
{
	if (!c || !text || !nm) return iso_fail_null(__func__);
	struct iso_chromophores r = { .wavelengths = wavelengths, .oxygenated = -1, .deoxygenated = -1 };
	int st = ISO_OK;

	if (wavelengths < 1) return iso_fail(ISO_EARG, "unmix: %d wavelengths", wavelengths);
	for (int i = 0; i < wavelengths; i++)
		if (!(nm[i] > 0) || !isfinite(nm[i]))
			return iso_fail(ISO_EARG, "unmix: wavelength %d is %g nm, must be above 0", i + 1,
			                nm[i]);
	if (!(r.e = size_alloc((int64_t)wavelengths * ISO_CHROMOPHORES, sizeof *r.e)))
		return iso_fail_memory("unmix",
		                       (int64_t)wavelengths * ISO_CHROMOPHORES * (int64_t)sizeof *r.e);
	st = add_entries(&r, text, nm);
	pack(&r);
	if (st || (st = check(&r)) || (st = condition(&r)) ||
	    (st = iso_sized_put(c, "iso_chromophores", sizeof *c, &r)))
		free(r.e);
	return st;
}

void iso_chromophores_free(struct iso_chromophores *c)
{
	if (!c) return;
	free(c->e);
	c->e = NULL;
	c->n = 0;
}
