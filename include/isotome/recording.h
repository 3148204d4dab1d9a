/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings: files that hold traces with their transducers.

   Threads: a recording belongs to one thread at a time. */
#ifndef ISOTOME_RECORDING_H
#define ISOTOME_RECORDING_H

#include "isotome/array.h"
#include "isotome/transducers.h"

ISO_BEGIN_C

/* IPASC (.hdf5, .h5) or iThera MSOT (.msot with .bin): traces of one array of transducers for some
   wavelengths and frames. The traces stay in the file until they are read. */
typedef struct iso_recording iso_recording;

struct iso_recording_info {
	size_t size;              /* size of this struct, as the library has it */
	struct iso_transducers t; /* speed 0: not said; gamma is 1, as no file says it */
	int64_t wavelengths, frames;
	double *wavelength_nm; /* (wavelengths); NULL: not said */
	bool has_field;
	double field[6];         /* field of view, mm: x from, to, y from, to, z from, to */
	int n_warnings;          /* what was read otherwise than the file has it */
	char warning[10][200];   /* room for one of each kind */
	struct iso_faces *faces; /* NULL: flat, or not said */
	double *energy_mj;       /* (frames, wavelengths), energy of the laser's pulses; NULL: not said */
};

bool iso_is_recording(const char *path); /* by suffix */
ISO_CHECKED int iso_recording_open(iso_recording **r,
                                   const char *path); /* the head; traces are read on demand */
/* Of an array (n, samples) or (frames, wavelengths, n, samples); borrows array and transducers. The
   array may also begin at the laser pulse where the transducers' record begins later, as what
   iso_recording_write wrote does: the samples between are then left out. */
ISO_CHECKED int iso_recording_of(iso_recording **r, const struct iso_transducers *t,
                                 const struct iso_array *y);
void iso_recording_free(iso_recording *r);

/* What a recording holds; valid as long as the recording. */
const struct iso_recording_info *iso_recording_info(const iso_recording *r);

/* A file whose transducers t are described elsewhere: what is read from now on is t's record,
   (t->n, t->samples), with samples left out as above. ISO_EINPUT where sizes do not fit. */
ISO_CHECKED int iso_recording_fit(iso_recording *r, const struct iso_transducers *t);

/* Traces (n, samples) of a wavelength and a frame, each from 0; all values are finite. */
ISO_CHECKED int iso_recording_read(iso_real *y, const iso_recording *r, int64_t wavelength, int64_t frame);
/* The same of the transducers first ... first + n - 1 alone. */
ISO_CHECKED int iso_recording_read_some(iso_real *y, const iso_recording *r, int64_t wavelength,
                                        int64_t frame, int64_t first, int64_t n);

/* Least and greatest value of all traces, read piece by piece. */
ISO_CHECKED int iso_recording_range(double range[2], const iso_recording *r);

/* Writes IPASC, by suffix. The traces of IPASC begin at the laser pulse, so traces that begin later get zeros
   before them. IPASC can't store areas, an impulse response and a Grueneisen parameter. */
ISO_CHECKED int iso_recording_write(const char *path, const iso_recording *r, const char *sidecar);
ISO_CHECKED int iso_recording_write_check(const char *path, bool force);

ISO_END_C
#endif
