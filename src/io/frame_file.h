/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of traces (transducers, samples) as they come: from a pipe, standard input ("-") or a file that grows. They
   stand one behind the other, little-endian, without a head, or behind that of a .npy file. */
#ifndef ISO_FRAME_FILE_H
#define ISO_FRAME_FILE_H

#include "isotome/sound_stream.h"

typedef struct iso_frame_file iso_frame_file;

/* `sample`: of frames without a head. */
int iso_frame_file_open(iso_frame_file **f, const char *path, int64_t transducers, int64_t samples,
                        enum iso_sample sample);
void iso_frame_file_close(iso_frame_file *f);

/* Waits up to about wait_s for what comes before the first frame. *ready: the numbers of a frame are known. *end: the
   pipe has ended. */
int iso_frame_file_begin(bool *ready, bool *end, iso_frame_file *f, double wait_s);
enum iso_sample iso_frame_file_sample(const iso_frame_file *f);
int64_t iso_frame_file_bytes(const iso_frame_file *f); /* of a frame */
bool iso_frame_file_is_pipe(const iso_frame_file *f);  /* else a file, which waits for its reader */
bool iso_frame_file_ends(const iso_frame_file *f);     /* else it may grow */

/* The next frame, whole, into `frame`, which must be the same place until it came. Waits up to about wait_s. */
int iso_frame_file_next(void *frame, bool *came, bool *end, iso_frame_file *f, double wait_s);

/* Bytes of a frame that has begun and is not whole. */
int64_t iso_frame_file_rest(const iso_frame_file *f);

#endif
