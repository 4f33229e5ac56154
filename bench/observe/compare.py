#!/usr/bin/env python3
"""What watching kernels costs on the software GPU: compare.py FADEPROBE BENCH_OBSERVE [rounds] [gpu]

Each kernel runs without analyzers, with MemoryAnalysis and with Hotspots, one after the other, so that a machine that is busy
is equally busy for all of them. Prints processor time in s, less that of a run without launches, the smallest of the
rounds, and how many times the plain run that is. Processor time counts all threads: those of the GPU, and those that read and
analyze the records. The targets are 4 for MemoryAnalysis and 1.5 for Hotspots."""
import os
import subprocess
import sys

probe, program = sys.argv[1:3]
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
gpu = sys.argv[4] if len(sys.argv) > 4 else "gfx90a"
TIMES = {"add": 200, "polynomial": 20, "multiply": 60, "collatz": 6}
WAYS = {
    "plain": [],
    "MemoryAnalysis": ["-i", "-a", "MemoryAnalysis"],
    "Hotspots": ["-i", "-a", "Hotspots"],
    "both": ["-i", "-a", "MemoryAnalysis", "Hotspots"],
}


def seconds(kernel, times, options):
    command = [probe, "--gpu", gpu, "-l", os.devnull, *options, "--", program, kernel, str(times)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status != 0:
        sys.exit(f"{command} ended with {status}: {said}")
    return usage.ru_utime + usage.ru_stime


print(f"{'kernel':12}" + "".join(f"{way:>24}" for way in WAYS))
for kernel, times in TIMES.items():
    start, least = {}, {}
    for _ in range(rounds):
        for way, options in WAYS.items():
            start[way] = min(start.get(way, 1e9), seconds(kernel, 0, options))
            least[way] = min(least.get(way, 1e9), seconds(kernel, times, options))
    cost = {way: max(least[way] - start[way], 1e-9) for way in WAYS}
    print(f"{kernel:12}" + "".join(f"{cost[way]:14.2f} s {cost[way] / cost['plain']:6.2f} x" for way in WAYS))
