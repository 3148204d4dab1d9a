/* SPDX-License-Identifier: BSD-3-Clause */
/* The scanner of a PETSIRD file: places of crystals, TOF bins, energy windows, efficiencies. */
#include "petsird.h"

#include "core/size.h"
#include "io/events.h"
#include "scanner/scanner.h"

enum { BINS_MOST = 1 << 28 }; /* detection bins of a scanner */

void petsird_refuse(struct yardl *y, const char *what, double v)
{
	if (!y->status) y->status = iso_refuse(y->path, "%s: %g", what, v);
}

void *petsird_make(struct yardl *y, int64_t n, int64_t item)
{
	void *p = y->status ? NULL : size_alloc(n, item);

	if (!p && !y->status) y->status = iso_fail_memory(y->path, n * item);
	return p;
}

/* ---- tables ---- */

void petsird_free_table(struct petsird_table *t)
{
	free(t->first);
	free(t->v);
	*t = (struct petsird_table){ 0 };
}

/* n more numbers of type `item`, as a row. */
static void read_row(struct yardl *y, struct petsird_table *t, int64_t row, int item, int64_t n,
                     int64_t *room)
{
	int64_t at = t->first[row];

	if (at + n > *room) {
		*room = 2 * (at + n);
		float *more = realloc(t->v, (size_t)*room * sizeof *more);

		if (!more) {
			y->status = iso_fail_memory(y->path, *room * (int64_t)sizeof *more);
			return;
		}
		t->v = more;
	}
	for (int64_t i = 0; i < n && !y->status; i++) t->v[at + i] = (float)yardl_number(y, item);
	t->first[row + 1] = at + n;
}

void petsird_read_table(struct yardl *y, int type, struct petsird_table *t)
{
	int64_t axes[2], room = 0;
	int item, inner = 0;
	bool array = y->type[type].kind == YARDL_ARRAY;
	int64_t rows =
		yardl_axes(y, type, &item, axes) ? axes[0] : 0; /* none, too, if there are no columns */

	petsird_free_table(t);
	if (!(t->first = petsird_make(y, rows + 1, sizeof *t->first))) return;
	t->rows = rows;
	for (int64_t i = 0; i < t->rows && !y->status; i++) {
		int64_t n = array ? axes[1] : yardl_items(y, item, &inner);

		if (!y->status) read_row(y, t, i, array ? item : inner, n, &room);
	}
}

void petsird_read_list(struct yardl *y, int type, struct petsird_table *t)
{
	int item;
	int64_t room = 0, n = yardl_items(y, type, &item);

	petsird_free_table(t);
	if (!(t->first = petsird_make(y, 2, sizeof *t->first))) return;
	t->rows = 1;
	read_row(y, t, 0, item, n, &room);
}

/* ---- geometry ---- */

struct transforms {
	int64_t n;
	double (*m)[3][4];
};

struct module {
	double middle[3]; /* of the box, before any transform */
	struct transforms elements, modules;
};

static void read_matrix(struct yardl *y, int type, void *arg)
{
	double(*m)[4] = arg;
	int item;

	if (yardl_items(y, type, &item) != 12) {
		petsird_refuse(y, "a transform is not of 3 x 4 numbers", 0);
		return;
	}
	for (int i = 0; i < 12; i++) m[i / 4][i % 4] = yardl_number(y, item);
}

void petsird_read_transform(struct yardl *y, int type, double m[3][4])
{
	static const struct yardl_use uses[] = { { "matrix", read_matrix, false }, { 0 } };

	yardl_record(y, type, uses, m);
}

static void read_transforms(struct yardl *y, int type, struct transforms *t)
{
	int item;
	int64_t n = yardl_items(y, type, &item);

	free(t->m);
	t->n = 0;
	if (!(t->m = petsird_make(y, n, sizeof *t->m))) return;
	for (; t->n < n && !y->status; t->n++) petsird_read_transform(y, item, t->m[t->n]);
}

static void read_corner(struct yardl *y, int type, void *arg)
{
	double *sum = arg;
	int item;

	if (yardl_items(y, type, &item) != 3) petsird_refuse(y, "a corner is not of 3 numbers", 0);
	for (int a = 0; a < 3; a++) sum[a] += yardl_number(y, item) / 8;
}

static void read_corners(struct yardl *y, int type, void *arg)
{
	static const struct yardl_use uses[] = { { "c", read_corner, false }, { 0 } };
	struct module *m = arg;
	int item;
	int64_t n = yardl_items(y, type, &item);

	if (n != 8) petsird_refuse(y, "corners of a crystal, 8 were expected", (double)n);
	for (int64_t i = 0; i < n && !y->status; i++) yardl_record(y, item, uses, m->middle);
}

static void read_shape(struct yardl *y, int type, void *arg)
{
	static const struct yardl_use uses[] = { { "corners", read_corners, false }, { 0 } };

	yardl_record(y, type, uses, arg);
}

static void read_box(struct yardl *y, int type, void *arg)
{
	static const struct yardl_use uses[] = { { "shape", read_shape, false }, { 0 } };

	yardl_record(y, type, uses, arg);
}

static void read_element_places(struct yardl *y, int type, void *arg)
{
	read_transforms(y, type, &((struct module *)arg)->elements);
}

static void read_elements(struct yardl *y, int type, void *arg)
{
	static const struct yardl_use uses[] = { { "object", read_box, false },
		                                 { "transforms", read_element_places, false },
		                                 { 0 } };

	yardl_record(y, type, uses, arg);
}

static void read_module(struct yardl *y, int type, void *arg)
{
	static const struct yardl_use uses[] = { { "detectingElements", read_elements, false }, { 0 } };

	yardl_record(y, type, uses, arg);
}

static void read_module_places(struct yardl *y, int type, void *arg)
{
	read_transforms(y, type, &((struct module *)arg)->modules);
}

static void move(double to[3], double m[3][4], const double from[3])
{
	for (int a = 0; a < 3; a++)
		to[a] = m[a][0] * from[0] + m[a][1] * from[1] + m[a][2] * from[2] + m[a][3];
}

/* Crystals of one kind of modules behind those that are there. */
static void add_crystals(struct petsird *p, struct module *m)
{
	struct yardl *y = &p->y;
	struct iso_module_kind *t = &p->kind[p->kinds];
	int64_t n = 0;

	*t = (struct iso_module_kind){ p->crystals, m->modules.n, m->elements.n, 1, 0 };
	if (!size_mul(&n, t->modules, t->elements) || n > SCANNER_MAX - p->crystals || n == 0) {
		petsird_refuse(y,
		               n ? "crystals are more than a scanner may have"
		                 : "no crystals in a kind of modules",
		               (double)n);
		return;
	}
	double *more = realloc(p->place, (size_t)(p->crystals + n + 1) * 3 * sizeof *more);

	if (!more) {
		y->status = iso_fail_memory(y->path, (p->crystals + n) * 24);
		return;
	}
	p->place = more;
	for (int64_t i = 0; i < n && !y->status; i++) {
		double inside[3], *c = p->place + 3 * (p->crystals + i);

		move(inside, m->elements.m[i % t->elements], m->middle);
		move(c, m->modules.m[i / t->elements], inside);
		if (!(fabs(c[0]) <= 1e5 && fabs(c[1]) <= 1e5 && fabs(c[2]) <= 1e5))
			petsird_refuse(y, "a crystal beyond 100 m, or nowhere, number",
			               (double)(p->crystals + i));
	}
	p->crystals += n;
	p->kinds++;
}

static void read_all_modules(struct yardl *y, int type, void *arg)
{
	static const struct yardl_use uses[] = { { "object", read_module, false },
		                                 { "transforms", read_module_places, false },
		                                 { 0 } };
	struct petsird *p = arg;
	int item;
	int64_t n = yardl_items(y, type, &item);

	if (n < 1 || n > ISO_MODULE_KINDS - p->kinds)
		petsird_refuse(y, "kinds of modules, 1 to 8 were expected", (double)n);
	for (int64_t i = 0; i < n && !y->status; i++) {
		struct module m = { 0 };

		yardl_record(y, item, uses, &m);
		if (!y->status) add_crystals(p, &m);
		free(m.elements.m);
		free(m.modules.m);
	}
}

static void read_geometry(struct yardl *y, int type, void *arg)
{
	static const struct yardl_use uses[] = { { "replicatedModules", read_all_modules, false }, { 0 } };

	yardl_record(y, type, uses, arg);
}

/* ---- bins ---- */

/* A table by two kinds of modules: full, or its lower triangle; rows beyond the most kinds are stepped over. */
void petsird_each_pair(struct yardl *y, int type,
                       void (*read)(struct yardl *y, int type, void *arg, int k, int l), void *arg)
{
	int row, item, found = yardl_case(y, type);
	int64_t rows = found < 0 ? 0 : yardl_items(y, found, &row);

	for (int64_t i = 0; i < rows && !y->status; i++) {
		int64_t n = yardl_items(y, row, &item);

		for (int64_t j = 0; j < n && !y->status; j++)
			if (i < ISO_MODULE_KINDS && j < ISO_MODULE_KINDS)
				read(y, item, arg, (int)i, (int)j);
			else
				yardl_skip(y, item);
	}
}

static void read_edge_list(struct yardl *y, int type, void *arg)
{
	petsird_read_list(y, type, arg);
}

/* Edges, which must rise. */
static void read_edges(struct yardl *y, int type, struct petsird_table *t)
{
	static const struct yardl_use uses[] = { { "edges", read_edge_list, false }, { 0 } };

	yardl_record(y, type, uses, t);
	for (int64_t i = 1; !y->status && i < t->first[1]; i++)
		if (!(t->v[i] > t->v[i - 1]) || !isfinite(t->v[i] - t->v[i - 1]))
			petsird_refuse(y, "edges of bins must rise, not so that of number", (double)i);
}

static void read_tof(struct yardl *y, int type, void *arg, int k, int l)
{
	struct petsird_tof *pair = &((struct petsird *)arg)->tof[k][l];
	struct petsird_table edges = { 0 };

	read_edges(y, type, &edges);
	if (!y->status && edges.first[1] >= 2) {
		const float *v = edges.v;
		double wide = (double)v[1] - (double)v[0];

		free(pair->dt_ps);
		pair->bins = edges.first[1] - 1;
		pair->edge_ps[0] = (double)v[0] / ISO_MM_PER_PS;
		pair->edge_ps[1] = (double)v[pair->bins] / ISO_MM_PER_PS;
		pair->even = true;
		pair->dt_ps = petsird_make(y, pair->bins, sizeof *pair->dt_ps);
		for (int64_t i = 0; i < pair->bins && !y->status; i++) {
			double a = v[i], b = v[i + 1];

			pair->dt_ps[i] = (float)((a + b) / 2 / ISO_MM_PER_PS);
			pair->even = pair->even && fabs(b - a - wide) < 1e-3 * wide;
		}
	}
	petsird_free_table(&edges);
}

static void read_tofs(struct yardl *y, int type, void *arg)
{
	petsird_each_pair(y, type, read_tof, arg);
}

static void read_resolution(struct yardl *y, int type, void *arg, int k, int l)
{
	double fwhm = yardl_number(y, type);

	if (!(fwhm >= 0 && fwhm < 1e6)) petsird_refuse(y, "tofResolution in mm", fwhm);
	((struct petsird *)arg)->tof[k][l].fwhm_ps = fwhm / ISO_MM_PER_PS;
}

static void read_resolutions(struct yardl *y, int type, void *arg)
{
	petsird_each_pair(y, type, read_resolution, arg);
}

/* No edges, edges out of order or below 0 say nothing. */
static void take_window(struct petsird *p, const struct petsird_table *edges)
{
	double low, high;

	if (edges->first[1] < 2) return;
	low = edges->v[0];
	high = edges->v[edges->first[1] - 1];
	if (!(low >= 0 && low < high && high < 1e5)) return;
	p->energy_kev[0] = low;
	p->energy_kev[1] = high;
}

/* A share of 511 keV for each kind of modules; one outside (0, 1) says nothing. */
static void read_energy_resolutions(struct yardl *y, int type, void *arg)
{
	int item;
	int64_t n = yardl_items(y, type, &item);

	for (int64_t i = 0; i < n && !y->status; i++) {
		double share = yardl_number(y, item);

		if (i == 0 && share > 0 && share < 1) ((struct petsird *)arg)->energy_resolution = share;
	}
}

static void read_energies(struct yardl *y, int type, void *arg)
{
	struct petsird *p = arg;
	int item;
	int64_t n = yardl_items(y, type, &item);

	for (int64_t i = 0; i < n && !y->status; i++) {
		struct petsird_table edges = { 0 };

		read_edges(y, item, &edges);
		if (!y->status && i < ISO_MODULE_KINDS) p->windows[i] = edges.first[1] - 1;
		if (!y->status && i == 0) take_window(p, &edges);
		petsird_free_table(&edges);
	}
}

/* Detection bins: crystals times windows. */
static void set_windows(struct petsird *p)
{
	int64_t bins = 0;

	for (int k = 0; k < p->kinds; k++) {
		struct iso_module_kind *m = &p->kind[k];

		m->windows = p->windows[k] > 1 ? p->windows[k] : 1;
		if (m->windows > BINS_MOST) petsird_refuse(&p->y, "energy windows", (double)m->windows);
		if (!p->y.status) bins += m->modules * m->elements * m->windows;
	}
	if (bins > BINS_MOST) petsird_refuse(&p->y, "detection bins, too many", (double)bins);
}

/* ---- the header ---- */

static void read_name(struct yardl *y, int type, void *arg)
{
	struct petsird *p = arg;

	yardl_text(y, type, p->name, sizeof p->name);
}

static void read_alignment(struct yardl *y, int type, void *arg)
{
	double m[3][4], off = 0;
	int found = yardl_case(y, type);

	if (found < 0) return;
	petsird_read_transform(y, found, m);
	for (int i = 0; i < 12 && !y->status; i++) off = fmax(off, fabs(m[i / 4][i % 4] - (i % 5 == 0)));
	((struct petsird *)arg)->aligned = off > 1e-6;
}

static void read_scanner(struct yardl *y, int type, void *arg)
{
	static const struct yardl_use uses[] = { { "modelName", read_name, false },
		                                 { "scannerGeometry", read_geometry, false },
		                                 { "gantryAlignment", read_alignment, true },
		                                 { "tofBinEdges", read_tofs, false },
		                                 { "tofResolution", read_resolutions, false },
		                                 { "eventEnergyBinEdges", read_energies, false },
		                                 { "energyResolutionAt511", read_energy_resolutions, true },
		                                 { "detectionEfficiencies", petsird_read_efficiencies,
		                                   false },
		                                 { 0 } };

	yardl_record(y, type, uses, arg);
}

int petsird_read_header(struct petsird *p)
{
	static const struct yardl_use uses[] = { { "scanner", read_scanner, false }, { 0 } };
	struct yardl *y = &p->y;

	if (y->type[0].parts < 2 || strcmp(y->type[y->type[0].part].name, "header") != 0 ||
	    strcmp(y->type[y->type[0].part + 1].name, "timeBlocks") != 0)
		return y->status =
		               iso_refuse(y->path, "schema: 'header' and 'timeBlocks' were expected first");
	yardl_record(y, y->type[0].part, uses, p);
	if (!y->status && p->crystals < 2)
		petsird_refuse(y, "crystals, at least 2 were expected", (double)p->crystals);
	if (!y->status) set_windows(p);
	if (!y->status) petsird_take_efficiencies(p);
	return y->status;
}

void petsird_free(struct petsird *p)
{
	if (!p) return;
	for (int i = 0; i < ISO_MODULE_KINDS; i++)
		for (int j = 0; j < ISO_MODULE_KINDS; j++) free(p->tof[i][j].dt_ps);
	petsird_free_raw(p->raw);
	iso_efficiencies_free(p->efficiencies);
	free(p->place);
	yardl_close(&p->y);
}
