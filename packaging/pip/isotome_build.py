# SPDX-License-Identifier: BSD-3-Clause
"""What pip calls to build the package: scikit-build-core, with a line a stage on the terminal."""

from isotome_stages import told
from scikit_build_core import build as _build
from scikit_build_core.build import *  # noqa: F403


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with told():
        return _build.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    with told():
        return _build.build_editable(wheel_directory, config_settings, metadata_directory)
