"""The programs in the package's folder bin. pip installs scripts that call these functions."""

import os
import pathlib
import sys

from ._errors import Error


def path_of(name: str) -> str:
    path = pathlib.Path(__file__).with_name("bin") / name
    if not path.is_file():
        raise Error(
            f"the program {path} is missing: the package was built without its programs "
            "(TUNEDGEMM_TOOLS)"
        )
    return str(path)


def tune_all() -> None:
    _become("tune-all")


def tunedgemm() -> None:
    _become("tunedgemm")


def _become(name: str) -> None:
    os.execv(path_of(name), [name, *sys.argv[1:]])
