# SPDX-License-Identifier: BSD-3-Clause
"""Images and projections there and back with STIR and SIRF, by Interfile.

    x = isotome.sirf.image(image_data)                     # an isotome.Image of a sirf.STIR.ImageData
    image_data = isotome.sirf.image_data(x)                # and back
    isotome.sirf.write_projections("out.hs", y, like="prompts.hs")     # data of Isotome as STIR reads them
    acquired = isotome.sirf.acquisition_data(y, like="prompts.hs")     # a sirf.STIR.AcquisitionData

Isotome's data of a sinogram are in the order of its file, so a header of the same scan says what each value is. SIRF is
loaded by image_data and acquisition_data alone; the others need neither it nor STIR.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from . import _arrays, errors
from .files import read, write
from .image import Image

_OF_VALUES = {  # what a header says of the values' file: key -> what it says from now on; None: the line goes
    "name of data file": "{data}",
    "number format": "float",
    "number of bytes per pixel": "4",
    "imagedata byte order": "LITTLEENDIAN",
    "data offset in bytes": None,
    "data offset in bytes[1]": None,
    "image scaling factor": None,
    "image scaling factor[1]": None,
    "quantification units": None,
    "maximum pixel count": None,
}


def _key(line: str) -> str:
    return line.partition(":=")[0].strip().lstrip("!%").strip().lower().replace(" [", "[")


def _header(like: Path, data: str) -> str:
    lines, said = [], set()
    for line in like.read_text(errors="surrogateescape").splitlines():
        key = _key(line) if ":=" in line else ""
        if key in _OF_VALUES:
            value = _OF_VALUES[key]
            if value is None or key in said:
                continue
            said.add(key)
            line = f"{line.partition(':=')[0]}:= {value.format(data=data)}"
        lines.append(line)
    missing = {"name of data file", "number format"} - said
    if missing:
        raise errors.InputError(f"{like}: a header of Interfile has {sorted(missing)[0]!r}, which is not there")
    if "imagedata byte order" not in said:
        lines.insert(1, "imagedata byte order := LITTLEENDIAN")
    return "\n".join(lines) + "\n"


def _bins(like: Path) -> int:
    """Values of a file of projections."""
    from .eventfiles import read_events

    return len(read_events(like, bins="counts"))


def write_projections(
    path: str | os.PathLike, values: np.ndarray, like: str | os.PathLike, *, force: bool = False
) -> None:
    """Writes values of data as .hs and .s, with the geometry of another header of Interfile.

    values: as many as `like` has, in the order of its file, which is that of problem.data() and of A(x).
    force: an existing file may be overwritten.
    """
    path, like = Path(path), Path(like)
    if path.suffix != ".hs":
        raise errors.ArgumentError(f"path: given {path.name}, wanted a name that ends in .hs")
    values = _arrays.real(np.asarray(values), "values").reshape(-1)
    wanted = _bins(like)
    if values.size != wanted:
        raise errors.ArgumentError(f"values: given {values.size}, wanted the {wanted} of {like}")
    data = path.with_suffix(".s")
    for file in (path, data):
        if file.exists() and not force:
            raise errors.ArgumentError(f"{file} exists already: force=True overwrites it")
    header = _header(like, data.name)
    data.write_bytes(values.astype("<f4").tobytes())
    path.write_text(header, errors="surrogateescape")


def image(image_data: Any) -> Image:
    """An ImageData of SIRF, or anything of STIR's that has write(path), with its grid."""
    if not callable(getattr(image_data, "write", None)):
        raise errors.ArgumentError(f"given {type(image_data).__name__}, wanted an ImageData of SIRF")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "image.hv")
        image_data.write(path)
        return read(path)


def image_data(image: Image, stir: Any = None) -> Any:
    """A sirf.STIR.ImageData of an image with a grid. stir: the module; None: sirf.STIR."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "image.hv")
        write(path, image)
        return (stir or _stir()).ImageData(path).clone()  # which is in memory when the folder goes


def acquisition_data(values: np.ndarray, like: str | os.PathLike, stir: Any = None) -> Any:
    """A sirf.STIR.AcquisitionData of values of data, as write_projections has them."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "projections.hs")
        write_projections(path, values, like)
        return (stir or _stir()).AcquisitionData(path).clone()


def _stir() -> Any:
    import sirf.STIR  # type: ignore[import-not-found]

    return sirf.STIR
