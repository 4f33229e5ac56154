"""`python3 -m fade ...` and the program `fadeprobe` of the wheel: the real one takes this process over."""
import os
import sys

from ._tools import program


def main():
    path = program()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
