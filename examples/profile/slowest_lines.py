#!/usr/bin/env python3
"""Prints the lines of source on which the waves of a program spend their time, from a profile:

    fadeprobe profile -o profile -- ./app && slowest_lines.py profile/profile.json
"""
import json
import signal
import sys


def main(path):
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    if (profile["type"], profile["version"]) != ("profile", 2):
        sys.exit(f"{path} is not a profile of version 2")
    kernels = profile["kernels"]
    whole = sum(kernel["roofline"]["time"]["all_ns"] for kernel in kernels)  # 0: thread traces do not say
    rows = []
    for kernel in kernels:
        part = kernel["roofline"]["time"]["all_ns"] / whole if whole else 1 / len(kernels)
        for line in kernel["lines"]:
            place = f"{line['file'].rsplit('/', 1)[-1]}:{line['line']}" if line["line"] else "?"
            rows.append((line["time_share"] * part, line["wait_share"] * part, place,
                         kernel["kernel"].split("(")[0], kernel["classification"]["class"]))
    print(f"{'time':>7} {'waiting':>8}  {'line':<24} {'kernel':<28} class   (times are {profile['times']})")
    for share, waits, place, name, kind in sorted(rows, reverse=True)[:15]:
        print(f"{share:>7.1%} {waits:>8.1%}  {place:<24} {name[:28]:<28} {kind}")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as others do, before "| head"
    main(sys.argv[1])
