#!/usr/bin/env python3
"""No wait states are missing in the machine code of twins: all modes, one processor of each kind.

What the compiler writes is its own business; what it cannot see is FADE's assembly. The objects that other tests run are looked at
as they are; for processors that the software GPU does not have, a file of kernels is compiled here. Not for gfx12, where LLVM 19 does
not wait in its own code, as later ones do: lit/counts-row.ll looks at what FADE writes there.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

ALL = ["summary", "counts", "times", "accesses;blocks;counts;kernel"]
MODES = {"gfx908": ["summary", "counts"], "gfx942": ALL, "gfx1010": ALL}
OBJECTS = ("summary_basic", "counts_", "times_", "stream_", "blocks_paths", "run_corners")

def main():
    parser = argparse.ArgumentParser()
    for name in ("clang", "plugin", "scanner", "source", "objects"):
        parser.add_argument("--" + name, required=True)
    arguments = parser.parse_args()
    failed = []

    def scan(path):
        run = subprocess.run([arguments.scanner, path], capture_output=True, text=True)
        if run.returncode:
            failed.append(f"{path}: {run.stdout}{run.stderr}")

    def compile_and_scan(folder, processor, mode):
        out = os.path.join(folder, f"{processor}-{mode.replace(';', '-')}.hsaco")
        run = subprocess.run([arguments.clang, "-x", "hip", "--offload-arch=" + processor, "--offload-device-only", "--no-gpu-bundle-output", "-nogpuinc",
                              "-nogpulib", "-std=c++17", "-O2", "-fpass-plugin=" + arguments.plugin, arguments.source, "-o", out],
                             env={**os.environ, "FADE_INSTRUMENT": mode}, capture_output=True, text=True)
        if run.returncode:
            failed.append(f"{processor}, {mode}: {run.stderr}")
        else:
            scan(out)

    objects = [str(path) for path in sorted(pathlib.Path(arguments.objects).glob("*.hsaco")) if path.name.startswith(OBJECTS)]
    if len(objects) < 20:
        sys.exit(f"{arguments.objects}: only {len(objects)} objects")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(compile_and_scan, folder, processor, mode) for processor, modes in MODES.items() for mode in modes]
        jobs += [pool.submit(scan, path) for path in objects]
        for job in jobs:
            job.result()
    print("\n".join(failed) or f"{len(jobs)} objects: nothing is missing")
    sys.exit(1 if failed else 0)


main()
