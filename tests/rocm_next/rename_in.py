#!/usr/bin/env python3
"""A copy of a library under another name, with other names in it and its own functions bound to itself.

  rename_in.py LIBRARY COPY OLD=NEW...      names of the same length, each once in the table of strings
"""
import struct
import sys
from pathlib import Path

DT_NULL, DT_STRTAB, DT_STRSZ, DT_FLAGS, DF_SYMBOLIC = 0, 5, 10, 30, 2


def main():
    library, copy, *names = sys.argv[1:]
    data = bytearray(Path(library).read_bytes())
    offset, size, count = *struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQQQ", data, offset + i * size) for i in range(count)]

    def in_file(address):
        return next(h[2] + address - h[3] for h in headers if h[0] == 1 and h[3] <= address < h[3] + h[5])

    dynamic = next(h for h in headers if h[0] == 2)
    tags = {}
    for at in range(dynamic[2], dynamic[2] + dynamic[5], 16):
        tag, value = struct.unpack_from("<QQ", data, at)
        if tag == DT_NULL:
            break
        tags[tag] = (at, value)
    if DT_FLAGS not in tags:
        sys.exit(f"{library}: it has no DT_FLAGS to set")
    struct.pack_into("<Q", data, tags[DT_FLAGS][0] + 8, tags[DT_FLAGS][1] | DF_SYMBOLIC)
    begin = in_file(tags[DT_STRTAB][1])
    end = begin + tags[DT_STRSZ][1]
    for pair in names:
        old, new = (b"\0" + name.encode() + b"\0" for name in pair.split("="))
        if len(old) != len(new) or data.count(old, begin, end) != 1:
            sys.exit(f"{library}: cannot rename {pair}")
        at = data.index(old, begin, end)
        data[at:at + len(old)] = new
    Path(copy).write_bytes(data)


if __name__ == "__main__":
    main()
