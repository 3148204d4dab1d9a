/* SPDX-License-Identifier: BSD-3-Clause */
/* Pixels as PNG, in memory. */
#include "core/size.h"
#include "core/status.h"
#include "format.h"

#include <png.h>

enum { MOST_PIXELS = INT32_MAX / 3 }; /* libpng's simplified interface counts rows in 32 bits */

int iso_png_encode(void **bytes, size_t *n, const struct iso_pixels *p)
{
	png_image image = { .version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB };
	png_alloc_size_t size;
	int64_t pixels;
	void *data;

	if (p->width < 1 || p->height < 1 || !p->rgb || !size_mul(&pixels, p->width, p->height) ||
	    pixels > MOST_PIXELS)
		return iso_fail(ISO_EARG,
		                "PNG: %" PRId64 " x %" PRId64
		                " pixels, must be at least 1 x 1 and at most %d in all",
		                p->width, p->height, MOST_PIXELS);
	image.width = (png_uint_32)p->width;
	image.height = (png_uint_32)p->height;
	size = PNG_IMAGE_PNG_SIZE_MAX(image);
	data = malloc(size);
	if (!data) return iso_fail_memory("PNG", (int64_t)size);
	if (!png_image_write_to_memory(&image, data, &size, 0, p->rgb, 0, NULL)) {
		free(data);
		return iso_fail(ISO_ENOMEM, "PNG: %s", image.message);
	}
	*bytes = data;
	*n = size;
	return ISO_OK;
}
