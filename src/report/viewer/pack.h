/* SPDX-License-Identifier: BSD-3-Clause */
/* Images small enough to lie in a page: whole numbers of 8 or 16 bits with scale and offset, compressed; where
   that is still too much, of fewer voxels. */
#ifndef ISO_PACK_H
#define ISO_PACK_H

#include "image/places.h"

/* What one image may take, in bytes before base64, which makes 4 characters of 3: two take 5 million
   characters. One of several frames may take four times that. */
#define ISO_PACK_BYTES 1875000
#define ISO_PACK_FRAMES 4

#define ISO_PACK_VOXELS (1 << 24) /* of all frames: what a browser unpacks without delay */

/* A value is offset + scale * code. zlib's bytes hold, for 8 bits, a byte a voxel, for 16 bits the upper bytes
   of all voxels and then the lower ones, x fastest: of the difference d from the voxel before (0 before the
   first), modulo 2^bits and as a signed number, 2 d if it is not negative and -2 d - 1 if it is. */
struct iso_pack_frame {
	double scale, offset;
	unsigned char *bytes;
	size_t n;
};

struct iso_pack {
	struct iso_grid grid; /* of the voxels that are stored */
	int64_t block[3];     /* voxels of the image, of which each is the mean */
	int bits;
	bool exact;      /* values are the image's own; else they differ by half a scale at most */
	double min, max; /* of the finite values of all frames; both 0 if there are none */
	bool not_finite; /* the highest code stands for values that are NaN or infinite */
	int64_t frames;
	struct iso_pack_frame *frame;
};

/* Frames follow each other in memory, from the first. A block that reaches beyond the image is the mean of what
   lies in it; one with a value that is not finite is not finite. At most `most` bytes in all, unless one voxel takes
   more. */
int iso_pack_make(struct iso_pack *p, const struct iso_shown *first, int64_t frames, size_t most);
void iso_pack_free(struct iso_pack *p);

#endif
