/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that 'replicates' writes beside the image. */
#ifndef ISO_REPLICATES_H
#define ISO_REPLICATES_H

#include "problem/problem.h"

enum replicates_file {
	REPLICATES_MEAN,
	REPLICATES_SD,
	REPLICATES_TABLE,
	REPLICATES_COVARIANCE,
	REPLICATES_REGIONS,
	REPLICATES_FILES,
};

int replicates_path(char path[PATH_MAX], const struct settings *s, enum replicates_file which);

#endif
