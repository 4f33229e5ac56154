#!/usr/bin/env python3
"""How runs of many events and many ranks scale: scale.py FADEPROBE DL_CALLS [most events] [most ranks] [most ranks with tables]

DL_CALLS is e2e_dl_calls of the end-to-end tests. One process makes 1e4, 1e5, ... up to `most events` (1e7) HIP calls into the folder of a
run; then the folder of one rank with 1e5 calls stands for 4, 16, ... up to `most ranks` (256), under other names (tables take as long for each rank, and may be left out for many). Prints a table for both: seconds and
largest memory of what reads them, and sizes."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

probe, program = sys.argv[1:3]
most_events = int(float(sys.argv[3])) if len(sys.argv) > 3 else 10**7
most_ranks = int(sys.argv[4]) if len(sys.argv) > 4 else 256
most_tables = int(sys.argv[5]) if len(sys.argv) > 5 else most_ranks
CALLS_OF_A_RANK = 100_000


def run(*command):
    """Seconds, processor seconds and largest memory in MB."""
    began = time.monotonic()
    process = subprocess.Popen([str(x) for x in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status != 0:
        sys.exit(f"{command} ended with {status}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def size(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


def cell(measured):
    return "{:.2f} s ({:.2f}), {:.0f} MB".format(*measured)


def readers(path, folder, with_tables=True):
    """Cells for the text of a run, its tables and their size."""
    tables = os.path.join(folder, "tables")
    cells = [cell(run(probe, "log", path))]
    if not with_tables:
        return [*cells, "", ""]
    cells.append(cell(run(probe, "log", path, "--format", "parquet", "-o", tables)))
    cells.append(f"{size(tables) / 1e6:.1f} MB")
    shutil.rmtree(tables)
    return cells


def main():
    with tempfile.TemporaryDirectory(prefix="fade-scale-") as folder:
        print("| calls in one process | application and summary | events | summary from events | `log run/` | tables | |\n|---|---|---|---|---|---|---|")
        calls = 10_000
        while calls <= most_events:
            path = os.path.join(folder, "run/")
            took = run(probe, "trace", "-o", path, "--", program, "loop", calls)
            summary, = glob.glob(path + "*/*/*/summary.jsonl")
            events = os.path.getsize(os.path.join(os.path.dirname(summary), "events"))
            cells = readers(path, folder)
            os.remove(summary)
            again = cell(run(probe, "log", path))  # from events, as the trace writer does
            print(f"| {calls:,} | {took[0]:.2f} s | {events / 1e6:.1f} MB | {again} | {cells[0]} | {cells[1]} | {cells[2]} |", flush=True)
            shutil.rmtree(path)
            calls *= 10
        one = os.path.join(folder, "one/")
        run(probe, "trace", "-o", one, "--", program, "loop", CALLS_OF_A_RANK)
        source, = glob.glob(one + "*/*/*")
        print(f"\n| ranks of {CALLS_OF_A_RANK:,} calls | `log run/` | `report run/` | its page | tables | |\n|---|---|---|---|---|---|")
        ranks = 4
        while ranks <= most_ranks:
            path = os.path.join(folder, f"ranks{ranks}/")
            for rank in range(ranks):
                to = os.path.join(path, f"host=node{rank // 8}", f"rank={rank}", f"pid={1000 + rank}")
                os.makedirs(to)
                os.link(source + "/events", to + "/events")
                for name in ("process.json", "summary.jsonl"):
                    with open(os.path.join(source, name)) as file:
                        lines = [json.loads(line) for line in file]
                    lines[0].update(host=f"node{rank // 8}", boot_id=f"boot{rank // 8}", pid=1000 + rank, rank=rank, ranks=ranks, job="scale")
                    with open(os.path.join(to, name), "w") as file:
                        file.writelines(json.dumps(line) + "\n" for line in lines)
            log, tables, bytes_of = readers(path, folder, ranks <= most_tables)
            page = os.path.join(folder, "page.html")
            report = cell(run(probe, "report", path, "-o", page))
            print(f"| {ranks} | {log} | {report} | {os.path.getsize(page) / 1e3:.0f} KB | {tables} | {bytes_of} |", flush=True)
            shutil.rmtree(path)
            ranks *= 4


if __name__ == "__main__":
    main()
