# SPDX-License-Identifier: BSD-3-Clause
"""The CUDA half of Isotome: a library, which the package isotome loads when it first uses a CUDA device."""
