/* SPDX-License-Identifier: BSD-3-Clause */
/* Efficiencies of the detection bins and of the pairs of modules of a PETSIRD file, as struct iso_efficiencies. */
#include "petsird.h"

#define EFFICIENCY_MOST 1e30 /* so that all are finite as floats */

/* What the file has of two kinds of modules: the numbers (sgid) of the tables of module pairs, and the tables. */
struct table_pair {
	struct petsird_table number;
	int64_t tables;
	struct petsird_table *value; /* no rows: all values are 1 */
	double id;                   /* sgid of the one that was read last */
	int32_t *place; /* of that with sgid i among those with rows; EFFICIENCY_ONES: it has none;
	                                EFFICIENCY_APART: no table has that sgid */
	int32_t filled; /* how many have rows */
};

struct petsird_raw {
	double calibration;
	struct petsird_table bin[ISO_MODULE_KINDS];
	struct table_pair pair[ISO_MODULE_KINDS][ISO_MODULE_KINDS];
};

/* ---- as the file has them ---- */

static void read_calibration(struct yardl *y, int type, void *arg)
{
	((struct petsird_raw *)arg)->calibration = yardl_number(y, type);
}

static void read_bins(struct yardl *y, int type, void *arg)
{
	struct petsird_raw *r = arg;
	int item, found = yardl_case(y, type);
	int64_t n = found < 0 ? 0 : yardl_items(y, found, &item);

	for (int64_t i = 0; i < n && !y->status; i++)
		if (i < ISO_MODULE_KINDS)
			petsird_read_list(y, item, &r->bin[i]);
		else
			yardl_skip(y, item);
}

static void read_number(struct yardl *y, int type, void *arg, int k, int l)
{
	petsird_read_table(y, type, &((struct petsird_raw *)arg)->pair[k][l].number);
}

static void read_numbers(struct yardl *y, int type, void *arg)
{
	petsird_each_pair(y, type, read_number, arg);
}

static void read_values(struct yardl *y, int type, void *arg)
{
	struct table_pair *t = arg;

	petsird_read_table(y, type, &t->value[t->tables]);
}

static void read_id(struct yardl *y, int type, void *arg)
{
	((struct table_pair *)arg)->id = yardl_number(y, type);
}

static void free_tables(struct table_pair *t)
{
	for (int64_t i = 0; t->value && i < t->tables; i++) petsird_free_table(&t->value[i]);
	free(t->value);
	free(t->place);
	t->value = NULL;
	t->place = NULL;
	t->tables = t->filled = 0;
}

static void read_tables_of(struct yardl *y, int type, void *arg, int k, int l)
{
	static const struct yardl_use uses[] = { { "values", read_values, false },
		                                 { "sgid", read_id, false },
		                                 { 0 } };
	struct table_pair *t = &((struct petsird_raw *)arg)->pair[k][l];
	int item;
	int64_t n = yardl_items(y, type, &item);

	free_tables(t);
	t->value = petsird_make(y, n, sizeof *t->value);
	t->place = petsird_make(y, n, sizeof *t->place);
	for (int64_t i = 0; i < n && !y->status; i++) t->place[i] = EFFICIENCY_APART;
	for (int64_t i = 0; i < n && !y->status; i++) {
		yardl_record(y, item, uses, t);
		t->tables++; /* also after a failure, so that it is freed */
		if (!(t->id >= 0 && t->id < (double)n && t->place[(int64_t)t->id] == EFFICIENCY_APART))
			petsird_refuse(y, "sgid of a table of efficiencies, not below their number, or again",
			               t->id);
		else
			t->place[(int64_t)t->id] = t->value[i].rows ? t->filled++ : EFFICIENCY_ONES;
	}
}

static void read_tables(struct yardl *y, int type, void *arg)
{
	petsird_each_pair(y, type, read_tables_of, arg);
}

void petsird_read_efficiencies(struct yardl *y, int type, void *arg)
{
	static const struct yardl_use uses[] = { { "calibrationFactor", read_calibration, true },
		                                 { "detectionBinEfficiencies", read_bins, false },
		                                 { "modulePairSGIDLUT", read_numbers, false },
		                                 { "modulePairEfficienciesVectors", read_tables, false },
		                                 { 0 } };
	struct petsird *p = arg;

	if (!p->raw) p->raw = petsird_make(y, 1, sizeof *p->raw);
	if (p->raw) yardl_record(y, type, uses, p->raw);
}

void petsird_free_raw(struct petsird_raw *r)
{
	if (!r) return;
	for (int k = 0; k < ISO_MODULE_KINDS; k++) {
		petsird_free_table(&r->bin[k]);
		for (int l = 0; l < ISO_MODULE_KINDS; l++) {
			petsird_free_table(&r->pair[k][l].number);
			free_tables(&r->pair[k][l]);
		}
	}
	free(r);
}

/* ---- as one struct iso_efficiencies ---- */

static int64_t bins_of(const struct iso_module_kind *k)
{
	return k->elements * k->windows;
}

/* The largest of n efficiencies, none of which may be negative or not finite. */
static float largest(struct yardl *y, const char *what, const float *v, int64_t n)
{
	float most = 0;

	for (int64_t i = 0; i < n; i++) {
		if (!(v[i] >= 0) || !isfinite(v[i])) {
			petsird_refuse(y, what, (double)v[i]);
			return 0;
		}
		most = v[i] > most ? v[i] : most;
	}
	return most;
}

static void take_bins(struct petsird *p, struct iso_efficiencies *e)
{
	const struct petsird_table *bin = p->raw->bin;
	struct yardl *y = &p->y;
	bool any = false;
	float *v;

	for (int k = 0; k < e->kinds; k++) any = any || (bin[k].rows && bin[k].first[1]);
	if (!any) return;
	p->normalised = true;
	if (!(e->bin = v = petsird_make(y, e->bins, sizeof *v))) return;
	for (int64_t i = 0; i < e->bins; i++) v[i] = 1;
	for (int k = 0; k < e->kinds && !y->status; k++) {
		int64_t there = bin[k].rows ? bin[k].first[1] : 0;

		if (there && there != e->kind[k].modules * bins_of(&e->kind[k]))
			petsird_refuse(y, "detectionBinEfficiencies are not as many as detection bins",
			               (double)there);
		else if (there)
			memcpy(v + e->kind[k].bin, bin[k].v, (size_t)there * sizeof *v);
	}
	double most = y->status ? 0 : (double)largest(y, "detectionBinEfficiencies hold", v, e->bins);

	e->most *= most * most;
}

/* Tables of kinds k >= l; a file before 0.10 may have them of l, k alone: then they are turned. */
struct source {
	const struct table_pair *t;
	bool turned;
};

static struct source find_source(const struct petsird_raw *r, int k, int l)
{
	bool turned = !r->pair[k][l].number.rows && r->pair[l][k].number.rows;

	return (struct source){ turned ? &r->pair[l][k] : &r->pair[k][l], turned };
}

static float entry(const struct petsird_table *t, bool turned, int64_t i, int64_t j)
{
	return turned ? t->v[t->first[j] + i] : t->v[t->first[i] + j];
}

/* Whether it has an entry for every i < n, j < m, or, a triangle, j <= i < n. */
static bool fits(const struct petsird_table *t, bool turned, int64_t n, int64_t m, bool triangle)
{
	if (t->rows != (turned ? m : n)) return false;
	for (int64_t i = 0; i < t->rows; i++) {
		int64_t there = t->first[i + 1] - t->first[i];

		if (there != (turned ? n : m) && !(triangle && there == i + 1)) return false;
	}
	return true;
}

/* Whether the tables of two kinds are of their sizes; adds what they need. */
static void check_pair(struct petsird *p, const struct iso_efficiencies *e, int k, int l, int64_t *groups,
                       int64_t *values)
{
	struct source s = find_source(p->raw, k, l);
	int64_t n = e->kind[k].modules, m = e->kind[l].modules;

	if (!s.t->number.rows) return;
	p->normalised = true;
	if (!fits(&s.t->number, s.turned, n, m, k == l))
		petsird_refuse(&p->y, "modulePairSGIDLUT is not of all modules, of which there are",
		               (double)n);
	*groups += n * m;
	n = bins_of(&e->kind[k]);
	m = bins_of(&e->kind[l]);
	for (int64_t i = 0; i < s.t->tables; i++)
		if (s.t->value[i].rows && !fits(&s.t->value[i], s.turned, n, m, false))
			petsird_refuse(&p->y,
			               "modulePairEfficienciesVectors are not of all bins of a module, of "
			               "which there are",
			               (double)n);
	*values += s.t->filled * n * m;
}

/* What stands in `group` for an sgid. Without tables all values are 1. */
static int32_t group_of(struct yardl *y, const struct table_pair *t, float sgid)
{
	if (sgid < 0) return EFFICIENCY_APART;
	if (!t->tables) return EFFICIENCY_ONES;
	int32_t found = (double)sgid < (double)t->tables ? t->place[(int64_t)sgid] : EFFICIENCY_APART;

	if (found == EFFICIENCY_APART)
		petsird_refuse(y, "modulePairSGIDLUT names a table that does not exist", (double)sgid);
	return found;
}

/* Modules i of kind k and j of kind l; of one kind, j <= i alone are looked up. */
static void take_groups(struct yardl *y, struct source s, const struct iso_efficiencies *e, int k, int l,
                        int32_t *group)
{
	int64_t n = e->kind[k].modules, m = e->kind[l].modules;

	for (int64_t i = 0; i < n && !y->status; i++)
		for (int64_t j = 0; j < (k == l ? i + 1 : m) && !y->status; j++)
			group[i * m + j] = group_of(y, s.t, entry(&s.t->number, s.turned, i, j));
}

static void take_values(struct source s, const struct iso_efficiencies *e, int k, int l, float *value)
{
	int64_t n = bins_of(&e->kind[k]), m = bins_of(&e->kind[l]);

	for (int64_t t = 0; t < s.t->tables; t++)
		for (int64_t i = 0; i < (s.t->value[t].rows ? n : 0); i++)
			for (int64_t j = 0; j < m; j++) *value++ = entry(&s.t->value[t], s.turned, i, j);
}

static void take_pair(struct petsird *p, struct iso_efficiencies *e, int k, int l, int32_t *group,
                      float *value)
{
	struct source s = find_source(p->raw, k, l);
	bool there = s.t->number.rows;

	e->pair[k][l] = (struct iso_kind_pair){ there ? e->groups : -1, e->values };
	if (!there) return;
	take_groups(&p->y, s, e, k, l, group + e->groups);
	take_values(s, e, k, l, value + e->values);
	e->groups += e->kind[k].modules * e->kind[l].modules;
	e->values += s.t->filled * bins_of(&e->kind[k]) * bins_of(&e->kind[l]);
}

static void take_pairs(struct petsird *p, struct iso_efficiencies *e)
{
	struct yardl *y = &p->y;
	int64_t groups = 0, values = 0;

	for (int k = 0; k < e->kinds; k++)
		for (int l = 0; l <= k; l++) check_pair(p, e, k, l, &groups, &values);
	int32_t *group = petsird_make(y, groups, sizeof *group);
	float *value = petsird_make(y, values, sizeof *value);

	e->group = group;
	e->value = value;
	for (int k = 0; k < e->kinds && !y->status; k++)
		for (int l = 0; l <= k && !y->status; l++) take_pair(p, e, k, l, group, value);
	if (!y->status)
		e->most *=
			fmax(1, (double)largest(y, "modulePairEfficienciesVectors hold", value, e->values));
}

static void take_kinds(struct iso_efficiencies *e, const struct petsird *p)
{
	double windows = 1;

	e->kinds = p->kinds;
	for (int k = 0; k < p->kinds; k++) {
		e->kind[k] = p->kind[k];
		e->kind[k].bin = e->bins;
		e->bins += p->kind[k].modules * bins_of(&p->kind[k]);
		windows = fmax(windows, (double)p->kind[k].windows);
	}
	e->most = e->scale * windows * windows;
}

static bool only(const float *v, int64_t n, bool or_0)
{
	bool found = true;

	for (int64_t i = 0; v && i < n; i++) found = found && (v[i] == 1 || (or_0 && v[i] == 0));
	return found;
}

/* Whether events have factors other than 1: a pair whose value is 0 is not in coincidence. */
static bool has_factors(const struct iso_efficiencies *e)
{
	return e->scale != 1 || !only(e->bin, e->bins, false) || !only(e->value, e->values, true);
}

/* A factor of 0 is what writers leave that do not know it. */
void petsird_take_efficiencies(struct petsird *p)
{
	struct yardl *y = &p->y;
	struct iso_efficiencies *e = petsird_make(y, 1, sizeof *e);
	double calibration = p->raw ? p->raw->calibration : 0;

	if (!e) return;
	p->efficiencies = e;
	if (!(calibration >= 0) || !isfinite(calibration))
		petsird_refuse(y, "calibrationFactor, 0 or more was expected", calibration);
	e->scale = calibration > 0 ? calibration : 1;
	p->normalised = e->scale != 1;
	take_kinds(e, p);
	if (p->raw && !y->status) take_bins(p, e);
	if (p->raw && !y->status) take_pairs(p, e);
	if (!(e->most < EFFICIENCY_MOST))
		petsird_refuse(y, "efficiencies of pairs of crystals up to", e->most);
	p->factors = p->normalised && has_factors(e);
	petsird_free_raw(p->raw);
	p->raw = NULL;
}
