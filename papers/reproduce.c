/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome reproduce: the experiments of a paper, run here, on one page beside its own figures. */
#include "papers/study/study.h"

#include "io/format.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct paper *const papers[] = { &paper_vangendt, &paper_bialas, &paper_meng,  &paper_chou,
	                                      &paper_wang,     &paper_nema,   &paper_priors };
static const char *const paper_names[] = {
	"vangendt2021", "bialas2015", "meng2019", "chou2012", "wang2013", "nema", "priors", NULL
};                                                                          /* in that order */
static const char *const scale_names[] = { "tiny", "small", "full", NULL }; /* as enum study_scale */
static const char *const part_names[] = { "study", "experiment", "times", NULL };

struct reproduce_settings {
	const char *paper, *folder, *scale, *only, *msot;
	double events;
	int64_t seeds;
};

static const struct opt_usage usage = {
	"reproduce",
	"Run the experiments of a paper. The result is one page with tables and pictures; every figure is "
	"measured in this run and stands beside the paper's own. vangendt2021 is list-mode PET: Table 2 "
	"(from "
	"a basic to an optimised kernel) and Table 3 (the extensions of MLEM). bialas2015 is two-strip "
	"J-PET: "
	"Figure 3, the benchmark, and each kernel against simulated events. meng2019 is dual-head PET: the "
	"system matrix, spheres, Derenzo phantom and strategies. chou2012 is a larger dual-head scanner, "
	"with "
	"OSEM. wang2013 is 3-D optoacoustic tomography: the numerical study, the experiment, Table I. nema "
	"and priors belong to no paper. nema measures image quality after NEMA NU 2 with and without scatter "
	"correction. priors measures the convergence of penalised likelihood, and the contrast of lesions at "
	"equal noise. --scale small takes minutes on two cores, full needs a GPU, tiny is a rehearsal.",
	"  isotome reproduce vangendt2021 -o vangendt\n"
	"  isotome reproduce vangendt2021 --scale full -o vangendt --force\n"
	"  isotome reproduce bialas2015 -o bialas\n"
	"  isotome reproduce meng2019 -o meng\n"
	"  isotome reproduce chou2012 --scale full -o chou\n"
	"  isotome reproduce wang2013 -o wang\n"
	"  isotome reproduce nema --scale full -o nema\n"
	"  isotome reproduce priors --scale full -o priors\n",
};

static int check_outputs(const struct cmd *c, const char *outputs)
{
	static const char *const texts[] = { "scanner.yaml", "results.json", "report.html" };
	char names[512], *rest = names, *name;
	int st = ISO_OK;

	snprintf(names, sizeof names, "%s", outputs);
	while (!st && (name = strsep(&rest, " "))) st = cmd_check_output(c, name);
	for (int i = 0; !st && i < 3; i++) st = iso_target_check(texts[i], c->force);
	return st;
}

/* The work is done in another folder: `path` of the recording must not depend on it. */
static int check_parts(char path[PATH_MAX], const struct paper *p, const struct reproduce_settings *s)
{
	if (!(p->takes & STUDY_PARTS) && s->only)
		return iso_fail(ISO_EARG, "--only is for wang2013; %s is run as a whole", s->paper);
	if (!(p->takes & STUDY_PARTS) && s->msot)
		return iso_fail(ISO_EARG, "--msot is for wang2013; %s takes no recording", s->paper);
	if (!(p->takes & STUDY_COUNTS) && (s->events > 0 || s->seeds > 0))
		return iso_fail(ISO_EARG, "--events and --seeds are for nema and priors; %s has its own",
		                s->paper);
	if (s->msot && !realpath(s->msot, path)) return iso_fail(ISO_EINPUT, "%s: no such file", s->msot);
	return ISO_OK;
}

static int run(struct cmd *c, const struct reproduce_settings *s)
{
	double began_s = iso_now_s();
	char path[PATH_MAX];
	int st, scale = 0, paper = 0;

	while (strcmp(scale_names[scale], s->scale) != 0) scale++;
	while (strcmp(paper_names[paper], s->paper) != 0) paper++;
	if ((st = check_parts(path, papers[paper], s))) return st;
	bool rehearsed =
		c->dry_run && access(s->folder, F_OK) != 0; /* a folder that is not there holds nothing */

	if ((st = cmd_enter_folder(s->folder, !c->dry_run))) return st;
	if (!rehearsed && (st = check_outputs(c, papers[paper]->outputs))) return st;
	if ((st = cmd_begin(c))) return st;
	const struct study begin = { c,
		                     (enum study_scale)scale,
		                     .only = s->only,
		                     .msot = s->msot ? path : NULL,
		                     .events = s->events,
		                     .seeds = s->seeds };

	if ((st = study_run(papers[paper], &begin))) return st;
	if (c->json) return ISO_OK;
	term_clear(&c->term);
	printf("report  ");
	term_put(stdout, s->folder);
	printf("/report.html\ntime    %.0f s\n", iso_now_s() - began_s);
	return ISO_OK;
}

int main_reproduce(int argc, char **argv)
{
	struct reproduce_settings s = { .scale = "small" };
	struct cmd c = { 0 };
	struct opt own[] = {
		{ 0, "paper", .text = &s.paper, .words = paper_names, .value = "PAPER", .positional = true,
		  .required = true,
		  .help = "vangendt2021 (list-mode PET), bialas2015 (two-strip J-PET), "
		          "meng2019 and chou2012 (dual-head PET), wang2013 (optoacoustic), nema (scatter), "
		          "priors (penalised likelihood)" },
		{ 'o', "output", .text = &s.folder, .file = OPT_PLACE, .value = "FOLDER", .required = true,
		  .help = "folder for all files; made if it does not exist" },
		{ 0, "scale", .text = &s.scale, .words = scale_names, .value = "NAME",
		  .help = "how much data: tiny, small or full" },
		{ 0, "only", .text = &s.only, .words = part_names, .value = "PART", .absent = "all of it",
		  .help = "wang2013: study, experiment, or times (Table I)" },
		{ 0, "msot", .text = &s.msot, .file = OPT_MAY_READ, .value = "FILE",
		  .help = "wang2013: also make the image of this recording (.msot with its .bin, .hdf5)" },
		{ 0, "events", .real = &s.events, .value = "N", .min = 1e4, .max = 1e10,
		  .absent = "nema: tiny 1e5, small 4e6, full 1e8; priors: tiny 1e5, small 1e6, full 1e6, 1e7 "
		            "and 1e8",
		  .help = "nema, priors: number of events of a scan" },
		{ 0, "seeds", .integer = &s.seeds, .value = "N", .min = 2, .max = 1000,
		  .absent = "tiny 2, small 3, full 10",
		  .help = "nema, priors: number of scans from which the noise is measured" },
		{ 0, "force", .flag = &c.force, .transient = true,
		  .help = "replace the files of an earlier run" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st) st = run(&c, &s);
	return cmd_end(&c, st);
}
