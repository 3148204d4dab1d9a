/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator of one rank: a sum over itself changes nothing. */
#include "comm.h"

static int sum_integers(const struct iso_comm *c, int64_t n, int64_t *x)
{
	(void)c, (void)n, (void)x;
	return ISO_OK;
}

static int sum_doubles(const struct iso_comm *c, int64_t n, double *x)
{
	(void)c, (void)n, (void)x;
	return ISO_OK;
}

const struct iso_comm iso_comm_self = {
	.rank = 0,
	.size = 1,
	.sum_integers = sum_integers,
	.sum_doubles = sum_doubles,
};
