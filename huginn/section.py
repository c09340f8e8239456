"""What each section of the settings is made of: frozen, without unknown keys, its errors silent about values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo


class Section(BaseModel):
    """A table of the settings file."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def _from_folder(path: Path, info: ValidationInfo) -> Path:
    folder: Path = (info.context or {}).get("folder", Path.cwd())
    return Path(os.path.normpath(folder / path.expanduser()))


LocalPath = Annotated[Path, AfterValidator(_from_folder)]
"""A path that counts from the folder of the settings file."""
