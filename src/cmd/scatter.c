/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome scatter: scattered coincidences that an image makes in a ring. */
#include "cmd.h"

#include "file/suffix.h"
#include "io/format.h"
#include "problem/problem.h"

static const struct opt_usage usage = {
	"scatter",
	"Estimate the scattered coincidences of a PET ring in absolute counts, from an attenuation map and "
	"an image in the units of recon (counts per mm of chord). The result is one value per event, for "
	"--additive, or the table itself over sample detectors and time of flight. 'isotome recon --scatter' "
	"repeats this estimate in turn with the image.",
	"  isotome scatter ring.yaml x.nii --mu mu.nii --events e.lmdT -o r.npy\n"
	"  isotome scatter ring.yaml x.nii --mu mu.nii --norm eff.npy --events e.lmdT --method sss -o r.npy\n"
	"  isotome scatter ring.yaml x.nii --mu mu.nii -o scatter.h5\n",
};

static int run(iso_problem *p, struct cmd *c, const char *in, const char *out)
{
	bool table = iso_has_suffix(out, ".h5");
	struct iso_array x = { 0 }, r = { 0 };
	int st;

	record_stage(&c->record, "read");
	if ((st = record_read(&c->record, &x, in, ISO_NONNEGATIVE)) || (st = record_input(&c->record, in)))
		goto done;
	if ((st = problem_scatter(p, &x, table ? NULL : &r, table ? out : NULL))) goto done;
	if (!table) st = cmd_write(c, out, &r);
done:
	iso_array_free(&x);
	iso_array_free(&r);
	return st;
}

int main_scatter(int argc, char **argv)
{
	const char *in = NULL, *out = NULL;
	struct cmd c = { 0 };
	iso_problem *p = NULL;
	int st = problem_create(&p, "ray", &c.record);

	if (st) return st;
	c.model = "ray";
	struct opt_set params[] = { { NULL, p->params }, { 0 } };
	const struct opt *scanner = opt_find(params, "scanner"), *method = opt_find(params, "scatter");
	struct opt own[] = {
		{ .name = "ring",
		  .text = scanner->text,
		  .file = OPT_READS,
		  .value = "SCANNER",
		  .positional = true,
		  .required = true,
		  .transient = true,
		  .help = "scanner description, as 'scanner' of model ray" },
		CMD_ARGUMENT("image", in, OPT_READS, "IMAGE", "image in counts/mm, as recon makes it"),
		CMD_OUTPUT(out, "one value per event (.npy), or the table (.h5)"),
		{ 0, "method", .text = method->text, .words = method->words, .value = "METHOD",
		  .transient = true, .absent = "sss+mc", .help = "the same as 'scatter'" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own },
		                  p->sets[SET_MODEL],
		                  p->sets[SET_CHECKS],
		                  cmd_common(&c, CMD_COMPUTES | CMD_WRITES),
		                  { 0 } };

	if ((st = cmd_parse(&c, &usage, sets, argc, argv))) goto done;
	bool table = iso_has_suffix(out, ".h5");

	st = table ? cmd_check(&c, out, iso_target_check) : cmd_check_array(&c, out);
	if (!st && !table && !cmd_given(&c, "events") && !cmd_given(&c, "data"))
		st = iso_fail(ISO_EARG, "%s: values of events need --events; the table alone is a .h5", out);
	if (!st && !(st = cmd_problem_begin(p, &c))) st = run(p, &c, in, out);
done:
	iso_problem_free(p);
	return cmd_end(&c, st);
}
