"""NVRTC from a wheel: `pip install 'tunedgemm[cu13]'` installs one."""

from __future__ import annotations

import glob
import importlib.util
import os

VARIABLE = "TUNEDGEMM_NVRTC"
PACKAGES = ("cu13", "cuda_nvrtc")  # of nvidia-cuda-nvrtc, then of nvidia-cuda-nvrtc-cu12


def installed_library() -> str | None:
    """The path of libnvrtc in an installed wheel. Nothing is imported or loaded."""
    try:
        nvidia = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return None
    for package in PACKAGES:
        for folder in (nvidia.submodule_search_locations or ()) if nvidia else ():
            found = sorted(
                glob.glob(os.path.join(glob.escape(folder), package, "lib", "libnvrtc.so.[0-9]*"))
            )
            if found:
                return found[-1]
    return None


def hand_over() -> None:
    """Names the wheel's libnvrtc to our library, which reads the variable when it opens a GPU, and
    to the programs that this process starts.

    The wheel has precedence over the system's toolkit: pip chose its version for this environment,
    and PyTorch uses the same one. A variable that the user has set stays."""
    if not os.environ.get(VARIABLE):
        library = installed_library()
        if library:
            os.environ[VARIABLE] = library
