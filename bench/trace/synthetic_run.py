#!/usr/bin/env python3
"""Writes the folder of a run of many ranks (docs/formats/trace.md#a-run-of-many-processes) without running anything: summaries only.

    synthetic_run.py FOLDER RANKS [KERNELS]

Every rank launches KERNELS (30) different kernels; rank RANKS // 3 is slow in one of them, and every eighth host in all.
"""
import json
import os
import random
import sys


def bucket(ns):
    if ns < 4:
        return ns
    exponent = ns.bit_length() - 1
    return 4 * (exponent - 1) + (ns >> (exponent - 2) & 3)


def distribution(kind, name, count, each):
    return {"type": kind, "name": name, "count": count, "sum_ns": count * each, "min_ns": each, "max_ns": each, "histogram": [[bucket(each), count]]}


def main():
    folder, ranks, kernels = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 30
    chance = random.Random(1)
    for rank in range(ranks):
        host = f"node{rank // 8:04}"
        at = os.path.join(folder, f"host={host}", f"rank={rank}", f"pid={1000 + rank}")
        os.makedirs(at)
        clocks = {"monotonic_ns": 10**9, "realtime_ns": 10**18, "width_ns": 100, "synchronized": True, "max_error_ns": 1000}
        process = {"type": "process", "version": 1, "host": host, "boot_id": host, "pid": 1000 + rank, "parent": 1, "rank": str(rank), "ranks": str(ranks), "job": "synthetic", "command": "./app", "clocks": clocks}
        lines, busy = [], 0
        for k in range(kernels):
            each = int((40_000 + 1_000 * k) * chance.uniform(0.95, 1.05) * (1.3 if rank // 8 % 8 == 7 else 1) * (4 if rank == ranks // 3 and k == 3 else 1))
            lines.append(distribution("kernel", f"void stage<{k}, float>(float*, float const*, unsigned int)", 1000, each))
            busy += 1000 * each
        lines.append(distribution("call", "hipLaunchKernel", 1000 * kernels, 5_000))
        lines.append(distribution("call", "hipStreamSynchronize", 1000, chance.randrange(100_000, 200_000)))
        lines.append(distribution("copy", "copy host to device", 1000, 20_000))
        idle = chance.randrange(10**8, 2 * 10**8)
        head = dict(process, type="summary", end_clocks=clocks, exited=True, times="", start_ns=2 * 10**9, end_ns=2 * 10**9 + busy + idle, busy_ns=busy,
                    idle_in_hip_ns=idle // 2, idle_elsewhere_ns=idle - idle // 2, calls=1000 * kernels + 1000, operations=1000 * kernels + 1000, failed_calls=0, unfinished=0, lost=0, damaged=0)
        with open(os.path.join(at, "process.json"), "w") as file:
            file.write(json.dumps(process) + "\n")
        with open(os.path.join(at, "summary.jsonl"), "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in [head, *lines])
        open(os.path.join(at, "events"), "w").close()


if __name__ == "__main__":
    main()
