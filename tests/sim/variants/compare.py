#!/usr/bin/env python3
"""compare.py LEVEL PROGRAM [OTHER]: runs a program, if this processor has the level, and a second one whose output
must be the same, byte by byte. Ends with 77 where the processor is too old."""
import difflib
import re
import subprocess
import sys


def supported(level):
    loader = re.search(r"/\S*ld-linux\S*", subprocess.run(["ldd", sys.executable], capture_output=True, text=True,
                                                          check=True).stdout).group(0)
    text = subprocess.run([loader, "--help"], capture_output=True, text=True, check=True).stdout
    return f"{level} (supported" in text


def main():
    level, *programs = sys.argv[1:]
    if not supported(level):
        print(f"this processor is older than {level}")
        return 77
    outputs = []
    for program in programs:
        done = subprocess.run([program], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            print(done.stdout[-4000:])
            print(f"{program} ended with {done.returncode}")
            return 1
        outputs.append(done.stdout.splitlines())
    if len(outputs) > 1 and outputs[0] != outputs[1]:
        different = list(difflib.unified_diff(*outputs, *programs, lineterm="", n=0))
        print("\n".join(different[:60]))
        return 1
    print(f"{len(outputs[0])} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
