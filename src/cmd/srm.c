/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome srm: the system matrix of a dual-head scanner. */
#include "cmd.h"
#include "core/comm.h"
#include "facts.h"

#include "io/format.h"

#include <string.h>
#include <unistd.h>

#define MOST_PAIRS 1e15

struct srm_settings {
	const char *source, *out, *symmetry, *import, *export, *add;
	int64_t pairs, first, seed, outcomes, max_offset;
	double until, share, min_weight, per_column;
	bool analytic, go_on, final, rayleigh, reentry;
	struct iso_transport_options transport;
};

static const struct opt_usage usage = {
	"srm",
	"Make the system matrix of two panels: the probability of each pair of crystals for each voxel of a "
	"pitch cell. Isotome computes it by photon transport in heads without end, and folds it by symmetry. "
	"SOURCE is a scanner description, or a matrix to add to, to continue or to cut again. Ctrl-C writes "
	"the matrix made so far.",
	"  isotome srm examples/scanners/meng2019.yaml -o meng.srm\n"
	"  isotome srm examples/scanners/meng2019.yaml --continue --pairs 2e8 -o meng.srm\n"
	"  isotome srm examples/scanners/meng2019.yaml --until-counts 40 -o meng.srm\n"
	"  isotome srm a.srm --add b.srm,c.srm --share 0.9 -o abc.srm\n"
	"  isotome srm small.yaml --analytic --export rows.npy -o small.srm\n",
};

static const char *const symmetries[] = { "auto", "all", "mirror", "none",
	                                  NULL }; /* as enum iso_srm_symmetry */

/* ---- options ---- */

static bool is_matrix(const char *path)
{
	return iso_has_suffix(path, ".srm");
}

/* What a matrix says itself, and what others than photon transport can't use. */
static int check_source(const struct cmd *c, const struct srm_settings *s)
{
	static const char *const run[] = { "pairs",         "first",    "until-counts",
		                           "seed",          "symmetry", "outcomes",
		                           "continue",      "add",      "positron",
		                           "acollinearity", "centroid", "first-layer",
		                           "rayleigh",      "reentry",  NULL };
	static const char *const made[] = { "first",       "seed",     "symmetry",      "outcomes",
		                            "continue",    "positron", "acollinearity", "centroid",
		                            "first-layer", "rayleigh", "reentry",       "analytic",
		                            "import",      NULL };
	const char *of_run = cmd_given_of(c, run), *of_made = cmd_given_of(c, made);

	if (s->analytic && s->import) return iso_fail(ISO_EARG, "--analytic and --import: give one of them");
	if ((s->analytic || s->import) && of_run)
		return iso_fail(ISO_EARG, "--%s is of photon transport, not of --%s", of_run,
		                s->analytic ? "analytic" : "import");
	if (is_matrix(s->source) && of_made)
		return iso_fail(ISO_EARG, "--%s: %s is a matrix, which has its own; give a scanner", of_made,
		                s->source);
	if (cmd_given(c, "share") + cmd_given(c, "min-weight") + cmd_given(c, "per-column") > 1)
		return iso_fail(ISO_EARG, "--share, --min-weight and --per-column: give one of them");
	return ISO_OK;
}

/* What another program left in its matrix stays there. */
static struct iso_srm_bound bound(const struct cmd *c, const struct srm_settings *s,
                                  const struct iso_srm_info *i)
{
	struct iso_srm_bound b = { .max_offset = (int)s->max_offset };

	if (cmd_given(c, "min-weight"))
		b.min_weight = s->min_weight;
	else if (cmd_given(c, "per-column"))
		b.per_column = s->per_column;
	else
		b.share = strcmp(i->source, "import") == 0 && !cmd_given(c, "share") ? 1 : s->share;
	return b;
}

static int check(struct cmd *c, const struct srm_settings *s)
{
	const struct cmd as_forced = { .force = c->force || s->go_on };
	int st;

	if (s->go_on) c->record.read.names = NULL; /* the output is an input as well */
	if ((st = check_source(c, s)) || (st = cmd_check(&as_forced, s->out, iso_srm_write_check))) return st;
	return cmd_check_array(c, s->export);
}

/* ---- the matrix ---- */

static int read_matrix(struct cmd *c, iso_srm **m, const char *path)
{
	int st = iso_srm_read_within(m, c->ctx, path, true);

	return st ? st : record_input(&c->record, path);
}

/* `other` belongs to the same run, or can be added to it. */
static int add_file(struct cmd *c, iso_srm *m, const char *path)
{
	iso_srm *other = NULL;
	int st = read_matrix(c, &other, path);

	if (!st && (st = iso_srm_add(m, other))) st = iso_fail(st, "%s: %s", path, iso_message());
	iso_srm_free(other);
	return st;
}

static int add_files(struct cmd *c, iso_srm *m, const char *list)
{
	int st = ISO_OK;

	while (*list && !st) {
		size_t n = strcspn(list, ",");
		char path[PATH_MAX];

		if (n >= sizeof path) return iso_fail(ISO_EARG, "--add: name is too long");
		memcpy(path, list, n);
		path[n] = '\0';
		st = add_file(c, m, path);
		list += n + (list[n] == ',');
	}
	return st;
}

static int import_rows(struct cmd *c, iso_srm **m, const struct iso_panels *p, const char *path)
{
	struct iso_array rows = { 0 };
	int st = iso_read_within(&rows, c->ctx, path, ISO_FINITE);

	if (!st && !(st = record_input(&c->record, path))) st = iso_srm_import(m, p, &rows);
	iso_array_free(&rows);
	return st;
}

static int from_scanner(struct cmd *c, iso_srm **m, const struct srm_settings *s)
{
	const struct iso_srm_options o = {
		.size = sizeof o,
		.symmetry = (enum iso_srm_symmetry)opt_place(symmetries, s->symmetry),
		.seed = (uint64_t)s->seed,
		.outcomes = (int)s->outcomes,
		.transport = s->transport,
	};
	iso_scanner *scanner = NULL;
	const struct iso_panels *p;
	int st = cmd_scanner(c, &scanner, s->source);

	if (st) goto done;
	if (!(p = iso_scanner_panels(scanner)))
		st = iso_fail(ISO_EARG, "%s: a system matrix is of two panels (kind: panels)", s->source);
	else if (s->import)
		st = import_rows(c, m, p, s->import);
	else
		st = s->analytic ? iso_srm_analytic(m, c->ctx, p) : iso_srm_create(m, p, &o);
	if (s->go_on) { /* where one rank sees it, all must */
		double there = access(s->out, F_OK) == 0;

		if (!(st = iso_comm_max(c->ctx, st, &there, 1)) && there > 0) st = add_file(c, *m, s->out);
	}
done:
	iso_scanner_free(scanner);
	return st;
}

/* Pairs still to be simulated. */
static int64_t pairs_left(const struct cmd *c, const struct iso_srm_info *i, const struct srm_settings *s)
{
	bool asked = cmd_given(c, "pairs") || s->until > 0 || !is_matrix(s->source);
	int64_t most = s->until > 0 && !cmd_given(c, "pairs") ? (int64_t)MOST_PAIRS : s->pairs;

	if (strcmp(i->source, "transport") != 0 || !asked) return 0;
	return most > i->pairs ? most - i->pairs : 0;
}

static int simulate(struct cmd *c, iso_srm *m, const struct srm_settings *s)
{
	struct iso_plan p = { 0 };
	struct iso_srm_info i = { .size = sizeof i };
	int64_t first, n;
	int st;

	if ((st = iso_srm_info(&i, m))) return st;
	n = pairs_left(c, &i, s);
	first = i.pairs > 0 ? iso_srm_next(m) : s->first;
	iso_srm_plan(&p, c->ctx, m, s->until > 0 ? s->pairs : i.pairs + n);
	if ((st = cmd_plan(c, &p)) || n == 0) return st;
	record_stage(&c->record, "simulate");
	return iso_srm_simulate(m, c->ctx, first, n, s->until);
}

/* ---- results ---- */

static const struct fact facts[] = {
	FACT("pairs_a_voxel", struct iso_srm_info, pairs),
	FACT("voxels", struct iso_srm_info, voxels),
	FACT("columns", struct iso_srm_info, columns),
	FACT("elements", struct iso_srm_info, elements),
	FACT("least_weight", struct iso_srm_info, least_weight),
	FACT("usable", struct iso_srm_info, usable),
	FACT("kept_share", struct iso_srm_info, kept),
	FACT("core_counts", struct iso_srm_info, core_counts),
	FACT("hit_once", struct iso_srm_info, once),
	{ 0 },
};

static void say_matrix(struct cmd *c, const struct srm_settings *s, const struct iso_srm_info *i)
{
	if (i->pairs > 0)
		term_say(&c->term, "%.4g pairs in each of %d voxels; %.3g counts an element in the core",
		         (double)i->pairs, i->voxels, i->core_counts);
	term_say(&c->term,
	         "%s: %" PRId64 " elements in %" PRId64
	         " columns keep %.1f %% of the sensitivity, weights from %.3g; %s as columns, %s as rows",
	         s->out, i->elements, i->columns, 100 * i->kept, i->least_weight,
	         iso_bytes((int64_t)i->bytes_column), iso_bytes((int64_t)i->bytes_row));
}

static int export_rows(struct cmd *c, const iso_srm *m, const char *path)
{
	struct iso_array rows = { 0 };
	int st = iso_srm_export(&rows, m);

	if (!st) st = cmd_write(c, path, &rows);
	iso_array_free(&rows);
	return st;
}

static int write_matrix(struct cmd *c, const iso_srm *m, const struct srm_settings *s)
{
	const char *command = json_string_value(json_object_get(c->record.root, "command"));
	struct iso_srm_info info = { .size = sizeof info };
	int st;

	record_stage(&c->record, "write");
	if ((st = iso_srm_info(&info, m)) ||
	    (st = record_result(&c->record, "matrix", facts_json(facts, &info))) || (st = cmd_text(c)) ||
	    (st = iso_srm_write(s->out, m, s->final, command, c->text)) ||
	    (s->export && (st = export_rows(c, m, s->export))))
		return st;
	record_stage(&c->record, NULL);
	say_matrix(c, s, &info);
	return ISO_OK;
}

/* After an interruption the context serves no more: another one, on the CPU, ends the work. A matrix
   without counts keeps the bound that it has, unless another is asked for. */
static int finish(struct cmd *c, iso_srm *m, const struct iso_srm_info *i, const struct srm_settings *s)
{
	static const char *const bounds[] = { "share", "min-weight", "per-column", "max-offset", NULL };
	struct iso_srm_bound b = bound(c, s, i);
	iso_ctx *ctx = NULL;
	int st = iso_ctx_create(&ctx, "cpu", (int)c->threads);

	record_stage(&c->record, "table");
	if (!st && (i->can_cut || cmd_given_of(c, bounds))) st = iso_srm_threshold(m, ctx, &b);
	iso_ctx_free(ctx);
	return st ? st : write_matrix(c, m, s);
}

static int run(struct cmd *c, const struct srm_settings *s)
{
	struct iso_srm_info i = { .size = sizeof i };
	iso_srm *m = NULL;
	int st = is_matrix(s->source) ? read_matrix(c, &m, s->source) : from_scanner(c, &m, s), end;

	if (!st && s->add) st = add_files(c, m, s->add);
	if (!st) st = simulate(c, m, s);
	if (st == ISO_OK || (m && st == ISO_ECANCEL && iso_srm_info(&i, m) == ISO_OK && i.pairs > 0)) {
		if ((end = iso_srm_info(&i, m)) || (end = finish(c, m, &i, s)))
			st = end;
		else if (st == ISO_ECANCEL)
			st = iso_fail(st,
			              "stopped after %" PRId64
			              " pairs a voxel; the matrix so far is in %s, --continue goes on",
			              i.pairs, s->out);
	}
	iso_srm_free(m);
	return st;
}

enum { OPTIONS = 25 };

static void list_options(struct opt o[OPTIONS], struct srm_settings *s)
{
	const struct opt own[OPTIONS] = {
		CMD_ARGUMENT("source", s->source, OPT_MAY_READ, "SOURCE",
		             "scanner description (kind: panels), or a matrix (.srm)"),
		CMD_OUTPUT(s->out, "the matrix (.srm)"),
		{ 0, "pairs", .integer = &s->pairs, .value = "N", .min = 1, .max = MOST_PAIRS,
		  .help = "pairs of photons in each simulated voxel, including pairs from earlier runs" },
		{ 0, "until-counts", .real = &s->until, .value = "N", .min = 0, .max = 1e9,
		  .help = "go on until the elements that hold half of the sensitivity have N counts on "
		          "average, up to --pairs if given; 0: --pairs decides" },
		{ 0, "continue", .flag = &s->go_on,
		  .help = "go on from the output if it exists; the result is the matrix of one long run" },
		{ 0, "add", .text = &s->add, .file = OPT_MAY_READ, .value = "FILES",
		  .help = "add the counts of other runs (.srm, separated by commas)" },
		{ 0, "first", .integer = &s->first, .value = "N", .min = 0, .max = MOST_PAIRS,
		  .help = "number of the first pair, for runs that are added up later" },
		{ 0, "seed", .integer = &s->seed, .value = "N", .min = 0, .max = 9e15,
		  .help = "seed of the random numbers" },
		{ 0, "symmetry", .text = &s->symmetry, .words = symmetries, .value = "RULE",
		  .help = "simulate one voxel for all voxels that symmetry maps to it. mirror: by mirrors "
		          "and head exchange (4 phases per plane of 4 x 4). all: also by the swap of x and z "
		          "(3 phases). none: every voxel (16). auto: the swap if it holds" },
		{ 0, "outcomes", .integer = &s->outcomes, .value = "M", .min = 1, .max = 8,
		  .help = "outcomes of each photon of a line; all M x M are combined" },
		{ 0, "share", .real = &s->share, .value = "Q", .min = 1e-6, .max = 1,
		  .absent = "0.8; 1 for an imported matrix",
		  .help = "keep the largest weights, up to this share of the scanner's sensitivity" },
		{ 0, "min-weight", .real = &s->min_weight, .value = "W", .min = 1e-30, .max = 1,
		  .absent = "decided by --share", .help = "keep weights of at least this" },
		{ 0, "per-column", .real = &s->per_column, .value = "N", .min = 1, .max = 1e9,
		  .absent = "decided by --share", .help = "keep this many weights per column, on average" },
		{ 0, "max-offset", .integer = &s->max_offset, .value = "N", .min = 0, .max = 4096,
		  .help = "leave out crystals that lie farther apart, along x or z; 0: no limit" },
		{ 0, "final", .flag = &s->final,
		  .help = "leave the counts out. The file is smaller, but can't be continued, added to or "
		          "cut again" },
		{ 0, "analytic", .flag = &s->analytic,
		  .help = "compute by solid angles instead of photon transport: no noise, no scatter" },
		{ 0, "import", .text = &s->import, .file = OPT_READS, .value = "FILE",
		  .help = "rows of another program (.npy): plane, phase x, phase z, upper crystal x, z, "
		          "lower crystal x, z, weight. Crystals are counted from the voxel's own cell. With "
		          "layers, the layers of the upper and lower crystal come before the weight" },
		{ 0, "export", .text = &s->export, .file = OPT_WRITES, .value = "FILE",
		  .help = "also write such rows" },
		{ 0, "rayleigh", .flag = &s->rayleigh, .help = "simulate Rayleigh scattering" },
		{ 0, "reentry", .flag = &s->reentry,
		  .help = "simulate photons that scatter back into the other head" },
		{ 0, "acollinearity", .flag = &s->transport.acollinearity,
		  .help = "simulate acollinearity of 0.5 degrees FWHM" },
		{ 0, "positron", .text = &s->transport.positron, .value = "ISOTOPE",
		  .help = "simulate the positron range in water of F-18, C-11, O-15 or Ga-68" },
		{ 0, "centroid", .flag = &s->transport.centroid,
		  .help = "place a hit in the crystal at the mean of the deposits, not in the one with the "
		          "largest deposit" },
		{ 0, "first-layer", .flag = &s->transport.first_layer,
		  .help = "take the layer of a hit from its first interaction" },
		{ 0 },
	};

	memcpy(o, own, sizeof own);
}

int main_srm(int argc, char **argv)
{
	struct srm_settings s = { .symmetry = "auto",
		                  .pairs = 20000000,
		                  .seed = 1,
		                  .outcomes = 1,
		                  .share = .8,
		                  .rayleigh = true,
		                  .reentry = true };
	struct opt own[OPTIONS];
	struct cmd c = { 0 };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };
	int st;

	list_options(own, &s);
	st = cmd_parse(&c, &usage, sets, argc, argv);
	s.transport.no_rayleigh = !s.rayleigh;
	s.transport.no_reentry = !s.reentry;
	if (!st && !(st = check(&c, &s)) && !(st = cmd_begin(&c))) st = run(&c, &s);
	return cmd_end(&c, st);
}
