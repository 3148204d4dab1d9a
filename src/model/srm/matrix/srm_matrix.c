/* SPDX-License-Identifier: BSD-3-Clause */
/* The system matrix of two panels: which columns there are, which voxels stand for them, what may
   be added up. */
#include "srm_matrix.h"
#include "core/size.h"
#include "core/sized.h"

const char *const iso_srm_symmetries[] = { "auto", "all", "mirror", "none", NULL };
const char *const iso_srm_sources[] = { "transport", "analytic", "import", NULL };

static int half(int n)
{
	return (n + 1) / 2;
}

/* ---- folded columns and classes ---- */

struct srm_column iso_srm_column(const struct srm_shape *s, int64_t number)
{
	int x = half(s->d[0]), z = half(s->d[1]);

	return (struct srm_column){ (int)(number / (x * z)), { (int)(number / z % x), (int)(number % z) } };
}

int64_t iso_srm_column_number(const struct srm_shape *s, struct srm_column c)
{
	return ((int64_t)c.y * half(s->d[0]) + c.p[0]) * half(s->d[1]) + c.p[1];
}

/* With the swap a plane has the classes (0,0), (0,1), ... (1,1), ...: those before row p are
   n + (n-1) + ... */
int iso_srm_class(const struct srm_shape *s, struct srm_column c)
{
	int n = half(s->d[0]), p = c.p[c.p[0] > c.p[1]], q = c.p[c.p[0] <= c.p[1]];

	if (!s->swap) return (int)iso_srm_column_number(s, c);
	return c.y * (n * (n + 1) / 2) + p * n - p * (p - 1) / 2 + q - p;
}

int iso_srm_multiplicity(const struct srm_shape *s, struct srm_column c)
{
	return (2 * c.p[0] == s->d[0] - 1 ? 1 : 2) * (2 * c.p[1] == s->d[1] - 1 ? 1 : 2) *
	       (2 * c.y == s->planes - 1 ? 1 : 2);
}

int iso_srm_voxels(int out[8], const iso_srm *m, int class_number)
{
	int n = 0;

	for (int g = 0; g < SRM_SWAP; g++)
		if (g == 0 || (m->options.symmetry == ISO_SRM_NONE && !(g & m->class_of[class_number].stays)))
			out[n++] = g;
	return n;
}

int iso_srm_all_voxels(const iso_srm *m)
{
	int g[8], n = 0;

	for (int i = 0; i < m->n_class; i++) n += iso_srm_voxels(g, m, i);
	return n;
}

/* ---- checks ---- */

static bool alike(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(a);
}

static bool swap_holds(const struct iso_panels *p)
{
	return alike(p->pitch[0], p->pitch[1]) && alike(p->crystal[0], p->crystal[1]) &&
	       p->per_pitch[0] == p->per_pitch[1];
}

static int check_options(const struct iso_panels *p, const struct iso_srm_options *o)
{
	if ((unsigned)o->symmetry > ISO_SRM_NONE)
		return iso_fail(ISO_EARG, "srm: symmetry %d is not known", (int)o->symmetry);
	if (o->symmetry == ISO_SRM_ALL && !swap_holds(p))
		return iso_fail(ISO_EARG,
		                "srm: x and z can't be swapped: pitch %g and %g mm, crystal %g and %g mm, %d "
		                "and %d voxels a pitch must be equal",
		                p->pitch[0], p->pitch[1], p->crystal[0], p->crystal[1], p->per_pitch[0],
		                p->per_pitch[1]);
	if (o->outcomes < 0 || o->outcomes > 8)
		return iso_fail(ISO_EARG, "srm: %d outcomes of a photon, must be 1 to 8", o->outcomes);
	if (p->readout == ISO_READ_BLOCK)
		return iso_fail(ISO_EARG, "srm: readout by block: a shift by one crystal changes it, so one "
		                          "voxel can't stand for others; use readout head or crystal");
	return ISO_OK;
}

static bool in_range(double v, double low, double high)
{
	return v >= low && v <= high;
}

/* Also of what a file says: products of these stay far below 64 bits. */
static int check_panels(const struct iso_panels *p)
{
	bool ok = in_range(p->planes, 1, 1 << 16) && in_range(p->layers, 1, 64) &&
	          in_range(p->plane, 1e-6, 1e6) && in_range(p->gap, 1e-6, 1e6) &&
	          in_range(p->crystal[2], 1e-6, 1e6) && p->planes * p->plane <= p->gap * (1 + 1e-9);

	for (int i = 0; i < 2; i++)
		ok = ok && in_range(p->crystals[i], 1, 4096) && in_range(p->per_pitch[i], 1, 256) &&
		     in_range(p->pitch[i], 1e-6, 1e6) &&
		     in_range(p->crystal[i], 1e-6, p->pitch[i] * (1 + 1e-9));
	if (!ok) return iso_fail(ISO_EARG, "srm: sizes of the panels are out of range");
	double n = (2. * p->crystals[0] - 1) * (2. * p->crystals[1] - 1) * p->layers;

	if (n * n <= 0x1p32) return ISO_OK;
	return iso_fail(
		ISO_EARG,
		"srm: %d x %d crystals in %d layers: their %.3g positions must be at most 2^32 (4 bytes)",
		p->crystals[0], p->crystals[1], p->layers, n * n);
}

/* The caller's text need not outlive the matrix. */
static int intern(const char **positron)
{
	static const char *const names[] = { "F-18", "C-11", "O-15", "Ga-68" };

	if (!*positron) return ISO_OK;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(*positron, names[i]) == 0) {
			*positron = names[i];
			return ISO_OK;
		}
	return iso_fail(ISO_EARG, "srm: positron range of '%s', known are F-18, C-11, O-15, Ga-68",
	                *positron);
}

/* ---- making ---- */

static struct srm_shape make_shape(const struct iso_panels *p, enum iso_srm_symmetry symmetry)
{
	bool swap = swap_holds(p) && (symmetry == ISO_SRM_AUTO || symmetry == ISO_SRM_ALL);
	struct srm_shape s = { .planes = p->planes, .layers = p->layers, .swap = swap };
	int most = p->crystals[p->crystals[0] < p->crystals[1]];

	for (int i = 0; i < 2; i++) {
		s.nc[i] = p->crystals[i];
		s.d[i] = p->per_pitch[i];
		s.reach[i] = (swap ? most : s.nc[i]) - 1;
	}
	return s;
}

static int make_classes(iso_srm *m)
{
	const struct srm_shape *s = &m->shape;
	struct srm_column last = { half(s->planes) - 1, { half(s->d[0]) - 1, half(s->d[1]) - 1 } };

	m->n_column = iso_srm_column_number(s, last) + 1;
	m->n_class = iso_srm_class(s, last) + 1;
	ISO_HOST(&m->room, m->class_of, m->n_class);
	ISO_HOST(&m->room, m->counts, m->n_class);
	ISO_HOST(&m->room, m->sens, m->n_column);
	for (int64_t i = 0; i < m->n_column && !m->room.status; i++) {
		struct srm_column c = iso_srm_column(s, i);
		struct srm_class *k = &m->class_of[iso_srm_class(s, c)];

		if (s->swap && c.p[0] > c.p[1]) continue;
		k->column = c;
		k->stays = srm_stays(s, c);
	}
	return m->room.status;
}

int iso_srm_make(iso_srm **out, const struct iso_panels *p, const struct iso_srm_options *o,
                 enum srm_source source)
{
	iso_srm *m;
	int st;

	if ((st = check_panels(p)) || (st = check_options(p, o))) return st;
	m = size_alloc(1, sizeof *m);
	if (!m) return iso_fail_memory("srm", sizeof *m);
	m->room.what = "srm: columns";
	m->panels = *p;
	m->shape = make_shape(p, o->symmetry);
	m->options = *o;
	m->options.outcomes = o->outcomes > 1 ? o->outcomes : 1;
	m->source = source;
	if (!(st = intern(&m->options.transport.positron))) st = make_classes(m);
	return iso_srm_hand_out(out, m, st);
}

int iso_srm_hand_out(iso_srm **out, iso_srm *m, int st)
{
	if (st)
		iso_srm_free(m);
	else
		*out = m;
	return st;
}

int iso_srm_create(iso_srm **m, const struct iso_panels *p, const struct iso_srm_options *o)
{
	if (!m || !p || !o) return iso_fail_null(__func__);
	struct iso_srm_options full;
	int st = iso_sized_take(&full, "iso_srm_options", sizeof full, o);

	if (!st) st = iso_srm_make(m, p, &full, SRM_TRANSPORT);
	if (!st) (*m)->has_counts = true;
	return st;
}

void iso_srm_free(iso_srm *m)
{
	if (!m) return;
	for (int i = 0; m->counts && i < m->n_class; i++) iso_srm_list_free(&m->counts[i].list);
	for (int64_t i = 0; m->given && i < m->n_column; i++) free(m->given[i].v);
	iso_room_free(&m->room);
	iso_room_free(&m->table);
	free(m->range);
	free(m->command);
	free(m);
}

/* ---- ranges of pairs ---- */

int iso_srm_check_range(const iso_srm *m, struct srm_range r)
{
	for (int64_t i = 0; i < m->n_range; i++) {
		const struct srm_range *a = m->range + i;

		if (a->seed == r.seed && a->first < r.first + r.n && r.first < a->first + a->n)
			return iso_fail(ISO_EARG,
			                "srm: pairs %" PRId64 " to %" PRId64 " of seed %" PRIu64
			                " are in it already",
			                r.first, r.first + r.n - 1, r.seed);
	}
	return ISO_OK;
}

/* In order; those that follow each other become one, so that the list does not tell in which order pairs were
   added. */
int iso_srm_add_range(iso_srm *m, struct srm_range r)
{
	int k = m->n_range, n = 0, st = iso_srm_check_range(m, r);
	struct srm_range *v;

	if (st || r.n == 0) return st;
	v = realloc(m->range, ((size_t)k + 1) * sizeof *v);
	if (!v) return iso_fail_memory("srm: ranges of pairs", sizeof *v);
	m->range = v;
	for (; k > 0 && (r.seed < v[k - 1].seed || (r.seed == v[k - 1].seed && r.first < v[k - 1].first));
	     k--)
		v[k] = v[k - 1];
	v[k] = r;
	for (int i = 1; i <= m->n_range; i++)
		if (v[n].seed == v[i].seed && v[n].first + v[n].n == v[i].first)
			v[n].n += v[i].n;
		else
			v[++n] = v[i];
	m->n_range = n + 1;
	m->pairs += r.n;
	return ISO_OK;
}

/* ---- adding runs ---- */

static bool same_panels(const struct iso_panels *a, const struct iso_panels *b)
{
	bool same = a->layers == b->layers && a->planes == b->planes && a->readout == b->readout &&
	            strcmp(a->formula, b->formula) == 0 && alike(a->density, b->density) &&
	            alike(a->plane, b->plane) && alike(a->gap, b->gap) &&
	            alike(a->crystal[2], b->crystal[2]) && alike(a->resolution, b->resolution);

	for (int i = 0; i < 2; i++)
		same = same && a->crystals[i] == b->crystals[i] && a->per_pitch[i] == b->per_pitch[i] &&
		       alike(a->pitch[i], b->pitch[i]) && alike(a->crystal[i], b->crystal[i]) &&
		       alike(a->window[i], b->window[i]);
	return same;
}

/* Names of isotopes are interned. */
static bool same_physics(const struct iso_transport_options *a, const struct iso_transport_options *b)
{
	return a->centroid == b->centroid && a->first_layer == b->first_layer &&
	       a->no_rayleigh == b->no_rayleigh && a->no_reentry == b->no_reentry &&
	       a->acollinearity == b->acollinearity && a->positron == b->positron;
}

static int check_addable(const iso_srm *m, const iso_srm *other)
{
	int st = ISO_OK;

	if (!m->has_counts || !other->has_counts)
		return iso_fail(ISO_EARG,
		                "srm: a matrix without counts (final, analytic, imported) can't be added");
	if (!same_panels(&m->panels, &other->panels))
		return iso_fail(ISO_EARG, "srm: the matrices are of different scanners");
	if (m->shape.swap != other->shape.swap || m->options.outcomes != other->options.outcomes ||
	    (m->options.symmetry == ISO_SRM_NONE) != (other->options.symmetry == ISO_SRM_NONE) ||
	    !same_physics(&m->options.transport, &other->options.transport))
		return iso_fail(ISO_EARG, "srm: the matrices differ in physics, symmetry or outcomes");
	for (int i = 0; i < other->n_range && !st; i++) st = iso_srm_check_range(m, other->range[i]);
	return st;
}

/* All sums are made before the first replaces a list of m: after a failure m is as it was. */
int iso_srm_take(iso_srm *m, const struct srm_counts *fresh, int threads)
{
	struct srm_list *sum = size_alloc(m->n_class, sizeof *sum);
	bool full = !sum;

#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(|| : full)
	for (int i = 0; i < (sum ? m->n_class : 0); i++)
		full = full || iso_srm_list_add(&sum[i], &m->counts[i].list, &fresh[i].list);
	for (int i = 0; sum && i < m->n_class; i++) {
		struct srm_counts *old = &m->counts[i];

		iso_srm_list_free(full ? &sum[i] : &old->list);
		if (!full) *old = (struct srm_counts){ sum[i], old->recorded + fresh[i].recorded };
	}
	free(sum);
	return full ? iso_fail_memory("srm: counts", m->n_class * (int64_t)sizeof *sum) : ISO_OK;
}

int iso_srm_add(iso_srm *m, const iso_srm *other)
{
	if (!m || !other) return iso_fail_null(__func__);
	int st = check_addable(m, other);

	if (!st) st = iso_srm_take(m, other->counts, 1);
	for (int i = 0; i < other->n_range && !st; i++) st = iso_srm_add_range(m, other->range[i]);
	return st;
}

/* ---- what is in it ---- */

int64_t iso_srm_next(const iso_srm *m)
{
	if (!m) return 0;

	int64_t next = 0;

	for (int i = 0; i < m->n_range; i++)
		if (m->range[i].seed == m->options.seed && m->range[i].first + m->range[i].n > next)
			next = m->range[i].first + m->range[i].n;
	return next;
}

void iso_srm_run(uint64_t *seed, int64_t *first, int64_t *n, const iso_srm *m, int i)
{
	if (!seed || !first || !n || !m) return;
	*seed = m->range[i].seed;
	*first = m->range[i].first;
	*n = m->range[i].n;
}

const double *iso_srm_column_sens(const iso_srm *m)
{
	return m ? &m->sens[0][0] : NULL;
}

/* Elements of each storage, from those of the folded columns: sizes of Table I at 8 bytes each. */
static void put_sizes(struct iso_srm_info *info, const iso_srm *m)
{
	const double bytes = 8;
	const struct srm_shape *s = &m->shape;

	for (int64_t c = 0; m->ptr && c < m->n_column; c++) {
		struct srm_column column = iso_srm_column(s, c);
		int all = iso_srm_multiplicity(s, column);
		int phases = 2 * column.y == s->planes - 1 ? all : all / 2;

		info->bytes_column += bytes * phases * (double)(m->ptr[c + 1] - m->ptr[c]);
		for (int64_t i = m->ptr[c]; m->at && i < m->ptr[c + 1]; i++) {
			struct srm_lor e = srm_at(s, m->at[i]);
			int ways = (e.u[0] == e.l[0] ? 1 : 2) * (e.u[1] == e.l[1] ? 1 : 2);

			info->bytes_full += bytes * (double)srm_shifts(s, e) * all;
			info->bytes_row += bytes * all / ways;
		}
	}
	info->bytes_tap = info->bytes_row / 2;
}

static void put_sensitivity(struct iso_srm_info *info, const iso_srm *m)
{
	double all = 0;

	info->lost_least = m->ptr ? 1 : 0;
	for (int64_t c = 0; c < m->n_column; c++) {
		int n = iso_srm_multiplicity(&m->shape, iso_srm_column(&m->shape, c));

		info->recorded += n * m->sens[c][SRM_RECORDED];
		info->usable += n * m->sens[c][SRM_USABLE];
		info->lost_least = fmin(info->lost_least, m->sens[c][SRM_LOST]);
		info->lost_most = fmax(info->lost_most, m->sens[c][SRM_LOST]);
		all += n;
	}
	info->recorded /= all;
	info->usable /= all;
}

int iso_srm_info(struct iso_srm_info *info, const iso_srm *m)
{
	if (!info || !m) return iso_fail_null(__func__);
	struct iso_srm_info got = {
		.panels = m->panels,
		.source = iso_srm_sources[m->source],
		.options = m->options,
		.swap = m->shape.swap,
		.voxels = iso_srm_all_voxels(m),
		.classes = m->n_class,
		.pairs = m->pairs,
		.runs = m->n_range,
		.columns = m->n_column,
		.elements = m->n,
		.bound = m->bound,
		.least_weight = m->least_weight,
		.kept = m->kept,
		.lost = 1 - m->kept,
		.core_counts = m->noise.core_counts,
		.core_elements = m->noise.core_elements,
		.once = m->noise.once,
		.usable_elements = m->noise.usable_elements,
		.has_counts = m->has_counts,
		.can_cut = m->has_counts || m->given,
		.command = m->command ? m->command : "",
	};

	put_sensitivity(&got, m);
	put_sizes(&got, m);
	return iso_sized_put(info, "iso_srm_info", sizeof got, &got);
}
