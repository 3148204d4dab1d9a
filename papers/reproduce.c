/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome reproduce: the experiments of a paper, run here, on one page beside its own figures. */
#include "reproduce.h"
#include "papers/vangendt/reproduce_vangendt.h"

#include "file/out.h"
#include "core/progress.h"
#include "io/format.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct vangendt_scale scales[] = {
	{ "tiny", 2000, 20000, 2e5, 2, .05, 16 },
	{ "small", 1e5, 3e6, 2e7, 3, 3, 4 },
	{ "full", 1e6, 1e7, 5e8, 3, 15, 4 },
};
static const char *const scale_names[] = { "tiny", "small", "full", NULL }; /* in that order */

static const char *const part_names[] = { "study", "experiment", "times", NULL };

static const char *const vangendt_outputs[] = {
	"truth.nii",        "mu.nii",  "baseline.nii", "sensitivity.nii", "osem.nii", "attenuation.nii",
	"precorrected.nii", "tof.nii", "median.nii",   "all.nii",         NULL,
};

struct settings {
	const char *paper, *folder, *scale;
	struct reproduce_extra extra;
};

static const struct opt_usage usage = {
	"reproduce",
	"Run the experiments of a paper and put the tables and pictures on one page, every figure "
	"measured in this run and the paper's own beside it. vangendt2021: list-mode PET, its Table 2 "
	"(from a basic to an optimised kernel) and Table 3 (the extensions of MLEM). small takes "
	"minutes on two cores, full wants a GPU; tiny is a rehearsal. bialas2015: two-strip J-PET, its "
	"Figure 3, its benchmark, and each kernel against simulated events. meng2019: dual-head PET, "
	"its system matrix, spheres, Derenzo phantom and strategies. chou2012: a larger one, OSEM. "
	"wang2013: 3-D optoacoustic tomography, its numerical study, its experiment, its Table I.",
	"  isotome reproduce vangendt2021 -o vangendt\n"
	"  isotome reproduce vangendt2021 --scale full -o vangendt --force\n"
	"  isotome reproduce bialas2015 -o bialas\n"
	"  isotome reproduce meng2019 -o meng\n"
	"  isotome reproduce chou2012 --scale full -o chou\n"
	"  isotome reproduce wang2013 -o wang\n",
};

static int check_outputs(const struct cmd *c, const char *const *outputs)
{
	int st = ISO_OK;

	for (int i = 0; !st && outputs[i]; i++) st = cmd_check_output(c, outputs[i]);
	if (!st) st = iso_target_check("scanner.yaml", c->force);
	if (!st) st = iso_target_check("results.json", c->force);
	return st ? st : iso_target_check("report.html", c->force);
}

/* A device asked for by name must be there; a CUDA device that is not there is told in the
   tables. */
int reproduce_open(struct reproduce_devices *d, const struct cmd *c)
{
	bool cuda = iso_ctx_is_cuda(c->ctx);

	d->cpu = cuda ? NULL : c->ctx;
	d->cuda = cuda ? c->ctx : NULL;
	if (!cuda)
		snprintf(d->no_cuda, sizeof d->no_cuda, "%s",
		         strcmp(c->device, "cpu") == 0 ? "--device cpu" : "none was found");
	return cuda ? iso_ctx_create(&d->cpu, "cpu", (int)c->threads) : ISO_OK;
}

void reproduce_close(struct reproduce_devices *d)
{
	if (d->cuda) iso_ctx_free(d->cpu);
}

int vangendt_poll(const struct vangendt *v)
{
	return iso_ctx_cancelled(v->c->ctx) ? iso_fail(ISO_ECANCEL, "stopped on request") : ISO_OK;
}

int reproduce_write_page(const struct iso_text *page)
{
	return iso_out_text("report.html", page->v);
}

static int write_page(const struct vangendt *v)
{
	struct iso_text page = { 0 };
	int st = vangendt_page(&page, v);

	if (!st) st = reproduce_write_page(&page);
	iso_text_free(&page);
	return st;
}

int reproduce_write_results(struct cmd *c)
{
	char *text = NULL;
	int st = record_text(&c->record, &text);

	if (!st) st = iso_out_text("results.json", text);
	free(text);
	return st;
}

static int run_vangendt(struct cmd *c, enum reproduce_scale scale)
{
	struct vangendt v = { .c = c, .scale = &scales[scale] };
	struct reproduce_devices devices = { 0 };
	int st;

	if ((st = vangendt_plan(&v))) goto done;
	if ((st = reproduce_open(&devices, c))) goto done;
	v.cpu = devices.cpu;
	v.cuda = devices.cuda;
	snprintf(v.no_cuda, sizeof v.no_cuda, "%s", devices.no_cuda);
	if ((st = iso_ctx_create(&v.one, "cpu", 1))) goto done;
	record_stage(&c->record, "table 2");
	if ((st = vangendt_ladder(&v))) goto done;
	record_stage(&c->record, "table 3");
	if ((st = vangendt_body(&v))) goto done;
	record_stage(&c->record, NULL);
	if ((st = vangendt_record(&v))) goto done;
	if ((st = write_page(&v))) goto done;
	st = reproduce_write_results(c);
done:
	vangendt_free(&v);
	iso_ctx_free(v.one);
	reproduce_close(&devices);
	return st;
}

static const struct reproduce vangendt = { "vangendt2021", vangendt_outputs, run_vangendt, NULL };

static const struct reproduce *const papers[] = { &vangendt, &reproduce_bialas, &reproduce_meng,
	                                          &reproduce_chou, &reproduce_wang };
static const char *const paper_names[] = { "vangendt2021", "bialas2015", "meng2019",
	                                   "chou2012",     "wang2013",   NULL }; /* in that order */

/* The work is done in another folder: the path must not depend on it. */
static int give_extra(const struct reproduce *p, const struct settings *s)
{
	static char path[PATH_MAX];

	if (!p->extra && s->extra.only)
		return iso_fail(ISO_EARG, "--only is for wang2013; %s is run as a whole", p->name);
	if (!p->extra && s->extra.msot)
		return iso_fail(ISO_EARG, "--msot is for wang2013; %s takes no recording", p->name);
	if (!p->extra) return ISO_OK;
	*p->extra = s->extra;
	if (s->extra.msot && !realpath(s->extra.msot, path))
		return iso_fail(ISO_EINPUT, "%s: no such file", s->extra.msot);
	if (s->extra.msot) p->extra->msot = path;
	return ISO_OK;
}

static int run(struct cmd *c, const struct settings *s)
{
	double began_s = iso_now_s();
	int st, scale = 0, paper = 0;

	while (strcmp(scale_names[scale], s->scale) != 0) scale++;
	while (strcmp(paper_names[paper], s->paper) != 0) paper++;
	if ((st = give_extra(papers[paper], s))) return st;
	if ((st = cmd_enter_folder(s->folder, !c->dry_run))) return st;
	if ((st = check_outputs(c, papers[paper]->outputs))) return st;
	if ((st = cmd_begin(c))) return st;
	if ((st = papers[paper]->run(c, (enum reproduce_scale)scale))) return st;
	if (c->json) return cmd_report(c);
	term_clear(&c->term);
	printf("report  ");
	term_put(stdout, s->folder);
	printf("/report.html\ntime    %.0f s\n", iso_now_s() - began_s);
	return ISO_OK;
}

int main_reproduce(int argc, char **argv)
{
	struct settings s = { .scale = "small" };
	struct cmd c = { 0 };
	struct opt own[] = {
		{ 0, "paper", .text = &s.paper, .words = paper_names, .value = "PAPER", .positional = true,
		  .required = true,
		  .help = "vangendt2021 (list-mode PET), bialas2015 (two-strip J-PET), "
		          "meng2019 and chou2012 (dual-head PET), wang2013 (optoacoustic)" },
		{ 'o', "output", .text = &s.folder, .value = "FOLDER", .required = true,
		  .help = "folder of all files; made if it is not there" },
		{ 0, "scale", .text = &s.scale, .words = scale_names, .value = "NAME",
		  .help = "how much data: tiny, small or full" },
		{ 0, "only", .text = &s.extra.only, .words = part_names, .value = "PART",
		  .absent = "all of it", .help = "wang2013: study, experiment, or times (Table I)" },
		{ 0, "msot", .text = &s.extra.msot, .file = OPT_MAY_READ, .value = "FILE",
		  .help = "wang2013: also the image of this recording (.msot with its .bin, .hdf5)" },
		{ 0, "force", .flag = &c.force, .transient = true,
		  .help = "replace the files of an earlier run" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st) st = run(&c, &s);
	cmd_end(&c);
	return st;
}
