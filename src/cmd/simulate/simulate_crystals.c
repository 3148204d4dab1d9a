/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate --crystals: photons through the object and through the crystals of any scanner; events of an image, or
   counts at a point or of a beam. */
#include "simulate.h"

#include "io/format.h"
#include "io/kinds.h"
#include "file/suffix.h"
#include "isotome/crystals.h"
#include "text/json_file.h"

#include <math.h>
#include <stdlib.h>

void simulate_crystals_options(struct opt o[SIMULATE_CRYSTALS_OPTIONS], struct simulate *s)
{
	const struct opt table[SIMULATE_CRYSTALS_OPTIONS] = {
		{ 0, "materials", .text = &s->materials, .value = "LABELS,TABLE", .with = "crystals",
		  .help = "the object in place of --mu: an image of labels and a table of materials, YAML or "
		          "JSON. The table is a list; an entry has label, density in g/cm3, and formula or "
		          "mass "
		          "(shares by element)" },
		{ 0, "beam", .real = s->beam, .count = 2, .value = "PHI,THETA", .min = -90, .max = 90,
		  .alone = true, .absent = "none", .with = "crystals",
		  .help = "simulate no scan; print what parallel photons at these angles, in degrees, leave "
		          "in one "
		          "module. They cover the cell of its middle crystal. --pairs says how many" },
		{ 0, "pairs-only", .flag = &s->pairs_only, .with = "crystals",
		  .help = "do not follow a photon if no coincidence can come of it: the same events, but the "
		          "record has no count of all singles" },
		{ 0 },
	};

	memcpy(o, table, sizeof table);
}

/* ---- options ---- */

static const char *const takes[] = {
	"scanner",
	"image",
	"output",
	"counts",
	"exact",
	"seed",
	"mu",
	"decays",
	"physics",
	"truth",
	"crystals",
	"materials",
	"beam",
	"pairs-only",
	"point",
	"pairs",
	"energy-window",
	"energy-resolution",
	"object-rayleigh",
	NULL,
};

static bool is_taken(const char *name)
{
	for (int i = 0; takes[i]; i++)
		if (strcmp(takes[i], name) == 0) return true;
	return false;
}

/* Whether an option says anything: words, flags that are on, numbers other than 0. */
static bool asks(const struct opt *o, const struct simulate *s)
{
	const bool usual = o->flag == &s->rayleigh || o->flag == &s->reentry;

	if (o->flag) return *o->flag != usual;
	if (o->words && o->text && *o->text) return strcmp(*o->text, o->words[0]) != 0;
	return simulate_asks(o);
}

/* Nothing given is ignored. The last set is that of all commands. */
static int check_options(const struct cmd *c, const struct simulate *s)
{
	static const char *const scan[] = { "output", "counts", "exact",     "decays",
		                            "mu",     "truth",  "materials", NULL };
	const char *given = cmd_given_of(c, scan);
	const bool counts = cmd_given(c, "point") || cmd_given(c, "beam");

	for (const struct opt_set *set = c->sets; set[1].opts; set++)
		for (const struct opt *o = set->opts; o->name && !c->like; o++)
			if (!is_taken(o->name) && asks(o, s))
				return iso_fail(ISO_EARG,
				                "--%s does not go with --crystals without --activity-bq",
				                o->name);
	if (counts && (given || cmd_given(c, "image")))
		return iso_fail(ISO_EARG, "--%s: there is no scan, so leave out %s%s",
		                cmd_given(c, "beam") ? "beam" : "point", given ? "--" : "",
		                given ? given : "the image");
	if (counts && cmd_given(c, "beam") && cmd_given(c, "point"))
		return iso_fail(ISO_EARG, "--beam and --point: give one of them");
	if (counts) return ISO_OK;
	if (s->mu && s->materials) return iso_fail(ISO_EARG, "--mu and --materials: give one of them");
	if (!c->like && cmd_given(c, "decays") && cmd_given(c, "counts"))
		return iso_fail(ISO_EARG, "--decays and --counts: give one of them");
	if (!c->like && cmd_given(c, "pairs"))
		return iso_fail(ISO_EARG,
		                "--pairs is for --point and --beam; a scan has --decays or --counts");
	if (s->out && !iso_kind_to_write(s->out, ISO_EVENTS_FILE))
		return iso_kind_unknown(ISO_EARG, s->out, ISO_EVENTS_FILE, true);
	if (s->truth && !iso_has_suffix(s->truth, ".npy"))
		return iso_fail(ISO_EARG, "--truth %s: what events are is written as .npy", s->truth);
	return ISO_OK;
}

/* ---- a scan ---- */

struct work {
	struct cmd *c;
	const struct simulate *s;
	iso_scanner *scanner;
	struct iso_array image, mu, labels;
	char *materials; /* the table */
	struct iso_crystals p;
	struct iso_crystals_made made;
	iso_event_writer *writer;
};

int simulate_materials(struct iso_array *labels, char **table, struct cmd *c, const char *text)
{
	const char *comma = strrchr(text, ',');
	char *path;
	int st;

	if (!comma || comma == text || !comma[1])
		return iso_fail(ISO_EARG, "--materials %s: must be an image of labels, a comma, and a table",
		                text);
	path = strndup(text, (size_t)(comma - text));
	*table = strdup(comma + 1);
	if (!path || !*table) {
		free(path);
		return iso_fail(ISO_ENOMEM, "simulate: no memory for materials");
	}
	if (!(st = record_read_image(&c->record, labels, path, ISO_NONNEGATIVE, NULL)) &&
	    !(st = record_input(&c->record, path)))
		st = record_input(&c->record, *table);
	free(path);
	return st;
}

static int read_materials(struct work *w)
{
	int st = simulate_materials(&w->labels, &w->materials, w->c, w->s->materials);

	w->p.labels = &w->labels;
	w->p.materials = w->materials;
	return st;
}

static int read_inputs(struct work *w)
{
	struct record *r = &w->c->record;
	const struct simulate *s = w->s;
	struct iso_crystals *p = &w->p;
	int st;

	record_stage(r, "read");
	if ((st = cmd_scanner(w->c, &w->scanner, s->scanner)) ||
	    (st = record_read_image(r, &w->image, s->image, ISO_NONNEGATIVE, NULL)) ||
	    (st = record_input(r, s->image)) ||
	    (s->mu && (st = record_read_mu(r, &w->mu, s->mu, &w->image.grid))) ||
	    (s->materials && (st = read_materials(w))))
		return st;
	record_warn_mu(r, &w->mu, s->mu);
	p->size = sizeof *p;
	p->scanner = w->scanner;
	p->activity = &w->image;
	p->mu = s->mu ? &w->mu : NULL;
	p->rayleigh = s->object_rayleigh;
	p->seed = (uint64_t)s->seed;
	p->counts = s->counts;
	p->decays = cmd_given(w->c, "decays") ? s->decays : 0;
	p->exact = s->exact;
	p->pairs_only = s->pairs_only;
	p->truth = s->truth;
	if (cmd_given(w->c, "energy-window")) memcpy(p->window_kev, s->window_kev, sizeof p->window_kev);
	if (cmd_given(w->c, "energy-resolution")) p->resolution = s->resolution;
	return ISO_OK;
}

/* Counts by name, in the order of struct iso_crystals_made. */
static const struct {
	const char *group, *name;
	bool halved; /* of the two photons of a decay */
} counts_of[] = {
	{ "photons", "met", true },
	{ "photons", "interacted", true },
	{ "photons", "singles", true },
	{ "photons", "several_crystals", true },
	{ "photons", "not_first_crystal", true },
	{ "photons", "outside_window", true },
	{ "pairs", "coincidences", false },
	{ "pairs", "scattered_in_object", false },
	{ "pairs", "unscattered_with_rayleigh", false },
	{ "pairs", "three_or_more", false },
	{ "pairs", "one_module", false },
	{ "pairs", "too_near", false },
	{ "pairs", "pairs_several_crystals", false },
	{ "pairs", "pairs_not_first_crystal", false },
	{ "pairs", "with_prompt", false },
	{ "orders", "0", false },
	{ "orders", "1", false },
	{ "orders", "2", false },
	{ "orders", "3", false },
	{ "orders", "4", false },
	{ "fates", "left", true },
	{ "fates", "in_crystals", true },
	{ "fates", "in_cover_or_gap", true },
	{ "fates", "in_object", true },
	{ "fates", "full", true },
};
enum { COUNTS = sizeof counts_of / sizeof *counts_of };

static json_t *group_json(const struct iso_crystals_made *made, const char *group)
{
	const int64_t *count = &made->met;
	json_t *o = json_object();

	for (int k = 0; k < COUNTS; k++)
		if (strcmp(counts_of[k].group, group) == 0)
			json_object_set_new(o, counts_of[k].name, json_integer((json_int_t)count[k]));
	return o;
}

static int report(struct work *w)
{
	struct record *r = &w->c->record;
	const struct iso_crystals_made *m = &w->made;
	int64_t order[ISO_ORDERS] = { 0 };
	int st = record_result(r, "decays", json_integer((json_int_t)m->decays));

	memcpy(order, m->by_order, sizeof m->by_order);
	if (!st && !w->s->pairs_only) st = record_result(r, "photons", group_json(m, "photons"));
	if (!st && !w->s->pairs_only) st = record_result(r, "fates", group_json(m, "fates"));
	if (!st) st = record_result(r, "pairs", group_json(m, "pairs"));
	if (!st) st = record_result(r, "by_scatters", simulate_orders(order));
	if (!st && (double)m->three_or_more > .01 * (double)m->decays)
		record_warn(r, "%.2g %% of the decays have three or more singles, which make no event",
		            100. * (double)m->three_or_more / (double)m->decays);
	return st;
}

static int scan(struct work *w)
{
	struct cmd *c = w->c;
	const struct simulate *s = w->s;
	struct iso_plan plan;
	int st = read_inputs(w);

	if (st) return st;
	plan = cmd_plan_begin(c);
	iso_crystals_plan(&plan, c->ctx, &w->p);
	if ((st = cmd_plan(c, &plan)) || (st = iso_event_writer_open(&w->writer, s->out, w->scanner, 0)))
		return st;
	record_stage(&c->record, "simulate");
	w->made.size = sizeof w->made;
	st = iso_crystals_simulate(&w->made, c->ctx, &w->p, simulate_append, w->writer);
	record_stage(&c->record, NULL);
	if (st || (st = report(w))) return st;
	cmd_tell_weight(c, s->out, w->scanner);
	return cmd_close_events(c, &w->writer);
}

/* ---- counts at a point, or of a beam ---- */

static json_t *share_json(double n, double of)
{
	double p = n / of;

	return json_pack("{s:f, s:f}", "share", p, "error", sqrt(fmax(p * (1 - p), 0) / of));
}

static json_t *beam_json(const struct iso_crystals_beam *b, const struct iso_crystals_made *made)
{
	json_t *o = json_object();
	const struct {
		const char *name;
		int64_t n;
	} shares[] = { { "interact", made->interacted },
		       { "in_window", b->in_window },
		       { "several_crystals", b->several_crystals },
		       { "not_first_crystal", b->not_first_crystal },
		       { "full_energy", b->full_energy },
		       { "more_than_one_single", b->more_than_one_single } };

	for (size_t k = 0; k < sizeof shares / sizeof *shares; k++)
		json_object_set_new(o, shares[k].name, share_json((double)shares[k].n, (double)made->decays));
	json_object_set_new(o, "mean_first_depth_mm", json_real(b->first_depth_mm));
	json_object_set_new(o, "u_mean_rms_mm",
	                    json_pack("[f, f]", b->u_mean_rms_mm[0], b->u_mean_rms_mm[1]));
	json_object_set_new(o, "v_mean_rms_mm",
	                    json_pack("[f, f]", b->v_mean_rms_mm[0], b->v_mean_rms_mm[1]));
	return o;
}

/* Shares of decays; of photons the mean of both. */
static json_t *point_json(const struct iso_crystals_made *made)
{
	const int64_t *count = &made->met;
	json_t *o = json_object();

	for (int k = 0; k < COUNTS; k++)
		if (strcmp(counts_of[k].group, "orders") != 0)
			json_object_set_new(o, counts_of[k].name,
			                    share_json((counts_of[k].halved ? .5 : 1) * (double)count[k],
			                               (double)made->decays));
	return o;
}

static int print_counts(const struct cmd *c, json_t *o)
{
	const char *name;
	json_t *v;
	char *text;

	if (c->json) {
		text = iso_json_text(o, JSON_INDENT(2));
		if (!text) return iso_fail(ISO_ENOMEM, "simulate: no memory for the results");
		puts(text);
		free(text);
		return CMD_DONE;
	}
	json_object_foreach (o, name, v) {
		if (json_is_object(v))
			printf("%-28s %9.5f %% +- %.5f\n", name,
			       100 * json_number_value(json_object_get(v, "share")),
			       100 * json_number_value(json_object_get(v, "error")));
		else if (json_is_array(v))
			printf("%-28s %9.5f, %.5f\n", name, json_number_value(json_array_get(v, 0)),
			       json_number_value(json_array_get(v, 1)));
		else
			printf("%-28s %9.5f\n", name, json_number_value(v));
	}
	return CMD_DONE;
}

static int counts(struct work *w)
{
	const struct simulate *s = w->s;
	const bool beam = cmd_given(w->c, "beam");
	struct iso_crystals_beam b = { .size = sizeof b };
	struct iso_crystals_point p = { .size = sizeof p,
		                        .phi_deg = s->beam[0],
		                        .theta_deg = s->beam[1],
		                        .beam_kev = beam ? 510.99895 : 0,
		                        .n = llround(s->pairs),
		                        .seed = (uint64_t)s->seed };
	struct iso_plan plan = { 0 };
	json_t *o;
	int st;

	memcpy(p.at, s->point, sizeof p.at);
	if (cmd_given(w->c, "energy-window")) memcpy(p.window_kev, s->window_kev, sizeof p.window_kev);
	if (cmd_given(w->c, "energy-resolution")) p.resolution = s->resolution;
	if ((st = iso_scanner_read(&w->scanner, s->scanner))) return st;
	p.scanner = w->p.scanner = w->scanner;
	iso_crystals_plan(&plan, w->c->ctx, &w->p);
	w->made.size = sizeof w->made;
	if ((st = cmd_plan(w->c, &plan)) || (st = iso_crystals_count(&w->made, &b, w->c->ctx, &p))) return st;
	term_clear(&w->c->term);
	o = beam ? beam_json(&b, &w->made) : point_json(&w->made);
	st = print_counts(w->c, o);
	json_decref(o);
	return st;
}

int simulate_crystals(struct cmd *c, const struct simulate *s)
{
	struct work w = { .c = c, .s = s };
	const bool alone = cmd_given(c, "point") || cmd_given(c, "beam");
	int st;

	c->cpu_only = false;
	if (!s->scanner)
		return iso_fail(ISO_EARG, "simulate: SCANNER is missing; see isotome simulate --help");
	if ((st = check_options(c, s)) ||
	    (!alone &&
	     ((st = cmd_check(c, s->out, iso_events_write_check)) || (st = cmd_check_array(c, s->truth)))) ||
	    (st = cmd_begin(c)))
		return st;
	st = alone ? counts(&w) : scan(&w);
	iso_event_writer_free(w.writer);
	iso_array_free(&w.image);
	iso_array_free(&w.mu);
	iso_array_free(&w.labels);
	free(w.materials);
	iso_scanner_free(w.scanner);
	return st;
}
