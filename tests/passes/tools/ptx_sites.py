#!/usr/bin/env python3
"""What tests look at in a PTX file.

usage: ptx_sites.py FILE.ptx OUT      writes the bytes of the variable __fade_sites to OUT
       ptx_sites.py --entries FILE    prints the kernels that are not twins, sorted by name
"""
import re, sys


def sites(text):
    found = re.search(r"\.visible \.global \.align 8 \.b8 __fade_sites\[(\d+)\] = \{([^}]*)\}", text)
    if not found:
        sys.exit("no variable __fade_sites")
    # Zeros at the end are left out in the text.
    return bytes(int(byte) for byte in found.group(2).split(",")).ljust(int(found.group(1)), b"\0")


def entries(text):
    kernels = re.findall(r"^(\.visible \.entry (\w+)\(.*?^\})", text, re.M | re.S)
    return "".join(body + "\n" for body, name in sorted(kernels, key=lambda k: k[1]) if not name.startswith("__fade_"))


if sys.argv[1] == "--entries":
    with open(sys.argv[2]) as file:
        sys.stdout.write(entries(file.read()))
else:
    with open(sys.argv[1]) as file, open(sys.argv[2], "wb") as out:
        out.write(sites(file.read()))
