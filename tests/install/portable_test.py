#!/usr/bin/env python3
"""What FADE takes from glibc is in glibc 2.31, or in cmake/portable.c: a release for older systems links only then, and its build takes long.

usage: portable_test.py BUILD_DIR C_COMPILER
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OLDEST = 31
# They have another version since they moved into libc (2.33, 2.34), and are in its older libraries.
MOVED = re.compile(r"(pthread|sem|timer|aio|mq|shm)_\w+|dl(open|close|sym|vsym|error|addr1?|info)|__libc_start_main|[fl]?stat(64)?|mknod")
NEW = re.compile(r"pthread_attr_[gs]etsigmask_np")  # though called like these


def binaries(build):
    yield build / "bin/fadeprobe"
    yield from build.glob("lib/*.so")
    yield from build.glob("lib/fade/*")


def newer(path):
    """(name, version) of what a binary takes from a glibc newer than the oldest."""
    shown = subprocess.run(["readelf", "-W", "--dyn-syms", path], capture_output=True, text=True).stdout
    return {(name, f"2.{minor}") for name, minor in re.findall(r" UND (\w+)@GLIBC_2\.(\d+)", shown) if int(minor) > OLDEST}


# With a kernel that does not have the call.
CLOSES = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#undef SYS_close_range
#define SYS_close_range 99999
#include "portable.c"
#include <stdio.h>
int main(void) {
  int left = 0;
  for (int i = 3; i < 1000; ++i) dup2(0, i);
  const int result = close_range(5, 900, 0);
  for (int i = 0; i < 1000; ++i) left += fcntl(i, F_GETFD) >= 0;
  printf("%d, %d left", result, left);
}
"""


def closes(compiler):
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "closes")
        subprocess.run([compiler, "-x", "c", "-", "-I", ROOT / "cmake", "-o", program], input=CLOSES, text=True, check=True)
        return subprocess.run([program], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout


def main():
    build = pathlib.Path(sys.argv[1])
    ours = set(re.findall(r"^\w[\w *]*?(\w+)(?:\(| = )", (ROOT / "cmake/portable.c").read_text(), re.M))
    if "mallinfo2" not in ours:
        sys.exit("cmake/portable.c is not understood")
    seen, missing = 0, {}
    for path in binaries(build):
        if path.is_symlink() or not path.is_file() or path.open("rb").read(4) != b"\x7fELF":
            continue
        seen += 1
        for name, version in newer(path):
            if name not in ours and (NEW.fullmatch(name) or not MOVED.fullmatch(name)):
                missing.setdefault((name, version), path.name)
    if seen < 5:
        sys.exit(f"{build}: only {seen} binaries")
    if missing:
        sys.exit("\n".join(f"{path} uses {name}, which is new in glibc {version}: cmake/portable.c needs it" for (name, version), path in sorted(missing.items())))
    if (said := closes(sys.argv[2])) != "0, 104 left":
        sys.exit(f"close_range of cmake/portable.c: {said}")
    print(f"{seen} binaries take nothing from glibc that is not in 2.{OLDEST} or in cmake/portable.c")


main()
