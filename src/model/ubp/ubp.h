/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ubp as both backends see it. */
#ifndef ISO_UBP_H
#define ISO_UBP_H

#include "core/op.h"
#include "ubp_kern.h"

#define UBP_CANNOT "ubp: it makes images from traces; there is no way back"

/* Data of the operator; on CUDA the arrays are device memory. */
struct ubp_model {
	struct ubp_params p;
	enum iso_ubp_weights weights;
	struct ubp_source *source;
	struct ubp_face *face;
	int64_t *first; /* sample of the first pair, of each transducer */
};

#endif
