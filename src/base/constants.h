/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that more than one file needs, said once. */
#ifndef ISO_CONSTANTS_H
#define ISO_CONSTANTS_H

#define ISO_C_MM_PER_PS 0.299792458           /* speed of light */
#define ISO_FWHM_PER_SIGMA 2.3548200450309493 /* of a Gaussian: 2 sqrt(2 ln 2) */

#endif
