#!/usr/bin/env python3
"""FADE_GPU_STATS of a HIP program: one JSON object per dispatch and line, the same in every run, and
for the kernel of counted.S the numbers that follow from its listing."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

CLASSES = ["valu", "salu", "vmem_load", "vmem_store", "vmem_atomic", "smem", "lds", "branch", "mfma", "other"]
FIELDS = ["kernel", "grid", "workgroup", "waves", "wave_instructions", "lane_instructions", "classes",
          "global_bytes_read", "global_bytes_written", "lds_bytes_read", "lds_bytes_written", "barriers", "l2_write_backs",
          "seconds", "workers"]
TIMING = ["seconds", "workers"]


def run(command, preload, workers):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stats.jsonl")
        environment = dict(os.environ, LD_PRELOAD=preload, FADE_GPU_STATS=path, FADE_GPU_WORKERS=str(workers))
        subprocess.run(command, env=environment, check=True)
        with open(path) as lines:
            return [json.loads(line) for line in lines]


def is_well_formed(record, workers):
    assert list(record) == FIELDS, f"fields are {list(record)}"
    assert sorted(record["classes"]) == sorted(CLASSES), record["classes"]
    assert record["workers"] == workers and 0 < record["seconds"] < 600, record
    for count in ("wave_instructions", "lane_instructions"):
        total = sum(c[count] for c in record["classes"].values())
        assert record[count] == total, f"{count} is {record[count]}, its classes make {total}"
    assert record["lane_instructions"] <= 64 * record["wave_instructions"], record


def counts_of(record):
    return {k: v for k, v in record.items() if k not in TIMING}


def counted(wave):
    """What counted.S executes in three workgroups of 100 work-items, in waves of this size.

    Every wave runs 14 instructions. The first wave of a workgroup, where 16 lanes stay, also stores and adds. From
    s_and_saveexec on only these 16 lanes count, and none in the other waves."""
    groups, items, stay = 3, 100, 16
    waves = groups * -(-items // wave)
    lanes = groups * items
    left = groups * stay
    per_class = {
        "smem": (waves, lanes),           # s_load
        "other": (5 * waves, 5 * lanes),  # s_waitcnt four times, s_barrier
        "valu": (2 * waves, 2 * lanes),   # v_lshlrev, v_cmp
        "vmem_load": (waves, lanes),
        "lds": (2 * waves, 2 * lanes),    # ds_write, ds_read
        "salu": (waves, lanes),           # s_and_saveexec
        "branch": (2 * waves, 2 * left),  # s_cbranch_execz, s_endpgm
        "vmem_store": (groups, left),
        "vmem_atomic": (groups, left),
        "mfma": (0, 0),
    }
    return {
        "kernel": "counted",
        "grid": [groups * items, 1, 1],
        "workgroup": [items, 1, 1],
        "waves": waves,
        "wave_instructions": sum(w for w, _ in per_class.values()),
        "lane_instructions": sum(n for _, n in per_class.values()),
        "classes": {k: {"wave_instructions": w, "lane_instructions": n} for k, (w, n) in per_class.items()},
        "global_bytes_read": 4 * lanes + 4 * left,  # the load and the atomic
        "global_bytes_written": 4 * left + 4 * left,
        "lds_bytes_read": 4 * lanes,
        "lds_bytes_written": 4 * lanes,
        "barriers": groups,
        "l2_write_backs": 0,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preload", required=True)
    parser.add_argument("--wave", type=int, help="compare kernel `counted` with its listing, in waves of this size")
    parser.add_argument("command", nargs="+")
    o = parser.parse_args()
    runs = {workers: run(o.command, o.preload, workers) for workers in (1, 2, 4)}
    again = run(o.command, o.preload, 2)
    for workers, records in runs.items():
        assert records, "no dispatch was counted"
        for record in records:
            is_well_formed(record, workers)
    first = [counts_of(r) for r in runs[1]]
    for records in (runs[2], runs[4], again):
        assert [counts_of(r) for r in records] == first, "counts differ between runs"
    if o.wave:
        mine = [r for r in first if r["kernel"] == "counted"]
        want = counted(o.wave)
        assert mine == [want], f"counted {json.dumps(mine)}\nwanted  {json.dumps(want)}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
