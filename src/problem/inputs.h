/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of data that problems and other commands read: events, strip events, histograms, transducers. */
#ifndef ISO_INPUTS_H
#define ISO_INPUTS_H

#include "io/events.h"
#include "problem/param.h"
#include "problem/record/record.h"

/* ---- events ---- */

/* Entries of a table of options; o is a struct iso_events_options of static or longer life. */
#define EVENTS_OPTS(o)                                                                                      \
	{ 0, "gate-mask", .text = &(o).gate_mask, .value = "SWITCHES",                                      \
	  .help = "GATE text: the 18 column switches, \"1 1 0 ...\", if some are off" },                    \
		{ 0, "trues-only", .flag = &(o).trues_only,                                                 \
		  .help = "GATE: keep only pairs of one decay whose photons did not scatter in the "        \
		          "phantom" },                                                                      \
		{ 0, "tree", .text = &(o).tree, .value = "NAME",                                            \
		  .help = "GATE's ROOT and HDF5 files: name of the tree or table (default Coincidences)" }, \
		{ 0,                                                                                        \
		  "bins",                                                                                   \
		  .text = &(o).bins,                                                                        \
		  .words = iso_bins_words,                                                                  \
		  .value = "WHAT",                                                                          \
		  .absent = "what the values look like",                                                    \
		  .help = "projection data: values are counts, which grow with the number of crystal "      \
		          "pairs of a bin, or line-integrals, which do not" },                              \
		{ 0, "no-multiplicity", .flag = &(o).no_multiplicity,                                       \
		  .help = "projection data: the same as 'bins' line-integrals" },                           \
		{ 0,                                                                                        \
		  "negative",                                                                               \
		  .text = &(o).negative,                                                                    \
		  .words = iso_negative_words,                                                              \
		  .value = "WHAT",                                                                          \
		  .absent = "clip if their sum is at most 1 % of the others', otherwise refuse",            \
		  .help = "projection data with values below 0: clip them to 0, keep them (recon "          \
		          "then refuses), or refuse the file" },                                            \
	{                                                                                                   \
		0, "swap-dt", .flag = &(o).swap_dt, .help = "turn the sign of the file's time differences"  \
	}

/* And the scanner, for commands that have it for this alone. */
#define EVENTS_SCANNER_OPT(path)                                                                        \
	{                                                                                               \
		0, "scanner",                                                                           \
			.text = &(path), .file = OPT_MAY_READ, .value = "FILE",                         \
			.help = "where the crystals are, for events of crystal numbers: a description " \
				"(YAML or JSON) or a CASToR .hscan or .geom"                            \
	}

/* The same of strip events; o is a struct iso_strip_options. */
#define STRIP_EVENTS_OPTS(o)                                                                            \
	{                                                                                               \
		0,                                                                                      \
		"event-unit-mm",                                                                        \
		.real = &(o).mm,                                                                        \
		.value = "MM",                                                                          \
		.min = 1e-9,                                                                            \
		.max = 1e9,                                                                             \
		.absent = "1",                                                                          \
		.help = "strip events: the file's unit of length"                                       \
	},                                                                                              \
	{                                                                                               \
		0, "dl-is-time", .flag = &(o).dl_is_time,                                               \
				 .help = "strip events: the third value is t_up - t_down in ps, not mm" \
	}

/* Warnings about what was read: bad events, lines that could not be used. */
void events_warn(struct record *record, const char *path, const struct iso_events *e);

/* A parameter that says otherwise than a file: a warning with both values, of which the parameter's is taken. 0: the
   file does not say. Values that agree to the digits that are written of one of them, and to 1 %, are the same. */
void input_overridden(struct record *record, const char *path, const char *name, double given, double of_file,
                      const char *unit);

/* The same of 'isotope' or 'half-life-s' (NULL, 0: not given), and the isotope that a file names; "": none. */
void input_decay_overridden(struct record *record, const char *path, const char *isotope, double half_life_s,
                            const char *of_file);

/* The scanner that a file of events brings, where `given`, from the file `name`, stands for it: ISO_EARG where they
   differ, with figures of both; a warning if `differs` ('scanner-differs'). */
int input_scanner(struct record *record, const iso_event_file *f, const char *path, const iso_scanner *given,
                  const char *name, bool differs);

/* A table of poses, from the file or from the array that stands for it: an input of the record, and what is odd about it a
   warning. */
int input_poses(iso_poses **p, struct record *record, const char *path, const struct iso_poses_options *o);

/* Strip events, from one file to another, block by block; the output was checked. */
int strip_convert(struct record *record, const char *from, const char *to, const struct iso_strip_options *o);

/* As describe_events. */
int strip_describe(json_t *out, const char *path);

/* ---- histograms and transducers: srm/srm_lors.c, sound/sound.c ---- */

/* Histograms of LORs, as files: (Ncx, Ncz, Ncx, Ncz), with layers (L, L, ...) before. The axes, and their
   number; a file of that shape, whose values are neither negative nor not finite. */
int lors_shape(int64_t dim[8], const struct iso_panels *p);
int lors_read(struct record *record, struct iso_array *a, const char *path, const struct iso_panels *p);

#define TRANSDUCERS_FILES "YAML or JSON (kind: transducers), or a file of traces that holds them"

/* One of s and r is set; t is of that one. */
struct transducers {
	iso_scanner *s;                  /* a description */
	iso_recording *r;                /* a file of traces */
	const struct iso_transducers *t; /* its speed may be 0: not said */
	const struct iso_faces *faces;   /* NULL: flat */
};

/* The file becomes an input of the record, and what it warns of a warning. */
int transducers_load(struct transducers *f, struct record *record, const char *path);
void transducers_free(struct transducers *f);

/* What was read of traces otherwise than the file has it. */
void transducers_warn(struct record *record, const iso_recording *r);

/* iso_recording_of an array that was read from `path`, whose name all that is told has. */
int transducers_traces(iso_recording **r, struct record *record, const struct iso_transducers *t,
                       const struct iso_array *y, const char *path);

/* The share of its scan that a file of events has, from the record beside it; 0: all, or nothing is said. */
double record_part_share(const json_t *record);

#endif
