/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome reproduce: the experiments of a paper, run here, on one page beside its own figures. */
#include "reproduce_vangendt.h"

#include "core/out.h"
#include "core/progress.h"
#include "io/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const papers[] = { "vangendt2021", NULL };

static const struct vangendt_scale scales[] = {
	{ "tiny", 2000, 20000, 2e5, 2, .05, 16 },
	{ "small", 1e5, 3e6, 2e7, 3, 3, 4 },
	{ "full", 1e6, 1e7, 5e8, 3, 15, 4 },
};
static const char *const scale_names[] = { "tiny", "small", "full", NULL };	/* in that order */

static const char *const outputs[] = {
	"truth.nii", "mu.nii", "baseline.nii", "sensitivity.nii", "osem.nii", "attenuation.nii",
	"precorrected.nii", "tof.nii", "median.nii", "all.nii", NULL,
};

struct settings {
	const char *paper, *folder, *scale;
};

static const struct opt_usage usage = {
	"reproduce",
	"Run the experiments of a paper and put the tables and pictures on one page, every figure "
	"measured in this run and the paper's own beside it. vangendt2021: list-mode PET, its Table 2 "
	"(from a basic to an optimised kernel) and Table 3 (the extensions of MLEM). small takes "
	"minutes on two cores, full wants a GPU; tiny is a rehearsal.",
	"  isotome reproduce vangendt2021 -o vangendt\n"
	"  isotome reproduce vangendt2021 --scale full -o vangendt --force\n",
};

static int check_outputs(const struct cmd *c)
{
	int st = ISO_OK;

	for (int i = 0; !st && outputs[i]; i++)
		st = cmd_check_output(c, outputs[i]);
	if (!st)
		st = iso_target_check("scanner.yaml", c->force);
	if (!st)
		st = iso_target_check("results.json", c->force);
	return st ? st : iso_target_check("report.html", c->force);
}

/* A device asked for by name must be there; a CUDA device that is not there is told in the
   tables. */
static int open_devices(struct vangendt *v)
{
	struct cmd *c = v->c;
	bool cuda = iso_ctx_is_cuda(c->ctx);
	int st;

	v->cpu = cuda ? NULL : c->ctx;
	v->cuda = cuda ? c->ctx : NULL;
	if (!cuda)
		snprintf(v->no_cuda, sizeof v->no_cuda, "%s", strcmp(c->device, "cpu") == 0
			 ? "--device cpu" : "none was found");
	if (cuda && (st = iso_ctx_create(&v->cpu, "cpu", (int)c->threads)))
		return st;
	return iso_ctx_create(&v->one, "cpu", 1);
}

static void close_devices(struct vangendt *v)
{
	iso_ctx_free(v->one);
	if (v->cuda)
		iso_ctx_free(v->cpu);
}

int vangendt_poll(const struct vangendt *v)
{
	return iso_ctx_cancelled(v->c->ctx) ? iso_fail(ISO_ECANCEL, "stopped on request") : ISO_OK;
}

static int write_page(const struct vangendt *v)
{
	struct iso_text page = { 0 };
	int st = vangendt_page(&page, v);

	if (!st)
		st = iso_out_text("report.html", page.v);
	iso_text_free(&page);
	return st;
}

static int write_results(struct cmd *c)
{
	char *text = NULL;
	int st = record_text(&c->record, &text);

	if (!st)
		st = iso_out_text("results.json", text);
	free(text);
	return st;
}

static int run_vangendt(struct cmd *c, const struct vangendt_scale *scale)
{
	struct vangendt v = { .c = c, .scale = scale };
	int st;

	if ((st = vangendt_plan(&v))) goto done;
	if ((st = open_devices(&v))) goto done;
	record_stage(&c->record, "table 2");
	if ((st = vangendt_ladder(&v))) goto done;
	record_stage(&c->record, "table 3");
	if ((st = vangendt_body(&v))) goto done;
	record_stage(&c->record, NULL);
	if ((st = vangendt_record(&v))) goto done;
	if ((st = write_page(&v))) goto done;
	st = write_results(c);
done:
	vangendt_free(&v);
	close_devices(&v);
	return st;
}

static int run(struct cmd *c, const struct settings *s)
{
	double began_s = iso_now_s();
	int st, scale = 0;

	while (strcmp(scales[scale].name, s->scale) != 0)
		scale++;
	if ((st = cmd_enter_folder(s->folder, !c->dry_run))) return st;
	if ((st = check_outputs(c))) return st;
	if ((st = cmd_begin(c))) return st;
	if ((st = run_vangendt(c, &scales[scale]))) return st;
	if (c->json)
		return cmd_report(c);
	term_clear(&c->term);
	printf("report  %s/report.html\ntime    %.0f s\n", s->folder, iso_now_s() - began_s);
	return ISO_OK;
}

int main_reproduce(int argc, char **argv)
{
	struct settings s = { .scale = "small" };
	struct cmd c = { 0 };
	struct opt own[] = {
		{ 0, "paper", .text = &s.paper, .words = papers, .value = "PAPER", .positional = true,
		  .required = true, .help = "vangendt2021 (list-mode PET)" },
		{ 'o', "output", .text = &s.folder, .value = "FOLDER", .required = true,
		  .help = "folder of all files; made if it is not there" },
		{ 0, "scale", .text = &s.scale, .words = scale_names, .value = "NAME",
		  .help = "how much data: tiny, small or full" },
		{ 0, "force", .flag = &c.force, .transient = true,
		  .help = "replace the files of an earlier run" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st)
		st = run(&c, &s);
	cmd_end(&c);
	return st;
}
