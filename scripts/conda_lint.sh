#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks the conda recipe: rattler-build, from PyPI, reads and renders it for Linux on both kinds of processors, and the
# version is that of CMakeLists.txt. It builds nothing: that wants the channels of conda.
#
#     scripts/conda_lint.sh
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"${PYTHON:-/usr/bin/python3}" -m venv "$tools"
"$tools/bin/pip" install -q --disable-pip-version-check py-rattler-build
"$tools/bin/python" - "$(sed -n 's/^project(isotome VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)" <<'END'
import sys
from pathlib import Path

from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

recipe = Stage0Recipe.from_yaml(Path("packaging/conda/recipe.yaml").read_text())
for platform in ("linux-64", "linux-aarch64"):
    variants = VariantConfig.from_yaml("c_compiler: [gcc]\nc_stdlib: [sysroot]\nc_stdlib_version: ['2.28']\npython: ['3.12']\n")
    rendered = recipe.render(variants, RenderConfig(platform=PlatformConfig(target_platform=platform)))
    package = rendered[0].recipe.package
    if str(package.version) != sys.argv[1]:
        sys.exit(f"recipe.yaml: version {package.version}, CMakeLists.txt has {sys.argv[1]}")
    print(f"{platform}: {package.name} {package.version}, {len(rendered)} variant")
END
