/* SPDX-License-Identifier: BSD-3-Clause */
/* What a format of recordings is; kinds.c holds the table. */
#ifndef ISO_RECORDING_H
#define ISO_RECORDING_H

#include "core/status.h"

struct iso_recording {
	char *path; /* NULL: the array's */
	const struct iso_recording_format *format;
	struct iso_recording_info info;
	int64_t *at; /* MSOT: record of (frame, wavelength) in the .bin */
	int axis[2]; /* IPASC: axes of wavelengths and frames; -1: none */
	const struct iso_array *array;
	const iso_ctx *ctx; /* whose request to stop ends the reading of traces; NULL: nobody's */
	int64_t lead;       /* samples of a stored trace before the first that is read */
};

/* Samples of a stored trace. */
static inline int64_t iso_recording_stored(const iso_recording *r)
{
	return r->lead + r->info.t.samples;
}

/* Which of the stored traces: of some transducers, of one wavelength and frame. */
struct iso_traces_part {
	int64_t wavelength, frame, first, n; /* first, n: transducers */
};

/* Sizes and geometry are filled by open; the caller finishes the transducers, and takes what it
   wants of the stored traces that `read` gives. */
struct iso_recording_format {
	const char *library; /* what a build needs for it; without, the functions are NULL */
	bool writable;
	int (*open)(iso_recording *r);
	int (*read)(iso_real *y, const iso_recording *r, const struct iso_traces_part *p);
	/* To a new file of the name temp, which exists. NULL: only read */
	int (*write)(const char *temp, const char *path, const iso_recording *r);
};

int iso_ipasc_open(iso_recording *r);
int iso_ipasc_read(iso_real *y, const iso_recording *r, const struct iso_traces_part *p);
/* The same in this process, which a damaged file may take with it. */
int iso_ipasc_open_here(void *recording);
int iso_ipasc_read_here(iso_real *y, const iso_recording *r, const struct iso_traces_part *p);
int iso_ipasc_write(const char *temp, const char *path, const iso_recording *r);

int iso_msot_open(iso_recording *r);
int iso_msot_read(iso_real *y, const iso_recording *r, const struct iso_traces_part *p);

/* Whether the first sample is a whole number of steps after the laser pulse, and how many. */
bool iso_recording_lead(int64_t *lead, const struct iso_transducers *t);

/* "PATH: ..." (of an array without it), one more line for the user; what does not fit is dropped. */
void iso_recording_warn(iso_recording *r, const char *fmt, ...) ISO_PRINTF(2, 3);

#endif
