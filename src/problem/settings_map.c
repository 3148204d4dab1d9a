/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of penalties, of penalised likelihood and of kernel EM. */
#include "problem.h"

#include <string.h>

static const char *const unseen[] = { "drop", "keep", NULL };

enum { SHARED = 3 }; /* parameters that least squares has too, the first of the table */

struct opt_set map_params(struct penalties *p, const struct model *m, const struct method_words *w)
{
	bool cg = !(m->has & MODEL_COUNTS); /* or the model has none of these */
	const struct opt opts[] = {
		{ 0, "penalty", .text = &p->text, .value = "KIND:STRENGTH", .goes = TAKES_PENALTY,
		  .help = p->help },
		{ 0, "tolerance", .real = &p->tolerance, .value = "T", .min = 0, .max = .999,
		  .goes = TAKES_TOLERANCE, .absent = w->tolerance,
		  .help = cg ? "stop when the gradient has fallen to this share of the first; pdhg: when the "
		               "duality gap is below this share of |data|^2"
		             : "stop when the image changes by less than this share over two passes of all "
		               "subsets; lbfgs: when the gradient divided by the sensitivity is below this "
		               "(KKT); pdhg, spdhg: when the duality gap is below this share of the counts; "
		               "0: never" },
		{ 0, "curve", .text = &p->curve, .file = OPT_WRITES, .value = "FILE.csv",
		  .goes = TAKES_PENALTY | TAKES_FILES,
		  .help = cg ? "write cost and gradient after each iteration; for pdhg the duality gap"
		             : "write the objective, its parts and the gradient, or the duality gap, on the "
		               "way" },
		{ 0, "kappa", .text = &p->kappa, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE|auto", .or_word = "auto", .absent = "1 everywhere", .goes = TAKES_PAIRS,
		  .with = "penalty",
		  .help = "image that weights the penalty; each pair of voxels is weighted by both values. "
		          "auto: computed from the data, so that the resolution is nearly the same "
		          "everywhere" },
		{ 0, "unseen", .text = &p->unseen, .words = unseen, .value = "WORD", .goes = TAKES_UNSEEN,
		  .help = "what to do with voxels without sensitivity. drop: they are no neighbours of any "
		          "voxel; keep: they are neighbours of value 0, as in STIR without kappa" },
		{ 0, "bowsher", .text = &p->bowsher, .file = OPT_FIRST, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE[,N]", .goes = TAKES_PAIRS, .with = "penalty",
		  .help = "anatomical image on the grid. Only the N neighbours of a voxel that are most "
		          "alike in this image count (7 of 26; 3 of 8 in one plane)" },
		{ 0, "step", .real = &p->step, .value = "A", .min = 1e-6, .max = 100, .absent = "1",
		  .goes = TAKES_STEP, .help = "length of a step of svrg, saga, bsrem" },
		{ 0, "relax", .real = &p->relax, .value = "E", .min = 0, .max = 1e6,
		  .absent = "the step falls to a fiftieth by the last pass", .goes = TAKES_RELAX,
		  .help = "for bsrem: shrink the step as 1/(1 + E passes); 0: do not shrink the step. By "
		          "default bsrem came within 1 % of the maximum in 60 passes with 13 counts a voxel "
		          "or more; with 4 counts a voxel it came within 3 to 5 %, where svrg took 21 to 35 "
		          "passes" },
		{ 0, "kernel", .text = &p->kernel, .file = OPT_FIRST, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE[,FILE...]", .goes = TAKES_KERNEL,
		  .help = "for kem: images of features on the grid, from which Isotome makes each voxel's "
		          "kernel. Then k=48 (voxels of a kernel), radius=3 (of the window), sigma=1, each "
		          "after a comma" },
		{ 0 },
	};
	int last = (int)(sizeof opts / sizeof *opts) - 2;

	_Static_assert(sizeof p->opts == sizeof opts, "room for the options");
	penalty_help(p->help, sizeof p->help, m);
	memcpy(p->opts, opts, sizeof opts);
	if (cg) p->opts[SHARED] = opts[last + 1];
	if (!(m->has & MODEL_FEATURES)) p->opts[last] = opts[last + 1]; /* strip has a 'kernel' of its own */
	return (struct opt_set){ m->has & MODEL_FEATURES ? "Penalties and kernels" : "Penalties", p->opts };
}
