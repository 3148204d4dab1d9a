/* SPDX-License-Identifier: BSD-3-Clause */
/* List-mode events and histograms of LORs in memory, and the files that hold them. Ends of LORs are mm,
   time differences ps, times of events ms since the start of the scan.

   Threads: several may read one open file, each into a block of its own; a list that a function writes,
   and a writer, belong to one thread. */
#ifndef ISOTOME_EVENTS_H
#define ISOTOME_EVENTS_H

#include "isotome/scanner.h"
#include "isotome/context.h"

ISO_BEGIN_C

struct iso_event {
	float p1[3], p2[3]; /* ends of the LOR, mm */
	float dt_ps;        /* t1 - t2: positive means nearer to p2 */
};

/* A list of events, or a histogram: LORs with counts. */
struct iso_events {
	int64_t n;
	struct iso_event *v;
	int64_t n_bad; /* non-finite or p1 = p2: kept, but they project to 0 */

	/* Further values of some formats, one per event; NULL: not in the file. */
	uint32_t *time_ms; /* since the start of the scan */
	iso_real *count;   /* of a histogram's LOR; NULL: each event counts 1 */
	iso_real *mult;    /* attenuation x normalisation: expected counts over line integral */
	iso_real *add;     /* expected randoms and scatter, in counts (with TOF: per mm, or, if
				   tof_bin_ps is not 0, per bin) */
	uint32_t *crystal; /* (n, 2): numbers of the two crystals */
	iso_real *fwhm_ps; /* TOF resolution of the event itself, above 0; NULL: one holds for all */

	/* Values of the whole file; 0: not in the file. */
	double tof_fwhm_ps, tof_bin_ps; /* bin: times are centres of bins of this width */
	double start_s, duration_s;
	char isotope[16];   /* "F-18"; "": not said */
	double calibration; /* factor by which the maker multiplies images (CASToR's); 0: not in the file */

	/* For a text file: number of lines that could not be used, and number of the first such line (from 1). For
	   GATE: number of coincidences that trues_only left out. */
	int64_t n_lines_bad, first_line_bad, n_left_out;

	/* lists_all: the histogram has every line that could have been measured, also lines without counts, so its
	   sensitivity is the back-projection of `mult`. attenuated: `mult` contains the attenuation. */
	bool lists_all, attenuated;
};

/* How to read a file that does not say everything. A struct of zeros with its `size` is a good start. */
struct iso_events_options {
	size_t size;                /* size of this struct */
	const iso_scanner *scanner; /* for files of crystal numbers; borrowed */
	const char *gate_mask;      /* GATE ASCII: its column switches, "1 1 0 ...", 18 for both singles or
					   36; NULL: none is off */
	bool trues_only;            /* GATE: both photons of one decay, neither scattered */
	bool swap_dt;               /* the file's times have the other sign */
	const iso_ctx *ctx;         /* whose threads read, whose memory limit holds and whose request to
					   stop ends it; NULL: one thread; borrowed */
	bool delayeds; /* of a file that holds both: the delayed coincidences in place of the prompts */
	bool no_multiplicity; /* projection data: as bins "line-integrals" */
	const char *tree;     /* GATE's ROOT and HDF5 files: name of the tree or table; NULL: Coincidences,
				   or, with delayeds, delay */
	bool scanner_differs; /* iso_events_read takes `scanner` though the file brings another one, which is
				   ISO_EARG otherwise */
	const char *bins;     /* projection data: what values are, "counts" or "line-integrals"; NULL: told
				   from the values */
	const char *negative; /* projection data: values below 0, "clip" to 0, "keep" or "refuse"; NULL:
				   clip them where their sum is at most 1 % of the others', else refuse */
	bool moving;          /* take a file whose bed or gantry moves, which is refused otherwise: its events
				   are where the crystals were before they moved */
};

/* Reads a file by its first bytes or its suffix: .lmdT (stores t2 - t1; the reader and the writer turn the sign),
   .Cdh (CASToR list mode or histogram), .dat or .txt (GATE ASCII coincidences), .csv (columns with names), .root and .hdf5 (GATE's trees and
   tables), .hs (Interfile projection data), .l and .l.hdr (PETLINK), .petsird, .npy of rows or records. `options`
   may be NULL. docs/formats.md says what each holds. */
ISO_CHECKED int iso_events_read(struct iso_events *e, const char *path, const struct iso_events_options *o);
void iso_events_free(struct iso_events *e);
bool iso_event_bad(const struct iso_event *e); /* as n_bad counts them; true of NULL */

/* .lmdT, .npy (n, 7), or .Cdh, which keeps everything except counts. .Cdh needs a scanner (NULL: none) and
   writes it as .hscan and .lut. Histograms are refused. */
ISO_CHECKED int iso_events_write(const char *path, const struct iso_events *e, const char *sidecar);
ISO_CHECKED int iso_events_write_with(const char *path, const struct iso_events *e, const iso_scanner *s,
                                      const char *sidecar);
ISO_CHECKED int iso_events_write_check(const char *path, bool force); /* as iso_write_check */

/* Fills e->crystal, if it is NULL, with the crystals nearest to the ends. *most is the largest distance of the
   end of a good event from its crystal, mm. */
ISO_CHECKED int iso_events_crystals(struct iso_events *e, double *most, const iso_scanner *s);

/* ---- files of events, piece by piece ---- */

typedef struct iso_event_file iso_event_file;

struct iso_events_info {
	size_t size;        /* size of this struct, as the library has it */
	const char *format; /* "lmdT", "CASToR list mode", ... */
	int64_t n;          /* number of events; a histogram counts each TOF bin as one */
	int64_t delayeds;   /* delayed coincidences of a file that holds them and prompts; 0: none */
	int64_t bytes;      /* of the records */
	bool has_dt, has_time, has_count, has_crystal;
	bool attenuation, normalisation;                     /* either: there is mult */
	bool scatter, randoms;                               /* either: there is add */
	double tof_fwhm_ps, tof_bin_ps, start_s, duration_s; /* as in struct iso_events */
	char isotope[16];
	double calibration;  /* as in struct iso_events */
	double max_axial_mm; /* ends of lines farther apart along the axis were not recorded; 0: any were */
	char ignored[320];   /* contents of the file that are not used, in words; "": none */
	bool multiplicity;   /* mult is the number of crystal pairs of each bin of a histogram */
	bool lists_all;      /* as in struct iso_events */
	char layout[160];    /* what the bins of a histogram are, in words; "": not known */
	char assumed[800];   /* what the file does not say, and how it was taken; "": nothing */
	char warning[240];   /* what is wrong with it, in words; "": nothing */
	bool has_fwhm;       /* each event has a TOF resolution of its own */
};

/* Opens every format of iso_events_read except text, which must be converted first. A scanner and a context that the options
   give must outlive the file. */
ISO_CHECKED int iso_event_file_open(iso_event_file **f, const char *path, const struct iso_events_options *o);
void iso_event_file_close(iso_event_file *f);
const struct iso_events_info *iso_event_file_info(const iso_event_file *f);
const iso_scanner *iso_event_file_scanner(const iso_event_file *f); /* NULL: not needed */

/* The scanner in a file of events. If the file has none, *s becomes NULL or, with `assume`, a cylinder through
   the ends of the events; iso_scanner_assumed is true for it. ISO_EINPUT if the ends lie on no cylinder. Free it with
   iso_scanner_free. */
ISO_CHECKED int iso_events_scanner(iso_scanner **s, const char *path, const struct iso_events_options *o,
                                   bool assume);

/* Room for n events of this file, with the arrays that it fills; free with iso_events_free. */
ISO_CHECKED int iso_event_file_block(struct iso_events *block, const iso_event_file *f, int64_t n);

/* Events first ... first + n - 1 into a block with room for them; sets its n and n_bad. Threads
   may read one file at the same time, each into a block of its own. */
ISO_CHECKED int iso_event_file_read(struct iso_events *block, const iso_event_file *f, int64_t first,
                                    int64_t n);

/* Lowest and highest values of the good events: both ends, times, and further values. First above second:
   there are none. */
struct iso_events_stats {
	size_t size; /* size of this struct, set by the caller */
	int64_t n, n_bad;
	struct iso_events_ends {
		double x[2], y[2], z[2];
	} ends_mm;
	double dt_ps[2], time_s[2], count[2], mult[2], add[2];
	double counts; /* sum over the good events; each counts 1 if the file has no counts */
};

ISO_CHECKED int iso_events_stats_begin(struct iso_events_stats *s); /* begins with no events */
/* Adds these events. */
ISO_CHECKED int iso_events_stats_add(struct iso_events_stats *s, const struct iso_events *e);
ISO_CHECKED int iso_event_file_stats(struct iso_events_stats *s,
                                     const iso_event_file *f); /* all events, block by block */

typedef struct iso_event_writer iso_event_writer;

/* Writes a file block by block. Nothing exists under `path` before it is closed. The suffix decides, as in
   iso_events_write_with. n: number of events to come, checked against the free space; 0 if not known. All
   blocks have the arrays of the first. */
ISO_CHECKED int iso_event_writer_open(iso_event_writer **w, const char *path, const iso_scanner *s,
                                      int64_t n);
/* Before the first block: a PETSIRD file gets efficiencies in its header, pairs times their weight by solid angle, with which a
   norm is made; ISO_EARG for other files. What `f` points to is borrowed until the first block is there. */
ISO_CHECKED int iso_event_writer_factors(iso_event_writer *w, const struct iso_pair_factors *f);
ISO_CHECKED int iso_event_writer_append(iso_event_writer *w, const struct iso_events *block);
ISO_CHECKED int iso_event_writer_close(iso_event_writer *w,
                                       const char *sidecar); /* frees, even if it fails */
void iso_event_writer_free(iso_event_writer *w);             /* gives up: no file is left */

ISO_END_C
#endif
