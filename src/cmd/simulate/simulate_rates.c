/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate --crystals --activity-bq: a scan at a given activity, with singles, prompts, randoms and delayeds. */
#include "simulate.h"

#include "file/suffix.h"
#include "io/kinds.h"
#include "isotome/activity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const dead_words[] = { "non-paralysable", "paralysable", NULL };
static const char *const multiples_words[] = { "winner", "all", "winner-if-good", "only-one", "none", NULL };
static const char *const sorter_words[] = { "single", "multi", NULL };

#define ACOLLINEARITY_DEG .5

void simulate_rates_options(struct opt o[SIMULATE_RATES_OPTIONS], struct simulate_rates *s)
{
	const struct opt table[SIMULATE_RATES_OPTIONS] = {
		{ 0, "activity-bq", .real = &s->activity_bq, .value = "BQ", .min = 0, .max = 1e13,
		  .help = "activity of the whole image at the start of the scan, decays a second. It needs "
		          "--crystals and --duration-s. Every decay, pulse and single of the scan is "
		          "simulated" },
		{ 0, "positron-range", .flag = &s->range,
		  .help = "positrons travel through the density of the object before they annihilate; it "
		          "needs "
		          "--isotope" },
		{ 0, "range-table", .text = &s->range_table, .file = OPT_READS, .value = "FILE",
		  .help = "--positron-range by a table: r in mm, and the share of positrons within r in "
		          "water" },
		{ 0, "dead-ns", .real = &s->dead_ns, .value = "NS", .min = 0, .max = 1e9,
		  .absent = "the scanner's", .help = "dead time of a readout unit after each pulse" },
		{ 0, "dead", .text = &s->dead, .words = dead_words, .value = "MODEL",
		  .absent = "the scanner's", .help = "whether pulses in the dead time prolong it" },
		{ 0, "pileup-ns", .real = &s->pileup_ns, .value = "NS", .min = 0, .max = 1e9,
		  .absent = "the scanner's",
		  .help = "pulses of a readout unit up to this after the first become one" },
		{ 0, "coincidence-ns", .real = &s->coincidence_ns, .value = "NS", .min = 0, .max = 1e6,
		  .absent = "the scanner's", .help = "two singles up to this apart are in coincidence" },
		{ 0, "sorter", .text = &s->sorter, .words = sorter_words, .value = "WINDOWS",
		  .absent = "single",
		  .help = "which singles open a window: single, those in no open window; multi, all. With "
		          "single and "
		          "--multiples all a stream of S singles a second gives (1 + S tau/2)/(1 + S tau) of "
		          "the randoms "
		          "S^2 tau" },
		{ 0, "multiples", .text = &s->multiples, .words = multiples_words, .value = "POLICY",
		  .absent = "winner",
		  .help = "pairs of three or more singles in a window: winner, the good pair of the largest "
		          "energy; all "
		          "good pairs; winner-if-good, the pair of the largest energy if it is good; "
		          "only-one, the good "
		          "pair if there is one; none" },
		{ 0, "delay-ns", .real = &s->delay_ns, .value = "NS", .min = 0, .max = 1e7,
		  .absent = "the scanner's, or 10 windows + 100",
		  .help = "delay of the window of --delayed" },
		{ 0, "trigger-kev", .real = &s->trigger_kev, .value = "KEV", .min = 0, .max = 1e4,
		  .absent = "the scanner's", .help = "pulses below do not exist" },
		{ 0, "single-fwhm-ps", .real = &s->single_fwhm_ps, .value = "PS", .min = 0, .max = 1e6,
		  .absent = "the scanner's", .help = "time resolution of a single" },
		{ 0, "prompt-kev", .real = s->prompt_kev, .count = 2, .value = "LOW,HIGH", .min = 0,
		  .max = 1e4, .absent = "the scanner's",
		  .help = "energies of the prompt photon. Such singles make no "
		          "pairs, and triples with a pair" },
		{ 0, "singles-list", .text = &s->singles_list, .file = OPT_WRITES, .value = "FILE",
		  .help = "also write every single (.npy): time, decay, crystal, energy" },
		{ 0, "triples", .text = &s->triples, .file = OPT_WRITES, .value = "FILE",
		  .help = "also write groups of three singles (.npy)" },
		{ 0, "hits", .text = &s->hits, .file = OPT_WRITES, .value = "FILE",
		  .help = "also write what each photon left in each crystal (.npy), on the CPU alone" },
		{ 0 },
	};

	memcpy(o, table, sizeof table);
}

/* ---- inputs ---- */

struct inputs {
	iso_scanner *scanner;
	struct iso_array image, mu, labels, eff;
	char *materials; /* the table */
	enum iso_dead_time dead;
	struct iso_activity_scan scan;
};

static void free_inputs(struct inputs *in)
{
	iso_array_free(&in->image);
	iso_array_free(&in->mu);
	iso_array_free(&in->labels);
	free(in->materials);
	iso_array_free(&in->eff);
	iso_scanner_free(in->scanner);
}

static int read_efficiency(struct cmd *c, struct inputs *in, const char *path)
{
	int64_t n = iso_scanner_crystals(in->scanner);
	int st = record_read(&c->record, &in->eff, path, ISO_NONNEGATIVE);

	if (!st && in->eff.n != n)
		st = iso_fail(ISO_EINPUT,
		              "%s: %" PRId64 " values, must be one for each of the %" PRId64
		              " crystals of %s",
		              path, in->eff.n, n, iso_scanner_name(in->scanner));
	return st ? st : record_input(&c->record, path);
}

static int word_of(const char *word, const char *const *words)
{
	for (int k = 0; word && words[k]; k++)
		if (strcmp(word, words[k]) == 0) return k;
	return 0;
}

/* 0 stands for the scanner's value in the library, and a number below for none. */
static double given(const struct cmd *c, const char *name, double value)
{
	return !cmd_given(c, name) ? 0 : value > 0 ? value : -1;
}

static void set_scan(struct inputs *in, const struct cmd *c, const struct simulate *s)
{
	const struct simulate_rates *q = &s->rates;
	struct iso_activity_scan *p = &in->scan;

	*p = (struct iso_activity_scan){
		.size = sizeof *p,
		.scanner = in->scanner,
		.activity = &in->image,
		.mu = s->mu ? &in->mu : NULL,
		.labels = s->materials ? &in->labels : NULL,
		.materials = in->materials,
		.rayleigh = s->object_rayleigh,
		.activity_bq = q->activity_bq,
		.duration_s = s->duration_s,
		.isotope = s->isotope,
		.half_life_s = s->half_life_s,
		.positron_range = q->range,
		.range_table = q->range_table,
		.acollinearity_deg = s->transport.acollinearity ? ACOLLINEARITY_DEG : 0,
		.eff = in->eff.v,
		.seed = (uint64_t)s->seed,
		.resolution = given(c, "energy-resolution", s->resolution),
		.trigger_kev = given(c, "trigger-kev", q->trigger_kev),
		.single_fwhm_ps = given(c, "single-fwhm-ps", q->single_fwhm_ps),
		.dead_ns = given(c, "dead-ns", q->dead_ns),
		.pileup_ns = given(c, "pileup-ns", q->pileup_ns),
		.coincidence_ns = given(c, "coincidence-ns", q->coincidence_ns),
		.delay_ns = given(c, "delay-ns", q->delay_ns),
		.dead_time = q->dead ? &in->dead : NULL,
		.sorter = (enum iso_sorter_windows)word_of(q->sorter, sorter_words),
		.multiples = (enum iso_multiples)word_of(q->multiples, multiples_words),
		.truth = s->truth,
		.singles_list = q->singles_list,
		.triples = q->triples,
		.hits = q->hits,
	};
	in->dead = (enum iso_dead_time)word_of(q->dead, dead_words);
	if (cmd_given(c, "tof-fwhm-ps") && !cmd_given(c, "single-fwhm-ps"))
		p->single_fwhm_ps = given(c, "tof-fwhm-ps", s->tof_fwhm_ps / sqrt(2));
	if (cmd_given(c, "energy-window")) memcpy(p->window_kev, s->window_kev, sizeof p->window_kev);
	if (cmd_given(c, "prompt-kev")) memcpy(p->prompt_kev, q->prompt_kev, sizeof p->prompt_kev);
}

static int read_inputs(struct cmd *c, struct inputs *in, const struct simulate *s)
{
	int st;

	if ((st = cmd_scanner(c, &in->scanner, s->scanner)) ||
	    (st = record_read_image(&c->record, &in->image, s->image, ISO_NONNEGATIVE, NULL)) ||
	    (st = record_input(&c->record, s->image)) ||
	    (s->mu && (st = record_read_mu(&c->record, &in->mu, s->mu, &in->image.grid))) ||
	    (s->materials && (st = simulate_materials(&in->labels, &in->materials, c, s->materials))) ||
	    (s->norm && (st = read_efficiency(c, in, s->norm))) ||
	    (s->isotope && !iso_isotope(s->isotope) && strpbrk(s->isotope, "./") &&
	     (st = record_input(&c->record, s->isotope))))
		return st;
	record_warn_mu(&c->record, &in->mu, s->mu);
	set_scan(in, c, s);
	return ISO_OK;
}

/* ---- the record ---- */

#define I(x) (json_int_t)(x)

/* T^2 / (T + S + k R) of rates a second. */
static double necr(double trues, double all, double randoms)
{
	double sum = all + randoms;

	return sum > 0 ? trues * trues / sum : 0;
}

static int report_rates(struct cmd *c, double t, const struct iso_activity_counts *n)
{
	double trues = (double)n->trues / t, randoms = (double)n->randoms / t,
	       prompts = (double)n->prompts / t;

	return record_result(&c->record, "rates",
	                     record_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "decays_per_s",
	                                 (double)n->decays / t, "singles_per_s", (double)n->singles / t,
	                                 "prompts_per_s", prompts, "trues_per_s", trues, "randoms_per_s",
	                                 randoms, "delayeds_per_s", (double)n->delayeds / t, "necr_per_s",
	                                 necr(trues, prompts, 0), "necr_2r_per_s",
	                                 necr(trues, prompts, randoms)));
}

static int report_photons(struct cmd *c, const struct iso_activity_counts *n)
{
	int st = record_result(&c->record, "decays",
	                       record_pack("{s:I, s:I, s:I}", "decays", I(n->decays), "positrons",
	                                   I(n->positrons), "escaped", I(n->escaped)));

	return st ? st
	          : record_result(&c->record, "photons",
	                          record_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "emitted",
	                                      I(n->photons), "met_a_module", I(n->met), "interacted_in_one",
	                                      I(n->interacted), "left", I(n->left), "absorbed_in_crystals",
	                                      I(n->in_crystals), "absorbed_in_cover_or_gap", I(n->in_passive),
	                                      "absorbed_in_object", I(n->in_object), "with_joined_deposits",
	                                      I(n->joined)));
}

static int report(struct cmd *c, double duration_s, const struct iso_activity_counts *n)
{
	int st = record_result(&c->record, "events",
	                       record_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "trues", I(n->trues), "scatters",
	                                   I(n->scatters), "randoms", I(n->randoms), "with_prompt",
	                                   I(n->with_prompt), "piled", I(n->piled_pairs), "decays",
	                                   I(n->decays)));

	if (!st) st = report_photons(c, n);
	if (!st)
		st = record_result(&c->record, "singles",
		                   record_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "pulses",
		                               I(n->pulses), "piled_up", I(n->piled), "below_trigger",
		                               I(n->below_trigger), "lost_to_dead_time", I(n->dead),
		                               "lost_to_efficiency", I(n->inefficient), "outside_window",
		                               I(n->outside_window), "singles", I(n->singles),
		                               "in_prompt_window", I(n->in_prompt_window)));
	if (!st)
		st = record_result(&c->record, "coincidences",
		                   record_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "groups_of_1",
		                               I(n->groups[0]), "groups_of_2", I(n->groups[1]), "groups_of_3",
		                               I(n->groups[2]), "groups_of_more", I(n->groups[3]), "prompts",
		                               I(n->prompts), "delayeds", I(n->delayeds), "triples",
		                               I(n->triples)));
	return st ? st : report_rates(c, duration_s, n);
}

static void warn(struct cmd *c, const struct iso_activity_scan *p, const struct iso_activity_counts *n)
{
	double seen = (double)(n->pulses - n->piled - n->below_trigger);
	double many = (double)(n->groups[2] + n->groups[3]), groups = (double)n->groups[1] + many;

	if (seen > 0 && (double)n->dead > .5 * seen)
		record_warn(
			&c->record,
			"dead time loses %.0f %% of the pulses: the activity is too high for this readout",
			100 * (double)n->dead / seen);
	if (n->randoms > 3 * n->trues)
		record_warn(&c->record,
		            "%" PRId64 " randoms and %" PRId64 " trues: more than three times as many",
		            n->randoms, n->trues);
	if (n->escaped > n->positrons / 100)
		record_warn(&c->record, "%.1f %% of the positrons left the object",
		            100. * (double)n->escaped / (double)n->positrons);
	if (p->multiples == ISO_MULTIPLES_NONE && many > .01 * groups)
		record_warn(&c->record,
		            "--multiples none drops %.1f %% of the groups: those of three singles and more",
		            100 * many / groups);
	if (n->highest_kev > 800)
		record_warn(&c->record, "photons of %g keV: cross sections above 800 keV are extrapolated%s",
		            n->highest_kev,
		            n->highest_kev > 1022
		                    ? ", and pair production is left out (1 to 2 % of LSO at 1.7 MeV)"
		                    : "");
}

/* ---- the run ---- */

static int write_singles(struct cmd *c, struct iso_array *singles, const char *path)
{
	return path ? cmd_write(c, path, singles) : ISO_OK;
}

static int run(struct cmd *c, const struct simulate *s)
{
	struct iso_activity_counts counts = { .size = sizeof counts };
	iso_event_writer *events = NULL, *delayed = NULL;
	struct iso_array singles = { 0 };
	struct inputs in = { 0 };
	struct iso_plan plan;
	int64_t crystals;
	int st;

	record_stage(&c->record, "read");
	if ((st = read_inputs(c, &in, s))) goto done;
	plan = cmd_plan_begin(c);
	iso_activity_scan_plan(&plan, c->ctx, &in.scan);
	if ((st = cmd_plan(c, &plan))) goto done;
	crystals = iso_scanner_crystals(in.scanner);
	if ((s->singles && (st = iso_array_create(&singles, 1, &crystals))) ||
	    (st = iso_event_writer_open(&events, s->out, in.scanner, 0)) ||
	    (s->delayed && (st = iso_event_writer_open(&delayed, s->delayed, in.scanner, 0))))
		goto done;
	in.scan.singles = singles.v;
	record_stage(&c->record, "simulate");
	st = iso_activity_scan(&counts, c->ctx, &in.scan, simulate_append, events,
	                       delayed ? simulate_append : NULL, delayed);
	record_stage(&c->record, NULL);
	if (st || (st = report(c, s->duration_s, &counts))) goto done;
	warn(c, &in.scan, &counts);
	if (!iso_kind_keeps_crystals(s->out))
		record_warn(&c->record,
		            "%s: %s has no place for the times of events: only their order is kept", s->out,
		            strrchr(s->out, '.') + 1);
	cmd_tell_weight(c, s->out, in.scanner);
	cmd_tell_duration(c, s->out, s->duration_s);
	if ((st = cmd_close_events(c, &events)) || (delayed && (st = cmd_close_events(c, &delayed))))
		goto done;
	st = write_singles(c, &singles, s->singles);
done:
	iso_event_writer_free(events);
	iso_event_writer_free(delayed);
	iso_array_free(&singles);
	free_inputs(&in);
	return st;
}

/* ---- options ---- */

/* Options that other kinds of simulation have. */
static int refuse_others(const struct cmd *c)
{
	static const char *const others[] = { "counts",
		                              "exact",
		                              "randoms",
		                              "bent",
		                              "randoms-by-rate",
		                              "pair-factors",
		                              "time-offsets",
		                              "fwhm-per-crystal",
		                              "dead-time",
		                              "decays",
		                              "poses",
		                              "orbit",
		                              "bed",
		                              "gantry",
		                              "gates",
		                              "tacs",
		                              "basis",
		                              "beam",
		                              "pairs-only",
		                              "point",
		                              "pairs",
		                              "noise",
		                              "mu-fixed",
		                              "fields",
		                              "field-axes",
		                              "warp-mass",
		                              "truth-tacs",
		                              "truth-edges",
		                              "tissue",
		                              "tissue-speed",
		                              "speed-map",
		                              "sound-path",
		                              "sound-amplitude",
		                              "table-mm",
		                              NULL };
	const char *given = c->like ? NULL : cmd_given_of(c, others);

	return given ? iso_fail(ISO_EARG, "--%s and --activity-bq: give one of them%s", given,
	                        strcmp(given, "counts") == 0 ? "; the number of events follows the activity"
	                                                     : "")
	             : ISO_OK;
}

static int check_records(const char *path, const char *option)
{
	return !path || iso_has_suffix(path, ".npy")
	               ? ISO_OK
	               : iso_fail(ISO_EARG, "--%s %s: is written as .npy", option, path);
}

static int check_options(const struct cmd *c, const struct simulate *s)
{
	int st;

	if (!(s->rates.activity_bq > 0)) return iso_fail(ISO_EARG, "--crystals needs --activity-bq above 0");
	if ((st = refuse_others(c))) return st;
	if (s->mu && s->materials) return iso_fail(ISO_EARG, "--mu and --materials: give one of them");
	if (!(s->duration_s > 0)) return iso_fail(ISO_EARG, "--activity-bq needs --duration-s");
	if ((s->rates.range || s->rates.range_table) && !s->isotope)
		return iso_fail(ISO_EARG, "--positron-range needs --isotope, whose positrons travel");
	if (!c->like && cmd_given(c, "delay-ns") && !s->delayed)
		return iso_fail(ISO_EARG, "--delay-ns needs --delayed, whose window it moves");
	if (s->isotope && s->half_life_s > 0)
		return iso_fail(ISO_EARG, "--isotope and --half-life-s: give one of them");
	if (s->singles && cmd_is_events(s->singles))
		return iso_fail(ISO_EARG, "--singles %s: counts per crystal are an array, not events",
		                s->singles);
	if ((st = check_records(s->truth, "truth")) ||
	    (st = check_records(s->rates.singles_list, "singles-list")) ||
	    (st = check_records(s->rates.triples, "triples")) || (st = check_records(s->rates.hits, "hits")))
		return st;
	return ISO_OK;
}

int simulate_at_activity(struct cmd *c, const struct simulate *s)
{
	int st;

	c->cpu_only = false;
	if ((st = check_options(c, s)) || (st = cmd_check(c, s->out, iso_events_write_check)) ||
	    (st = cmd_check(c, s->delayed, iso_events_write_check)) ||
	    (st = cmd_check_array(c, s->singles)) || (st = cmd_check_array(c, s->truth)) ||
	    (st = cmd_check_array(c, s->rates.singles_list)) || (st = cmd_check_array(c, s->rates.triples)) ||
	    (st = cmd_check_array(c, s->rates.hits)) || (st = cmd_begin(c)))
		return st;
	return run(c, s);
}
