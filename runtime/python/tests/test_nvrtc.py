"""Finding NVRTC in a wheel."""

import ctypes
import os

import pytest

from tunedgemm import _nvrtc


def wheel(folder, package, *names):
    library = folder / "nvidia" / package / "lib"
    library.mkdir(parents=True)
    for name in names:
        (library / name).touch()
    return library


@pytest.fixture
def nvidia(tmp_path, monkeypatch):
    """nvidia is a namespace package with parts in two folders."""

    class Spec:
        submodule_search_locations = (
            str(tmp_path / "first" / "nvidia"),
            str(tmp_path / "second" / "nvidia"),
        )

    monkeypatch.setattr(_nvrtc.importlib.util, "find_spec", lambda name: Spec)
    return tmp_path


def test_the_newer_wheel_is_found(nvidia):
    old = wheel(
        nvidia / "first",
        "cuda_nvrtc",
        "libnvrtc.so.12",
        "libnvrtc-builtins.so.12.8",
        "libnvrtc.alt.so.12",
    )
    assert _nvrtc.installed_library() == str(old / "libnvrtc.so.12")
    new = wheel(
        nvidia / "second",
        "cu13",
        "libnvrtc.so.13",
        "libnvrtc-builtins.so.13.0",
        "libnvrtc.alt.so.13",
    )
    assert _nvrtc.installed_library() == str(new / "libnvrtc.so.13")


def test_other_wheels_have_none(nvidia):
    wheel(nvidia / "first", "cu13", "libcublas.so.13", "libnvrtc-builtins.so.13.0")
    assert _nvrtc.installed_library() is None


@pytest.mark.parametrize(
    "trouble", [None, ValueError("nvidia.__spec__ is None"), ModuleNotFoundError("nvidia")]
)
def test_no_package(monkeypatch, trouble):
    def find(name):
        if trouble:
            raise trouble

    monkeypatch.setattr(_nvrtc.importlib.util, "find_spec", find)
    assert _nvrtc.installed_library() is None


def test_hand_over(monkeypatch):
    monkeypatch.setattr(_nvrtc, "installed_library", lambda: "/wheel/libnvrtc.so.13")
    monkeypatch.setenv(_nvrtc.VARIABLE, "/user/libnvrtc.so")
    _nvrtc.hand_over()
    assert os.environ[_nvrtc.VARIABLE] == "/user/libnvrtc.so"
    monkeypatch.delenv(_nvrtc.VARIABLE)
    _nvrtc.hand_over()
    seen = ctypes.CDLL(None).getenv
    seen.restype = ctypes.c_char_p
    assert seen(_nvrtc.VARIABLE.encode()) == b"/wheel/libnvrtc.so.13"  # as C++ code sees it


def test_an_installed_wheel_can_be_opened():
    path = _nvrtc.installed_library()
    if path is None:
        pytest.skip("no wheel of NVRTC is installed")
    major, minor = ctypes.c_int(), ctypes.c_int()
    assert ctypes.CDLL(path).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0
    assert path.endswith(f"libnvrtc.so.{major.value}")
