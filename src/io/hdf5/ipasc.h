/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of the IPASC format that its reader and its writer share. SI units. */
#ifndef ISO_IPASC_H
#define ISO_IPASC_H

#define IPASC_DATA "/binary_time_series_data" /* (detectors, samples, wavelengths, measurements) */
#define IPASC_META "/meta_data/"
#define IPASC_DEVICE "/meta_data_device/"
#define IPASC_FIELD IPASC_DEVICE "general/field_of_view"
#define IPASC_DETECTORS IPASC_DEVICE "detectors"

#endif
