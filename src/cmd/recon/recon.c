/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome recon: an image from measured data. */
#include "cmd/cmd.h"
#include "recon_parts.h"

#include "core/size.h"
#include "io/format.h"
#include "problem/problem.h"

#include <string.h>

static const struct opt_usage usage = {
	"recon",
	"Reconstruct an image from measured data. The file alone is enough: Isotome finds the model and the "
	"scanner in the file, and the image covers the scanner's field of view. If you choose neither method "
	"nor voxels nor filter, --preset quick chooses them from PET events and prints the command that it "
	"stands for. The methods are MLEM or OSEM (ray, strip, barrel, srm), SVRG with a penalty, which "
	"converges in "
	"about ten passes, filtered back-projection (ubp), and penalised least squares (svoxel, sradon). The "
	"sensitivity of PET comes from the scanner (also for a histogram), or from a file. If the events do "
	"not fit in memory, Isotome reads them in blocks. If you interrupt a run, it leaves a checkpoint "
	"beside the output. Under mpirun, several processes share the work. 'isotome recon MODEL --help' "
	"prints the options of a model.",
	"  isotome recon scan.Cdh -o x.nii\n"
	"  isotome recon scan.Cdh --preset clinical -o x.nii\n"
	"  isotome recon ray --events e.lmdT --scanner examples/scanners/clinical-ring.yaml \\\n"
	"      --grid 128,128,50 --voxel 4 --method osem --subsets 8 --iterations 4 -o x.nii\n"
	"  isotome recon ray --events e.lmdT --sens s.nii --grid 128 --voxel 4 -o x.nii --resume\n"
	"  isotome recon ray --events e.Cdh --scanner s.yaml --grid 128 --voxel 4 --psf 4.5 \\\n"
	"      --delayed d.Cdh --frames 0:10:120,180,300 --isotope F-18 --filter gaussian:5 -o x.nii\n"
	"  isotome recon ray --events large.lmdT --sens s.nii --grid 256 --voxel 2 --method osem \\\n"
	"      --memory-limit 16 --scratch /data/tmp -o x.nii\n"
	"  isotome recon ray --events e.lmdT --scanner s.yaml --grid 128 --voxel 4 --method svrg \\\n"
	"      --penalty rdp:rel=0.2 -o x.nii\n"
	"  isotome recon ray --events e.Cdh --scanner s.yaml --grid 128 --voxel 4 --method osem \\\n"
	"      --replicates 20 --replicates-save replicates.nii --regions organs.nii -o x.nii\n"
	"  isotome recon strip --events e.f32 --scanner examples/scanners/bialas2015.yaml \\\n"
	"      --kernel tan --iterations 10 -o x.nii\n"
	"  isotome recon srm --srm m.srm --data counts.npy --method osem --subsets 10 -o x.nii\n"
	"  isotome recon ubp --data y.npy --scanner examples/scanners/wang2013.yaml \\\n"
	"      --grid 105,105,220 --voxel 0.28 -o x.nii\n"
	"  isotome recon Scan_9.msot -o slice.nii\n"
	"  isotome recon svoxel --scanner array.yaml --data traces.npy --grid 64 --voxel 0.28 \\\n"
	"      --method cg --penalty quadratic:1e4 --iterations 20 --curve cost.csv -o x.nii\n"
	"  daq | isotome recon strip --events - --follow --scanner strips.yaml -o x.npy\n"
	"  isotome recon --like x.json --iterations 8 -o y.nii\n"
	"  isotome recon scan.Cdh --iterations 50 --live -o x.nii\n",
};

static int check_follow(struct settings *s, struct cmd *c)
{
	int st;

	if (!s->follow.picture &&
	    (st = cmd_add_output(c, s->follow.picture = s->follow.path, "the picture of --output")))
		return st;
	st = cmd_check_output(c, s->out);
	return st ? st : cmd_check(c, s->follow.picture, iso_picture_write_check);
}

/* A preset looks at the data before a device is opened: on the CPU, within the memory and the threads of the run. */
static int check_settings(iso_problem *p, struct cmd *c)
{
	int st = iso_ctx_create(&p->ctx, "cpu", (int)c->threads);

	if (st) return st;
	iso_ctx_set_memory_limit(p->ctx, (int64_t)(c->memory_gb * 1e9));
	st = iso_problem_check(p);
	iso_ctx_free(p->ctx);
	p->ctx = NULL;
	return st;
}

static int check(iso_problem *p, struct cmd *c)
{
	struct settings *s = &p->s;
	int st = s->preset ? check_settings(p, c) : iso_problem_check(p);

	if (st) return st;
	return s->follow.on ? check_follow(s, c) : problem_check_files(p, &c->names);
}

/* ---- presets ---- */

/* Where argv has the word --preset; argc: nowhere. */
static int preset_word(int argc, char **argv)
{
	int i = 1;

	while (i < argc && strcmp(argv[i], "--preset") != 0 && strncmp(argv[i], "--preset=", 9) != 0) i++;
	return i;
}

/* The words of the command with the preset's choices in place of --preset: `words` has room. */
static int without_preset(char **words, char (*names)[32], const iso_problem *p, int argc, char **argv)
{
	const struct preset *t = &p->preset;
	int at = preset_word(argc, argv), own = at < argc && !strchr(argv[at], '=') ? 2 : 1, n = 0, rest = 0;

	while (rest < argc && strcmp(argv[rest], "--") != 0) rest++;
	for (int i = 0; i < rest; i++)
		if (i < at || i >= at + own) words[n++] = argv[i];
	for (int i = 0; i < t->n; i++) {
		snprintf(names[i], sizeof names[i], "--%s", t->choice[i].o->name);
		words[n++] = names[i];
		words[n++] = (char *)t->choice[i].text;
	}
	for (; rest < argc; rest++) words[n++] = argv[rest];
	return n;
}

/* The command that a preset stands for, on stderr and into the record. */
static int tell_preset(const iso_problem *p, struct cmd *c, int argc, char **argv)
{
	const struct preset *t = &p->preset;
	char names[PRESET_CHOICES][32], about[64], *line = NULL;
	char **words = t->settled ? size_alloc(argc + 2 * PRESET_CHOICES, sizeof *words) : NULL;
	int st = ISO_OK;

	if (!t->settled) return ISO_OK;
	if (words) line = command_line(without_preset(words, names, p, argc, argv), words);
	if (!line) st = iso_fail_memory("the command line", argc);
	if (!st) {
		snprintf(about, sizeof about, "preset %s stands for", p->s.preset);
		term_line(&c->term, about, line);
		st = record_set(&c->record, "stands_for", record_string(line));
	}
	free(line);
	free(words);
	return st;
}

/* A record has the values of its run: another preset would leave some of them. */
static int begin_preset(iso_problem *p, struct cmd *c, int argc, char **argv)
{
	if (c->like && preset_word(argc, argv) < argc)
		return iso_fail(ISO_EARG,
		                "--preset does not go with --like, which takes the values of %s; give the "
		                "files in place of --like",
		                c->like);
	problem_default_preset(p);
	return ISO_OK;
}

int main_recon(int argc, char **argv)
{
	iso_problem *p = NULL;
	struct cmd c = { 0 };
	struct scan scan = { 0 };
	struct live_page live = { 0 };
	struct unmixing unmixing = { 0 };
	const char *out = NULL;
	bool deterministic = false, quiet;
	int st = cmd_problem(&p, &c, argc, argv);

	if (st) return st;
	struct opt own[] = {
		cmd_model(&c),
		cmd_data(&c, p),
		CMD_OUTPUT(out, "image (.nii, .nii.gz, .hv, .npy, .raw)"),
		{ .name = "deterministic", .flag = &deterministic, .transient = true },
		{ 0 },
	};
	struct opt_set sets[] = {
		{ NULL, own },
		{ NULL, p->s.own },
		{ NULL, p->psf },
		p->sets[SET_MODEL],
		p->sets[SET_FRAMES],
		p->sets[SET_PENALTY],
		p->sets[SET_SQUARES],
		scan_params(&scan),
		live_params(&live),
		unmixing_params(&unmixing),
		p->sets[SET_STOP],
		p->sets[SET_UNITS],
		cmd_common(&c, CMD_COMPUTES | CMD_WRITES),
		p->sets[SET_MEMORY],
		p->sets[SET_REPLICATES],
		p->sets[SET_KINETICS],
		p->sets[SET_CHECKS],
		{ 0 },
	};

	if ((st = cmd_parse(&c, &usage, sets, argc, argv))) goto done;
	if (deterministic)
		record_note(&c.record,
		            "--deterministic does nothing and will go: results always have the same bits");
	p->like = c.like;
	p->force = c.force;
	if ((st = begin_preset(p, &c, argc, argv))) goto done;
	if ((st = live_check(&live)) || (st = scan_begin(&scan, p, &c, out))) goto done;
	p->ends = !scan.list;
	if ((st = settings_out(&p->s, scan.list ? scan.path : out))) goto done;
	if (!(st = unmixing_check(&unmixing, p, &c, out)) && !(st = check(p, &c)) &&
	    !(st = problem_record_parameters(p)) && !(st = tell_preset(p, &c, argc, argv)) &&
	    !(st = cmd_problem_begin(p, &c)) && !(st = live_begin(&live, p, &c, out)))
		st = scan.list ? scan_run(&scan, p, &c) : iso_problem_recon(NULL, out, p);
	live_end(&live, st, out);
done:
	iso_problem_free(p);
	quiet = c.quiet;
	st = cmd_end(&c, st);
	return st || ranks_idle() ? st : unmixing_run(&unmixing, quiet);
}
