/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfile projection data (.hs) as a histogram: each value of the file is a bin, its line the mean of those of its
   crystal pairs.

   With N detectors a ring, V views, ring pitch h, view offset o, a bin of a segment (least ring difference a, largest
   b, n axial positions), axial k, view v, tangential t = i - floor(T/2), mash = N / (2 V), Z rings:

	phi = pi v / V + o + (mash - 1) pi / N     m = (2k - (n-1)) / (2 inc) h, inc = a == b ? 1 : 2
	beta = t pi / N, or asin(t B / R) of bins B mm wide where the data are arc-corrected
	end 1 at psi = phi + beta, z = m - (a+b)/4 h;  end 2 at psi = phi - beta + pi, z = m + (a+b)/4 h
	x = R sin psi, y = -R cos psi

   in STIR's axes, which the patient's position turns to R, A, S. Timing position k lies nearer to end 1: dt = -k w.
   The bin's pairs are those of mash views, and of rings (s - d)/2 and (s + d)/2 for d of a ... b that go with
   s = (2k - (n-1)) / inc + Z - 1, both in 0 ... Z - 1; their number is `mult`. */
#include "interfile_lines.h"
#include "interfile_scanner.h"
#include "core/size.h"
#include "file/suffix.h"
#include "scanner/scanner.h"
#include "io/events.h"

enum { CRYSTALS = 200000 }; /* of a scanner with fewer bins than that: a header alone takes no more memory */

struct turn {
	double sin, cos;
};

struct layout {
	struct interfile_bins bins;
	int64_t rings, detectors;
	int64_t mash; /* 0: not a whole number */
	bool arc;
	double radius, pitch, offset, bin, slope; /* mm, rad; bin: of arc-corrected data */
	struct iso_element element;
	struct interfile_scanner scanner;
	double *place;     /* of each crystal, where it is no cylinder; in STIR's axes */
	int64_t *pairs;    /* of the bins of each plane, */
	int64_t *plane;    /* of which this is the first of each segment */
	bool counts, keep; /* values are counts; those below 0 stay */
	int sign[3];
	bool position_known;
	struct turn *phi, *beta; /* of each view, of each tangential position */
	float *dt_ps;            /* of each TOF bin */
};

/* ---- the header ---- */

static int get_scanner(struct layout *l, const struct iso_interfile *h)
{
	const char *corrections = iso_interfile_find(h, "applied corrections", 0);
	struct interfile_scanner *s = &l->scanner;
	int st = iso_interfile_scanner(s, h);

	if (st) return st;
	l->rings = s->rings;
	l->detectors = s->detectors;
	l->radius = s->radius;
	l->pitch = s->pitch;
	l->offset = s->offset;
	l->bin = s->bin;
	l->arc = !corrections || iso_interfile_has(corrections, "arc correction") ||
	         iso_interfile_has(corrections, "arc corrected");
	l->mash = l->detectors % (2 * l->bins.views) ? 0 : l->detectors / (2 * l->bins.views);
	return ISO_OK;
}

/* Bins of a scanner that is no cylinder are crystal pairs, one each: a mean line would miss the crystals. */
static int check_pairs(const struct layout *l, const struct iso_interfile *h)
{
	const struct interfile_bins *b = &l->bins;

	if (l->arc || 2 * b->views != l->detectors)
		return iso_refuse(h->path,
		                  "%" PRId64
		                  " views%s; a BlocksOnCylindrical or Generic scanner needs %" PRId64
		                  " views, half its detectors, without arc correction",
		                  b->views, l->arc ? ", arc-corrected" : "", l->detectors / 2);
	for (int i = 0; i < b->segments; i++) {
		const struct interfile_segment *s = &b->segment[i];

		if (s->least != s->most || s->planes != l->rings - llabs(s->least))
			return iso_refuse(h->path,
			                  "segment %d of %" PRId64
			                  " axial positions, ring differences %" PRId64 " to %" PRId64
			                  "; a BlocksOnCylindrical or Generic scanner needs one ring "
			                  "difference a segment, and all its ring pairs",
			                  i, s->planes, s->least, s->most);
	}
	return ISO_OK;
}

/* Whether the bins fit the scanner. */
static int check_bins(const struct layout *l, const struct iso_interfile *h)
{
	const struct interfile_bins *b = &l->bins;

	if (l->arc && !(l->bin > 0))
		return iso_refuse(h->path, "arc-corrected data need key 'effective central bin size (cm)'");
	if (l->arc && l->bin * (double)(b->tangential / 2) >= l->radius)
		return iso_refuse(h->path,
		                  "%" PRId64 " arc-corrected bins of %g mm reach beyond the radius, %g mm",
		                  b->tangential, l->bin, l->radius);
	if (!l->arc && b->tangential > l->detectors)
		return iso_refuse(h->path, "%" PRId64 " tangential positions of %" PRId64 " detectors a ring",
		                  b->tangential, l->detectors);
	for (int i = 0; i < b->segments; i++) {
		const struct interfile_segment *s = &b->segment[i];

		if (s->planes > 2 * l->rings || s->least <= -l->rings || s->most >= l->rings)
			return iso_refuse(h->path,
			                  "segment %d of %" PRId64
			                  " axial positions, ring differences %" PRId64 " to %" PRId64
			                  ", does not fit %" PRId64 " rings",
			                  i, s->planes, s->least, s->most, l->rings);
	}
	return l->scanner.geometry == INTERFILE_CYLINDER ? ISO_OK : check_pairs(l, h);
}

/* place[j]: of the bin that the file has at j. The list, where there is one, has either these places or timing positions,
   which are negative for half of the bins. */
static int get_order(int64_t *place, int64_t n, const struct iso_interfile *h)
{
	bool *seen = size_alloc(n, sizeof *seen), negative = false;
	int found = 0, st = seen ? ISO_OK : iso_fail_memory(h->path, n * (int64_t)sizeof *seen);

	for (int64_t j = 0; j < n; j++) place[j] = j;
	if (!st && iso_interfile_find(h, "tof bin order", 0)) {
		st = iso_interfile_ints(place, &found, (int)n, h, "tof bin order", 0);
		for (int64_t j = 0; j < n && !st; j++) negative |= place[j] < 0;
		for (int64_t j = 0; j < n && !st; j++) {
			place[j] += negative ? n / 2 : 0;
			if (found != n || place[j] < 0 || place[j] >= n || seen[place[j]])
				st = iso_refuse(h->path,
				                "TOF bin order must name each of the %" PRId64
				                " timing positions once",
				                n);
			else
				seen[place[j]] = true;
		}
	}
	free(seen);
	return st;
}

/* Mashing is 1 where the header does not say, as in STIR; a known scanner's name tells the rest. */
static int get_tof(struct layout *l, struct iso_events_info *i, const struct iso_interfile *h)
{
	struct interfile_scanner *s = &l->scanner;
	int64_t n = l->bins.tof_bins, mashing = 1, *place;
	double bin = s->tof_bin_ps;
	const struct iso_interfile_key keys[] = {
		{ "tof mashing factor", .integer = &mashing, .min = 1, .max = 1e5 },
		{ "size of unmashed tof time bins (ps)", .real = &bin, .min = 1e-3, .max = 1e6,
		  .required = !(s->tof_bin_ps > 0) },
		{ "tof timing resolution (ps)", .real = &i->tof_fwhm_ps, .min = 1e-3, .max = 1e6,
		  .required = !(s->tof_fwhm_ps > 0) },
		{ 0 },
	};

	i->tof_fwhm_ps = n > 1 ? s->tof_fwhm_ps : 0;
	int st = n > 1 ? iso_interfile_take(h, keys) : ISO_OK;

	for (int k = 0; k < 3 && n > 1 && !st; k++)
		if (!iso_interfile_find(h, keys[k].key, 0))
			iso_interfile_tell(s->told, sizeof s->told, "%s is %.7g", keys[k].key,
			                   k == 0 ? (double)mashing : *keys[k].real);
	if (st) return st;
	l->dt_ps = size_alloc(n, sizeof *l->dt_ps);
	place = size_alloc(n, sizeof *place);
	st = l->dt_ps && place ? ISO_OK : iso_fail_memory(h->path, n * (int64_t)sizeof *place);
	if (!st && n > 1) st = get_order(place, n, h);
	for (int64_t j = 0; j < n && n > 1 && !st; j++)
		l->dt_ps[j] = (float)((.5 * (double)(n - 1) - (double)place[j]) * (double)mashing * bin);
	i->has_dt = n > 1;
	i->tof_bin_ps = n > 1 ? (double)mashing * bin : 0;
	free(place);
	return st;
}

/* "F-18", or "^18^Fluorine" as STIR has it, if it is known here. */
static const char *isotope_of(const char *text)
{
	static const struct {
		const char *in_words, *name;
	} words[] = { { "^15^Oxygen", "O-15" },   { "^13^Nitrogen", "N-13" },   { "^11^Carbon", "C-11" },
		      { "^18^Fluorine", "F-18" }, { "^82^Rubidium", "Rb-82" },  { "^68^Gallium", "Ga-68" },
		      { "^64^Copper", "Cu-64" },  { "^89^Zirconium", "Zr-89" }, { "^124^Iodine", "I-124" } };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (iso_same_word(text, words[i].in_words)) return words[i].name;
	return iso_isotope(text);
}

static int get_times(struct iso_events_info *i, const struct iso_interfile *h)
{
	const char *text = iso_interfile_find(h, "radionuclide name", 1), *isotope;
	const struct iso_interfile_key keys[] = {
		{ "image duration (sec)", 1, .real = &i->duration_s, .min = 0, .max = 1e12 },
		{ "image relative start time (sec)", 1, .real = &i->start_s, .min = -1e12, .max = 1e12 },
		{ 0 },
	};

	if (!text) text = iso_interfile_find(h, "isotope name", 0);
	isotope = text ? isotope_of(text) : NULL;
	if (isotope) snprintf(i->isotope, sizeof i->isotope, "%s", isotope);
	return iso_interfile_take(h, keys);
}

/* ---- the scanner ---- */

/* (x, y) of radius 1 at an angle, in STIR's axes. */
static void put_end(double p[3], const struct layout *l, double sine, double cosine, double z)
{
	p[0] = l->sign[0] * l->radius * sine;
	p[1] = l->sign[1] * -l->radius * cosine;
	p[2] = l->sign[2] * z;
}

/* Of a scanner that is no cylinder. */
static int place_crystals(struct layout *l, const struct iso_interfile *h)
{
	int64_t n = 3 * l->rings * l->detectors;

	if (l->scanner.geometry == INTERFILE_CYLINDER) return ISO_OK;
	if (!(l->place = size_alloc(n, sizeof *l->place)))
		return iso_fail_memory("crystals", n * (int64_t)sizeof *l->place);
	return iso_interfile_crystals(l->place, &l->scanner, h);
}

/* All crystals, ring by ring; tangential positions say which are in coincidence. */
static int make_scanner(iso_event_file *f, struct layout *l, const struct iso_interfile *h)
{
	const char *name = iso_interfile_find(h, "scanner type", 0);
	int64_t n = l->rings * l->detectors;
	int64_t most = 4 * l->bins.n > CRYSTALS ? 4 * l->bins.n : CRYSTALS;
	double *pos = n <= most && n <= SCANNER_MAX ? size_alloc(3 * n, sizeof *pos) : NULL;
	double spread = (2 * (double)(l->bins.tangential / 2) + 1) * M_PI / (double)l->detectors;
	int st;

	if (n > most || n > SCANNER_MAX)
		return iso_refuse(h->path, "%" PRId64 " crystals are too many for %" PRId64 " bins", n,
		                  l->bins.n);
	if (!pos) return iso_fail_memory("crystals", 3 * n * (int64_t)sizeof *pos);
	if ((st = place_crystals(l, h))) {
		free(pos);
		return st;
	}
	for (int64_t i = 0; i < n; i++) {
		double psi = 2 * M_PI * (double)(i % l->detectors) / (double)l->detectors + l->offset;
		double ring = (double)(i / l->detectors) - .5 * (double)(l->rings - 1);

		put_end(pos + 3 * i, l, sin(psi), cos(psi), ring * l->pitch);
		for (int a = 0; l->place && a < 3; a++) pos[3 * i + a] = l->sign[a] * l->place[3 * i + a];
	}
	if (!name || iso_same_word(name, "unknown")) name = iso_interfile_find(h, "originating system", 0);
	if (!name || iso_same_word(name, "unknown")) name = iso_base_name(h->path);
	if (!(st = iso_detectors_create(&f->own, name, n, pos))) {
		f->own->pairs.min_angle = l->arc ? 0 : fmax(M_PI - spread, 0);
		f->own->pairs.cos_min_angle = cos(f->own->pairs.min_angle);
		f->own->tof_fwhm_ps = f->info.tof_fwhm_ps;
		f->own->plane_mm = l->place ? 0 : l->pitch / 2;
	}
	free(pos);
	return st;
}

/* ---- tables ---- */

static int make_tables(struct layout *l, const char *path)
{
	int64_t V = l->bins.views, T = l->bins.tangential;
	double mash = l->mash ? (double)l->mash : 1;

	l->phi = size_alloc(V, sizeof *l->phi);
	l->beta = size_alloc(T, sizeof *l->beta);
	if (!l->phi || !l->beta) return iso_fail_memory(path, (V + T) * (int64_t)sizeof *l->phi);
	for (int64_t v = 0; v < V; v++) {
		double phi =
			M_PI * (double)v / (double)V + l->offset + (mash - 1) * M_PI / (double)l->detectors;

		l->phi[v] = (struct turn){ sin(phi), cos(phi) };
	}
	for (int64_t i = 0; i < T; i++) {
		double t = (double)(i - T / 2);
		double beta = l->arc ? asin(t * l->bin / l->radius) : t * M_PI / (double)l->detectors;

		l->beta[i] = (struct turn){ sin(beta), cos(beta) };
	}
	return ISO_OK;
}

/* Crystal pairs of the bins at an axial position. */
static int64_t pairs_of(const struct layout *l, const struct interfile_segment *g, int64_t axial)
{
	int64_t inc = g->least == g->most ? 1 : 2, n = 0;
	int64_t s = (2 * axial - (g->planes - 1)) / inc + l->rings - 1, most = 2 * (l->rings - 1);

	for (int64_t d = g->least; d <= g->most; d++)
		n += (s - d) % 2 == 0 && s - d >= 0 && s - d <= most && s + d >= 0 && s + d <= most;
	return n * (l->mash ? l->mash : 1);
}

static int make_pairs(struct layout *l, const char *path)
{
	const struct interfile_bins *b = &l->bins;
	int64_t planes = 0;

	if (!(l->plane = size_alloc(b->segments, sizeof *l->plane)))
		return iso_fail_memory(path, b->segments * (int64_t)sizeof *l->plane);
	for (int i = 0; i < b->segments; planes += b->segment[i++].planes) l->plane[i] = planes;
	if (!(l->pairs = size_alloc(planes, sizeof *l->pairs)))
		return iso_fail_memory(path, planes * (int64_t)sizeof *l->pairs);
	for (int i = 0; i < b->segments; i++)
		for (int64_t k = 0; k < b->segment[i].planes; k++)
			l->pairs[l->plane[i] + k] = pairs_of(l, &b->segment[i], k);
	return ISO_OK;
}

/* ---- what the values are ---- */

/* The place of a text among words; -1: none was given. */
static int place_of(const char *text, const char *const *words)
{
	for (int i = 0; text && words[i]; i++)
		if (strcmp(text, words[i]) == 0) return i;
	return -1;
}

enum { CLIP, KEEP, REFUSE };

static int check_words(const struct iso_events_options *o, const char *path)
{
	int bins = place_of(o->bins, iso_bins_words);

	if (o->bins && bins < 0)
		return iso_fail(ISO_EARG, "%s: 'bins' is '%.40s', must be counts or line-integrals", path,
		                o->bins);
	if (o->negative && place_of(o->negative, iso_negative_words) < 0)
		return iso_fail(ISO_EARG, "%s: 'negative' is '%.40s', must be clip, keep or refuse", path,
		                o->negative);
	if (o->no_multiplicity && bins == 0)
		return iso_fail(ISO_EARG, "%s: 'bins' counts and 'no-multiplicity' contradict each other",
		                path);
	return ISO_OK;
}

/* Counts or line integrals, and what is said of it where the caller left it open. */
static void judge_meaning(struct layout *l, struct iso_events_info *i, const struct interfile_survey *s,
                          const struct iso_events_options *o)
{
	static const char *const why[] = {
		[INTERFILE_COUNTS] = NULL,
		[INTERFILE_GROWING] =
			"values are counts, because they grow with the number of crystal pairs of a bin, %s, "
			"though they are not whole numbers ('bins' line-integrals changes that)",
		[INTERFILE_INTEGRALS] =
			"values are line integrals, because they are not whole numbers and do not grow with "
			"the number of crystal pairs of a bin, %s ('bins' counts changes that)",
		[INTERFILE_UNCLEAR] =
			"values are counts, though they are not whole numbers and do not clearly grow with "
			"the number of crystal pairs of a bin, %s ('bins' line-integrals changes that)",
	};
	enum interfile_meaning m = iso_interfile_meaning(s);
	char pairs[48];

	l->counts = o->bins ? place_of(o->bins, iso_bins_words) == 0 : m != INTERFILE_INTEGRALS;
	if (o->no_multiplicity) l->counts = false;
	if (o->bins || o->no_multiplicity || !why[m]) return;
	snprintf(pairs, sizeof pairs, "%" PRId64 " to %" PRId64, s->least, s->most);
	iso_interfile_tell(i->assumed, sizeof i->assumed, why[m], pairs);
}

/* Values below 0: taken as 0, kept or refused. */
static int judge_negative(struct layout *l, struct iso_events_info *i, const struct interfile_survey *s,
                          const struct iso_events_options *o, const char *path)
{
	int how = place_of(o->negative, iso_negative_words);
	double bins = s->looked > 0 ? 100 * (double)s->negative / (double)s->looked : 0;
	double share = s->sum > 0 ? -100 * s->below / s->sum : 100;

	l->keep = how == KEEP;
	if (s->negative == 0) return ISO_OK;
	if (how == REFUSE || (how < 0 && share > 100 * INTERFILE_SMALL))
		return iso_refuse(path,
		                  "%.3g %% of its values are negative, %.3g %% of the sum%s; 'negative' clip "
		                  "takes 0 for them, 'negative' keep leaves them",
		                  bins, share,
		                  how == REFUSE ? "" : ", as after a subtraction of randoms or scatter");
	iso_interfile_tell(
		i->warning, sizeof i->warning,
		how == KEEP ? "%.3g %% of the bins are negative, %.3g %% of the sum, and stay so"
			    : "%.3g %% of the bins are negative, %.3g %% of the sum; 0 is taken for them",
		bins, share);
	return ISO_OK;
}

static int judge_values(struct layout *l, struct iso_events_info *i, const struct iso_interfile_data *d,
                        const struct iso_events_options *o)
{
	struct interfile_survey s;
	int st = check_words(o, d->path);

	if (!st) st = iso_interfile_survey(&s, &l->bins, l->pairs, d, l->slope);
	if (st) return st;
	judge_meaning(l, i, &s, o);
	return judge_negative(l, i, &s, o, d->path);
}

/* ---- opening ---- */

static void set_info(struct iso_events_info *i, const struct layout *l)
{
	const struct interfile_bins *b = &l->bins;
	int64_t planes = 0;

	for (int s = 0; s < b->segments; s++) planes += b->segment[s].planes;
	i->n = b->n;
	i->has_count = true;
	i->lists_all = true;
	i->multiplicity = l->counts;
	i->format = "Interfile projection data";
	snprintf(i->layout, sizeof i->layout,
	         "%" PRId64 " planes in %" PRId64 " segments, %" PRId64 " views, %" PRId64
	         " tangential positions%s, %" PRId64 " TOF bins",
	         planes, b->segments, b->views, b->tangential, l->arc ? " (arc-corrected)" : "", b->tof_bins);
	if (l->scanner.told[0]) iso_interfile_tell(i->assumed, sizeof i->assumed, "%s", l->scanner.told);
	if (!l->position_known)
		iso_interfile_tell(i->assumed, sizeof i->assumed, "the patient lies head first, supine");
}

static int open_bins(iso_event_file *f, const struct iso_interfile *h, const struct iso_events_options *o)
{
	struct layout *l = f->layout;
	struct iso_interfile_data d;
	int st;

	if ((st = iso_interfile_bins(&l->bins, h)) || (st = get_scanner(l, h)) || (st = check_bins(l, h)) ||
	    (st = get_tof(l, &f->info, h)) || (st = get_times(&f->info, h)) ||
	    (st = iso_interfile_signs(l->sign, &l->position_known, h)) ||
	    (st = iso_interfile_values_of(&d, &l->slope, &l->bins, h)) ||
	    (st = iso_event_file_records(f, d.path)) || (st = make_tables(l, h->path)) ||
	    (st = make_scanner(f, l, h)) || (st = make_pairs(l, h->path)) ||
	    (st = judge_values(l, &f->info, &d, o)))
		return st;
	l->element = d.element;
	f->record = d.element.size;
	f->first = d.offset;
	f->scanner = o->scanner ? o->scanner : f->own;
	set_info(&f->info, l);
	return ISO_OK;
}

static int open_lines(iso_event_file *f, const char *path, const struct iso_events_options *o)
{
	struct iso_interfile h;
	int st;

	if (!(f->layout = calloc(1, sizeof(struct layout))))
		return iso_fail_memory(path, sizeof(struct layout));
	if ((st = iso_interfile_read(&h, path))) return st;
	st = open_bins(f, &h, o);
	iso_interfile_free(&h);
	return st;
}

static void close_lines(iso_event_file *f)
{
	struct layout *l = f->layout;

	if (!l) return;
	free(l->phi);
	free(l->beta);
	free(l->dt_ps);
	free(l->place);
	free(l->pairs);
	free(l->plane);
}

/* ---- bins ---- */

/* Bins of one TOF bin, segment, axial position and view. */
struct row {
	const struct interfile_segment *segment;
	int64_t axial, view, i, tof; /* i: tangential place of the first */
};

static struct row row_of(const struct interfile_bins *b, int64_t number)
{
	int64_t bin = number % b->each, s = 0;

	while (s + 1 < b->segments && b->segment[s + 1].first <= bin) s++;
	const struct interfile_segment *g = &b->segment[s];
	int64_t row = (bin - g->first) / b->tangential;

	return (struct row){ g, b->view_slow ? row % g->planes : row / b->views,
		             b->view_slow ? row / g->planes : row % b->views,
		             (bin - g->first) % b->tangential, number / b->each };
}

/* n lines of a row. */
static void put_row(struct iso_event *v, const struct layout *l, const struct row *r, int64_t n)
{
	const struct interfile_segment *g = r->segment;
	double inc = g->least == g->most ? 1 : 2;
	double m = (double)(2 * r->axial - (g->planes - 1)) / (2 * inc) * l->pitch;
	double tilt = (double)(g->least + g->most) / 4 * l->pitch;
	struct turn a = l->phi[r->view];

	for (int64_t j = 0; j < n; j++) {
		struct turn b = l->beta[r->i + j];
		double p1[3], p2[3];

		put_end(p1, l, a.sin * b.cos + a.cos * b.sin, a.cos * b.cos - a.sin * b.sin, m - tilt);
		put_end(p2, l, a.cos * b.sin - a.sin * b.cos, -a.cos * b.cos - a.sin * b.sin, m + tilt);
		for (int c = 0; c < 3; c++) {
			v[j].p1[c] = (float)p1[c];
			v[j].p2[c] = (float)p2[c];
		}
		v[j].dt_ps = l->dt_ps[r->tof];
	}
}

/* The same of a scanner that is no cylinder: view v, tangential position t are of detectors v + floor(t/2) and
   v - floor((t+1)/2) + N/2. */
static void put_pairs(struct iso_event *v, const struct layout *l, const struct row *r, int64_t n)
{
	int64_t d = r->segment->least, N = l->detectors;
	int64_t sum = 2 * r->axial - (r->segment->planes - 1) + l->rings - 1;
	const double *ring[2] = { l->place + 3 * N * ((sum - d) / 2), l->place + 3 * N * ((sum + d) / 2) };

	for (int64_t j = 0; j < n; j++) {
		int64_t t = r->i + j - l->bins.tangential / 2, half = (t + 2 * N) / 2 - N;
		int64_t a = (r->view + half + N) % N, b = (r->view - (t - half) + N / 2 + N) % N;

		for (int c = 0; c < 3; c++) {
			v[j].p1[c] = (float)(l->sign[c] * ring[0][3 * a + c]);
			v[j].p2[c] = (float)(l->sign[c] * ring[1][3 * b + c]);
		}
		v[j].dt_ps = l->dt_ps[r->tof];
	}
}

static int put_counts(const iso_event_file *f, iso_real *count, const uint8_t *values, int64_t i, int64_t n)
{
	const struct layout *l = f->layout;

	for (int64_t j = 0; j < n; j++) {
		double v = l->slope * iso_element_get(values + j * f->record, l->element);

		if (!isfinite(v))
			return iso_refuse(f->path, "value %" PRId64 " is %g, must be finite", i + j, v);
		count[j] = (iso_real)(v < 0 && !l->keep ? 0 : v);
	}
	return ISO_OK;
}

static int decode(const iso_event_file *f, struct iso_events *e, int64_t k, const uint8_t *values, int64_t i,
                  int64_t n)
{
	const struct layout *l = f->layout;

	for (int64_t j = 0, m; j < n; j += m) {
		struct row r = row_of(&l->bins, i + j);

		m = n - j < l->bins.tangential - r.i ? n - j : l->bins.tangential - r.i;
		(l->place ? put_pairs : put_row)(e->v + k + j, l, &r, m);
		int64_t pairs = l->pairs[l->plane[r.segment - l->bins.segment] + r.axial];

		for (int64_t c = 0; c < (e->mult ? m : 0); c++) e->mult[k + j + c] = (iso_real)pairs;
	}
	return put_counts(f, e->count + k, values, i, n);
}

const struct iso_event_format iso_interfile_format = {
	.name = "Interfile",
	.open = open_lines,
	.decode = decode,
	.close = close_lines,
};
