"""Where FADE's program and libraries are."""
import ctypes
import ctypes.util
import os
import shutil

_HERE = os.path.dirname(os.path.abspath(__file__))
# In a wheel; in an installation (PREFIX/share/fade/python/fade); in a source tree that has been built.
_PREFIXES = (os.path.join(_HERE, "_tools"), os.path.join(_HERE, "../../../.."), os.path.join(_HERE, "../../build"))


def program():
    """The path of fadeprobe."""
    for prefix in _PREFIXES:
        path = os.path.normpath(os.path.join(prefix, "bin/fadeprobe"))
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("fadeprobe")
    if not found:
        raise FileNotFoundError("fadeprobe is not installed: neither beside the module fade nor in PATH")
    return found


def library(name):
    """One of FADE's libraries, loaded: its own if it is known where FADE is, else what the loader finds."""
    for prefix in _PREFIXES:
        for folder in ("lib", "lib64", f"lib/{os.uname().machine}-linux-gnu"):
            path = os.path.normpath(os.path.join(prefix, folder, f"lib{name}.so"))
            if os.path.exists(path):
                return ctypes.CDLL(path)
    return ctypes.CDLL(ctypes.util.find_library(name) or f"lib{name}.so")
