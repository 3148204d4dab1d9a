/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate for two panels: a phantom or image seen through photon transport, as a histogram
   of LORs and, if asked for, as a list of events. */
#include "simulate.h"

#include "core/poisson.h"
#include "core/progress.h"
#include "core/size.h"
#include "io/format.h"
#include "physics/panel_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	PIECE = 1 << 22,   /* decays at a time, at most */
	RANDOMS = 1 << 16, /* randoms made ahead */
	LIST = 1 << 16,    /* events of the list in memory */
	PILOT = 1 << 19,   /* decays that tell the rates */
	SAMPLES = 5,       /* an axis, in voxels that a phantom's surface crosses */
};

#define POISSON_HISTORY (1ull << 62) /* beyond those of decays */

/* ---- options ---- */

void simulate_panels_options(struct opt o[SIMULATE_PANELS_OPTIONS], struct simulate_panels *p)
{
	const struct opt table[SIMULATE_PANELS_OPTIONS] = {
		{ 0, "physics", .flag = &p->physics,
		  .help = "by photon transport: photoelectric, Compton, Rayleigh, crystals and gaps, "
		          "energy window and readout" },
		{ 0, "point", .real = p->point, .count = 3, .value = "X,Y,Z", .alone = true, .absent = "none",
		  .help = "no scan: print the share of decays at this point that is recorded, for every "
		          "readout and window" },
		{ 0, "pairs", .real = &p->pairs, .value = "N", .min = 1, .max = 1e13,
		  .help = "decays for --point" },
		{ 0, "decays", .real = &p->decays, .value = "N", .min = 1, .max = 1e13,
		  .absent = "what --counts takes", .help = "expected number of decays, instead of --counts" },
		{ 0, "list", .text = &p->list, .file = OPT_WRITES, .value = "FILE",
		  .help = "also the events one by one (.lmdT or .npy)" },
		{ 0, "randoms-by-rate", .flag = &p->by_rate,
		  .help = "randoms from the rates of --duration-s and the scanner's coincidence_ns" },
		{ 0, "centroid", .flag = &p->centroid,
		  .help = "place a hit at the mean of its deposits, not at the largest" },
		{ 0, "first-layer", .flag = &p->first_layer,
		  .help = "the layer of a hit is that of its first interaction" },
		{ 0, "acollinearity", .flag = &p->acollinearity, .help = "of 0.5 degrees FWHM" },
		{ 0, "positron", .text = &p->positron, .value = "NAME",
		  .help = "with the positron range in water of F-18, C-11, O-15 or Ga-68" },
		{ 0, "rayleigh", .flag = &p->rayleigh, .help = "Rayleigh scatter; --no-rayleigh: none" },
		{ 0, "reentry", .flag = &p->reentry,
		  .help = "photons that leave a head may enter the other; --no-reentry: are lost" },
		{ 0 },
	};

	p->pairs = 1e7;
	p->rayleigh = p->reentry = true;
	memcpy(o, table, sizeof table);
}

int simulate_panels_refuse(const struct opt *o, const struct simulate_panels *p)
{
	for (; o->name; o++) {
		bool usual = o->flag == &p->rayleigh || o->flag == &p->reentry;

		if (o->flag ? *o->flag != usual : simulate_asks(o) && o->real != &p->pairs)
			return iso_fail(ISO_EARG, "--%s is for scanners of kind panels", o->name);
	}
	return ISO_OK;
}

struct iso_transport_options simulate_transport(const struct simulate_panels *p)
{
	return (struct iso_transport_options){
		.centroid = p->centroid,
		.first_layer = p->first_layer,
		.no_rayleigh = !p->rayleigh,
		.no_reentry = !p->reentry,
		.acollinearity = p->acollinearity,
		.positron = p->positron,
		.seed = p->seed,
	};
}

/* What other kinds of scanners are asked for; nothing given is ignored. */
static int check_others(const struct opt_set *sets)
{
	static const char *const other[] = {
		"mu", "norm", "tof-fwhm-ps", "scatters", "singles", "isotope", "half-life-s", "noise",
	};

	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		if (simulate_asks(opt_find(sets, other[i])))
			return iso_fail(ISO_EARG, "--%s is not for a scanner of kind panels", other[i]);
	return ISO_OK;
}

static int check_point(const struct opt_set *sets)
{
	static const char *const scan[] = {
		"output",  "counts",          "exact",   "decays",     "list",
		"randoms", "randoms-by-rate", "delayed", "duration-s",
	};

	for (size_t i = 0; i < sizeof scan / sizeof *scan; i++)
		if (opt_find(sets, scan[i])->given)
			return iso_fail(ISO_EARG, "--point: there is no scan, so leave out --%s", scan[i]);
	if (opt_find(sets, "image")->given)
		return iso_fail(ISO_EARG, "--point: there is no scan, so leave out the image");
	return ISO_OK;
}

static int check_scan(const struct cmd *c, const struct opt_set *sets, const struct simulate_panels *p)
{
	if (!c->like && opt_find(sets, "decays")->given && opt_find(sets, "counts")->given)
		return iso_fail(ISO_EARG, "--decays and --counts: give one of them");
	if (!c->like && opt_find(sets, "pairs")->given)
		return iso_fail(ISO_EARG, "--pairs is for --point; a scan has --decays or --counts");
	if (p->by_rate && p->randoms > 0)
		return iso_fail(ISO_EARG, "--randoms and --randoms-by-rate: give one of them");
	if (p->by_rate != (p->duration_s > 0))
		return iso_fail(ISO_EARG, "--randoms-by-rate and --duration-s need each other");
	if (p->delayed && !p->by_rate && !(p->randoms > 0))
		return iso_fail(ISO_EARG, "--delayed needs --randoms above 0, or --randoms-by-rate");
	if (!(p->randoms < 1))
		return iso_fail(ISO_EARG, "--randoms %g: must leave room for trues", p->randoms);
	return ISO_OK;
}

static int check_outputs(const struct cmd *c, const struct simulate_panels *p)
{
	int st = cmd_check_array(c, p->out);

	if (!st && p->delayed) st = cmd_check_array(c, p->delayed);
	if (!st && p->list) st = iso_events_write_check(p->list, c->force);
	return st;
}

/* ---- what a scan needs ---- */

struct work {
	struct cmd *c;
	const struct simulate_panels *p;
	iso_scanner *scanner;
	const struct iso_panels *panels;
	struct iso_array image, lors;
	struct iso_panel_scan scan;
	struct panel_event *e, *random; /* PIECE and RANDOMS of them */
	struct iso_events list;         /* room for LIST */
	iso_event_writer *writer;
	double share;          /* of randoms among the events */
	int64_t trues, decays; /* wanted; 0: as the other one says */
	int64_t n_randoms;     /* wanted; with decays: so far */
	int64_t done, done_decays, done_randoms;
	int64_t ahead; /* randoms made */
};

static bool is_image(const char *path)
{
	static const char *const image[] = { ".nii", ".nii.gz", ".npy", ".raw" };

	for (size_t i = 0; i < sizeof image / sizeof *image; i++)
		if (iso_has_suffix(path, image[i])) return true;
	return false;
}

/* Counted as an image that was read; with --dry-run it is not made either. */
static int raster(struct work *w, const iso_phantom *phantom, const struct iso_grid *g)
{
	int64_t bytes = iso_grid_voxels(g) * (int64_t)sizeof(iso_real);
	int st;

	w->c->record.inputs += bytes;
	w->image.n = iso_grid_voxels(g);
	if (w->c->dry_run) return ISO_OK;
	if ((st = iso_memory_check(w->c->ctx, "image", bytes)) || (st = iso_array_on_grid(&w->image, g)))
		return st;
	return iso_phantom_raster(w->image.v, NULL, w->c->ctx, phantom, g, SAMPLES);
}

/* A phantom becomes an image on the scanner's grid. */
static int read_image(struct work *w)
{
	const char *name = w->p->image;
	iso_phantom *phantom = NULL;
	struct iso_grid g;
	int st;

	iso_panels_grid(&g, w->panels);
	if (is_image(name) && (st = record_input(&w->c->record, name))) return st;
	if (is_image(name)) return cmd_read_map(w->c, &w->image, name, &g);
	if ((st = iso_phantom_create(&phantom, name, NULL))) return st;
	if (strpbrk(name, "./")) st = record_input(&w->c->record, name);
	if (!st) st = raster(w, phantom, &g);
	iso_phantom_free(phantom);
	return st;
}

static int plan(struct cmd *c, const struct work *w)
{
	struct iso_plan p = cmd_plan_begin(c);

	iso_plan_add(&p, "histogram of LORs", iso_panels_lors(w->panels), sizeof(iso_real), false);
	iso_plan_add(&p, "events", PIECE + RANDOMS, sizeof(struct panel_event), false);
	iso_plan_add(&p, "emission tables", w->image.n, sizeof(struct iso_emission_slot) + 12, false);
	if (w->p->list) iso_plan_add(&p, "list", LIST, sizeof(struct iso_event) + 8, false);
	if (iso_ctx_is_cuda(c->ctx)) {
		iso_plan_add(&p, "events on the device", 2 * PIECE, sizeof(struct panel_event), true);
		iso_plan_add(&p, "emission table on the device", w->image.n, sizeof(struct iso_emission_slot),
		             true);
	}
	return cmd_plan(c, &p);
}

/* (Ncx, Ncz, Ncx, Ncz), upper crystal first; with layers two more axes before. */
static int make_histogram(struct work *w)
{
	const int64_t x = w->panels->crystals[0], z = w->panels->crystals[1], l = w->panels->layers;
	const int64_t dim[6] = { l, l, x, z, x, z };
	int st = iso_array_create(&w->lors, l > 1 ? 6 : 4, l > 1 ? dim : dim + 2);

	if (!st) strcpy(w->lors.unit, "counts");
	return st;
}

static int make_list(struct work *w, int64_t n)
{
	w->list.v = calloc(LIST, sizeof *w->list.v);
	w->list.crystal = calloc(LIST, 2 * sizeof *w->list.crystal);
	if (!w->list.v || !w->list.crystal)
		return iso_fail_memory("list of events", LIST * (int64_t)(sizeof *w->list.v + 8));
	return iso_event_writer_open(&w->writer, w->p->list, w->scanner, n);
}

static int prepare(struct work *w)
{
	const struct iso_transport_options o = simulate_transport(w->p);
	struct cmd *c = w->c;
	int st;

	if ((st = iso_scanner_read(&w->scanner, w->p->scanner)) ||
	    (st = record_input(&c->record, w->p->scanner)))
		return st;
	w->panels = iso_scanner_panels(w->scanner);
	if ((st = read_image(w)) || (st = plan(c, w)) || (st = make_histogram(w)) ||
	    (st = iso_panel_scan_create(&w->scan, c->ctx, w->panels, &o, &w->image)))
		return st;
	iso_array_free(&w->image);
	w->e = size_alloc(PIECE, sizeof *w->e);
	w->random = size_alloc(RANDOMS, sizeof *w->random);
	if (!w->e || !w->random) return iso_fail_memory("events", (PIECE + RANDOMS) * (int64_t)sizeof *w->e);
	return ISO_OK;
}

/* ---- how many ---- */

static int64_t number(const struct work *w, double mean, uint64_t which)
{
	return w->p->exact ? llround(mean) : iso_poisson(mean, w->p->seed, POISSON_HISTORY + which);
}

/* Of D decays in T seconds, q D are trues and 2 tau (a D / T) (b D / T) T randoms, with the shares
   a, b, q of decays that hit the upper head, the lower one, both. Trues and randoms together being
   N, D = (sqrt(q^2 + 4 r N) - q) / (2 r), r = 2 tau a b / T. */
static int share_by_rate(struct work *w, double counts)
{
	double tau_s = 1e-9 * w->panels->coincidence, rate[3];
	int st;

	if (!(tau_s > 0))
		return iso_fail(ISO_EARG, "--randoms-by-rate: %s says no coincidence_ns", w->p->scanner);
	if ((st = iso_panel_scan_rates(rate, &w->scan, PILOT))) return st;
	double r = 2 * tau_s * rate[0] * rate[1] / w->p->duration_s, q = rate[2];
	double decays = w->decays > 0 ? w->p->decays : 2 * counts / (sqrt(q * q + 4 * r * counts) + q);

	w->share = r * decays / (q + r * decays);
	return record_result(&w->c->record, "rates",
	                     record_pack("{s:f, s:f, s:f, s:f}", "decays_per_s", decays / w->p->duration_s,
	                                 "singles_upper_per_s", rate[0] * decays / w->p->duration_s,
	                                 "singles_lower_per_s", rate[1] * decays / w->p->duration_s,
	                                 "randoms_share", w->share));
}

static int set_numbers(struct work *w, bool by_decays)
{
	int st;

	w->share = w->p->randoms;
	if (by_decays) w->decays = number(w, w->p->decays, 0);
	if (w->p->by_rate && (st = share_by_rate(w, w->p->counts))) return st;
	if (by_decays) return ISO_OK;
	w->n_randoms = number(w, w->p->counts * w->share, 1);
	w->trues = w->p->exact ? llround(w->p->counts) - w->n_randoms
	                       : number(w, w->p->counts * (1 - w->share), 2);
	return ISO_OK;
}

/* ---- events ---- */

static int flush(struct work *w)
{
	int st = w->list.n > 0 ? iso_event_writer_append(w->writer, &w->list) : ISO_OK;

	w->list.n = 0;
	return st;
}

static int add_to_list(struct work *w, const struct panel_event *e)
{
	const double *pos = iso_scanner_positions(w->scanner);
	uint32_t *crystal = w->list.crystal + 2 * w->list.n;
	struct iso_event *v = w->list.v + w->list.n;

	crystal[0] = e->upper;
	crystal[1] = (uint32_t)(iso_scanner_crystals(w->scanner) / 2) + e->lower;
	for (int a = 0; a < 3; a++) {
		v->p1[a] = (float)pos[3 * (size_t)crystal[0] + (size_t)a];
		v->p2[a] = (float)pos[3 * (size_t)crystal[1] + (size_t)a];
	}
	return ++w->list.n == LIST ? flush(w) : ISO_OK;
}

/* Index (((a L + b) face + u) face + l) of crystals u, l of the layers a, b. */
static void add_to_histogram(struct work *w, const struct panel_event *e)
{
	uint32_t face = (uint32_t)(w->panels->crystals[0] * w->panels->crystals[1]);
	uint32_t a = e->upper / face, b = e->lower / face;
	int64_t table = a * (int64_t)w->panels->layers + b;

	w->lors.v[(table * face + e->upper % face) * face + e->lower % face] += 1;
}

static int add(struct work *w, const struct panel_event *e)
{
	add_to_histogram(w, e);
	return w->writer ? add_to_list(w, e) : ISO_OK;
}

/* The next random (or delayed) event, from those made ahead. */
static int next_random(const struct panel_event **e, struct work *w, enum panel_kind kind, int64_t wanted)
{
	int64_t i = w->done_randoms % RANDOMS, found;
	int st = ISO_OK;

	if (w->done_randoms == w->ahead) {
		int64_t n = wanted - w->ahead < RANDOMS - i ? wanted - w->ahead : RANDOMS - i;

		st = iso_panel_scan_events(w->random + i, &found, &w->scan, kind, w->ahead, n);
		w->ahead += n;
	}
	*e = w->random + i;
	w->done_randoms++;
	return st;
}

/* n trues of w->e with the randoms that are due, evenly between them. */
static int add_piece(struct work *w, int64_t n, int64_t due)
{
	int64_t all = n + due, wanted = w->done_randoms + due, next = 0;
	int st = ISO_OK;

	for (int64_t k = 0; k < all && !st; k++) {
		const struct panel_event *e = NULL;

		if ((k + 1) * due / all > k * due / all)
			st = next_random(&e, w, PANEL_RANDOMS, wanted);
		else
			e = w->e + next++;
		if (!st) st = add(w, e); /* NOLINT(clang-analyzer-unix.Malloc): the command frees both */
	}
	return st;
}

/* Randoms for n more trues: their share of those still to come, or a number for this piece. */
static int64_t randoms_due(struct work *w, int64_t n)
{
	if (w->trues > 0 || w->decays == 0)
		return (int64_t)llround((double)w->n_randoms * (double)(w->done + n) / (double)w->trues) -
		       w->done_randoms;
	double mean = (double)n * w->share / (1 - w->share);

	return mean > 0 ? number(w, mean, 16 + (uint64_t)w->done_decays) : 0;
}

/* Decays of the next piece: a few times what the trues still wanted may need. */
static int64_t piece_size(const struct work *w)
{
	int64_t left = w->decays > 0 ? w->decays - w->done_decays : 16 * (w->trues - w->done) + 65536;

	return left < PIECE ? left : PIECE;
}

static int one_piece(struct work *w)
{
	int64_t n = piece_size(w), found;
	int st = iso_panel_scan_events(w->e, &found, &w->scan, PANEL_TRUES, w->done_decays, n);

	if (st) return st;
	if (w->trues > 0 && found >= w->trues - w->done) {
		found = w->trues - w->done;
		n = w->e[found - 1].decay + 1;
	}
	st = add_piece(w, found, randoms_due(w, found));
	w->done += found;
	w->done_decays += n;
	if (!st && w->done == 0 && w->decays == 0 && w->done_decays > 1 << 28)
		st = iso_fail(ISO_EINPUT,
		              "simulate: in %" PRId64 " decays there was no coincidence: the "
		              "activity lies outside the scanner's view",
		              w->done_decays);
	return st;
}

static int make_events(struct work *w)
{
	int64_t total = w->decays > 0 ? w->decays : w->trues;
	struct iso_clock clock = iso_clock_start(w->c->ctx, "simulate", 0, total);
	int64_t done = 0;
	int st = ISO_OK;

	while (done < total && !st) {
		st = one_piece(w);
		done = w->decays > 0 ? w->done_decays : w->done;
		if (!st) iso_clock_step(&clock, done, NULL);
	}
	if (!st && w->trues == 0 && w->decays == 0) /* randoms alone, by chance */
		st = add_piece(w, 0, w->n_randoms);
	return st;
}

/* ---- outputs ---- */

static int close_list(struct work *w)
{
	char *text = NULL;
	int st;

	if (!w->writer) return ISO_OK;
	if ((st = flush(w)) || (st = record_text(&w->c->record, &text))) return st;
	st = iso_event_writer_close(w->writer, text);
	w->writer = NULL;
	free(text);
	return st;
}

static int write_prompts(struct work *w)
{
	int st = record_result(&w->c->record, "events",
	                       json_pack("{s:I, s:I, s:I}", "trues", (json_int_t)w->done, "randoms",
	                                 (json_int_t)w->done_randoms, "decays", (json_int_t)w->done_decays));

	if (!st) st = close_list(w);
	return st ? st : cmd_write(w->c, w->p->out, &w->lors);
}

/* As many as there are randoms, or a Poisson number of the same mean; in the prompts' array. */
static int write_delayed(struct work *w)
{
	double mean = (double)w->done * w->share / (1 - w->share);
	int64_t n = w->p->exact ? w->done_randoms : number(w, mean, 3);
	int st = ISO_OK;

	memset(w->lors.v, 0, (size_t)w->lors.n * sizeof *w->lors.v);
	w->done_randoms = w->ahead = 0;
	for (int64_t i = 0; i < n && !st; i++) {
		const struct panel_event *e = NULL;

		st = next_random(&e, w, PANEL_DELAYED, n);
		if (!st) add_to_histogram(w, e);
	}
	if (!st) st = record_result(&w->c->record, "delayed", json_integer((json_int_t)n));
	return st ? st : cmd_write(w->c, w->p->delayed, &w->lors);
}

static int run(struct work *w, const struct opt_set *sets)
{
	struct cmd *c = w->c;
	int st;

	record_stage(&c->record, "read");
	if ((st = prepare(w)) || (st = set_numbers(w, opt_find(sets, "decays")->given)) ||
	    (w->p->list && (st = make_list(w, w->trues + w->n_randoms))))
		return st;
	record_stage(&c->record, "simulate");
	st = make_events(w);
	record_stage(&c->record, NULL);
	if (st || (st = write_prompts(w)) || (w->p->delayed && (st = write_delayed(w)))) return st;
	return cmd_report(c);
}

int simulate_panels(struct cmd *c, const struct opt_set *sets, const struct simulate_panels *p)
{
	bool point = opt_find(sets, "point")->given;
	struct work w = { .c = c, .p = p };
	int st;

	if (!p->physics)
		return iso_fail(ISO_EARG, "%s: two panels are simulated by photon transport: add --physics",
		                p->scanner);
	if ((st = check_others(sets)) || (st = point ? check_point(sets) : check_scan(c, sets, p)) ||
	    (!point && (st = check_outputs(c, p))))
		return st;
	c->cpu_only = false;
	if ((st = cmd_begin(c))) return st;
	st = point ? simulate_point(c, p) : run(&w, sets);
	iso_event_writer_free(w.writer);
	iso_events_free(&w.list);
	iso_panel_scan_free(&w.scan);
	iso_array_free(&w.image);
	iso_array_free(&w.lors);
	iso_scanner_free(w.scanner);
	free(w.e);
	free(w.random);
	return st;
}
