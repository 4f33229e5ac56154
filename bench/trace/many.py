#!/usr/bin/env python3
"""Runs of many ranks, and one process with many events, from recording to SQL.

    many.py ranks  FADEPROBE DL_CALLS CODE_OBJECT [RANKS ...]     default: 4 16 64 256 ranks of 1e5 events
    many.py events FADEPROBE DL_CALLS CODE_OBJECT [EVENTS ...]    default: 1e5 1e6 3e6 1e7 events of one process, as Parquet tables
    many.py files  FADEPROBE DL_CALLS CODE_OBJECT [EVENTS ...]    the same as every other format, and `report`
    many.py traces FADEPROBE DL_CALLS CODE_OBJECT [LAUNCHES ...]  default: 5e4 1e5 2e5 4e5 launches of one process, as `trace -o FILE`; FORMATS="rpd pftrace run": only these, run: the folder of a run
    many.py profiles FADEPROBE DL_CALLS CODE_OBJECT [LAUNCHES ...]  default: 5e4 1e5 2e5 4e5, with `profile -o DIR`

DL_CALLS is e2e_dl_calls of the end-to-end tests, CODE_OBJECT its e2e_scale1 for the GPU. An event is a HIP call or a kernel: a launch is two. Every rank is a process that
was started by itself, with a rank of its own and a host name of its own for eight ranks (a UTS namespace, which needs root). `duckdb` must be in the PATH for the queries.
"""
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

EVENTS_OF_A_RANK = 100_000
WAIT_AFTER = 1_000  # launches: HIP keeps what it knows of each until somebody waits
QUERIES = {
    "top kernels": "select kernel, count(*) as launches, sum(duration_ns) / 1e6 as ms, median(duration_ns) / 1e3 as median_us "
                   "from operations where kind = 'kernel' group by kernel order by ms desc limit 10",
    "imbalance": "with per_rank as (select kernel, rank, sum(duration_ns) as ns from operations where kind = 'kernel' group by all) "
                 "select kernel, arg_max(rank, ns) as slowest, max(ns) / median(ns) as over_median from per_rank group by kernel order by over_median desc",
    "launch to start": "select o.kernel, median(o.start_ns - c.start_ns) / 1e3 as median_us, quantile_cont(o.start_ns - c.start_ns, 0.99) / 1e3 as p99_us "
                       "from operations o join calls c on (o.host, o.rank, o.pid, o.call) = (c.host, c.rank, c.pid, c.id) where o.kind = 'kernel' group by o.kernel",
}
COUNT = "select (select count(*) from calls where function = 'hipModuleLaunchKernel') as calls, (select count(*) from operations) as operations, " \
        "(select count(distinct rank) from operations) as ranks, (select count(distinct host) from operations) as hosts, (select count(distinct (host, rank, pid)) from operations) as pids"


class Watch:
    """The largest memory of processes below one, by name, in MB, and the processor seconds of each."""

    def __init__(self, root):
        self.root, self.most, self.seconds, self.is_over = root, {}, {}, threading.Event()
        self.thread = threading.Thread(target=self.follow)
        self.thread.start()

    def follow(self):
        while not self.is_over.wait(0.02):
            for pid in self.below(self.root):
                try:
                    with open(f"/proc/{pid}/status") as file:
                        status = file.read()
                    name, most = re.search(r"Name:\s+(\S+)", status)[1], re.search(r"VmHWM:\s+(\d+)", status)
                    if most:
                        self.most[name] = max(self.most.get(name, 0), int(most[1]) / 1024)
                    with open(f"/proc/{pid}/stat") as file:
                        fields = file.read().rsplit(")", 1)[1].split()
                    self.seconds[name] = max(self.seconds.get(name, 0), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
                except (OSError, TypeError):
                    pass

    @staticmethod
    def below(pid):
        found = [pid]
        for at in found:
            try:
                for task in os.listdir(f"/proc/{at}/task"):
                    with open(f"/proc/{at}/task/{task}/children") as file:
                        found += [int(x) for x in file.read().split()]
            except OSError:
                pass
        return found

    def end(self):
        self.is_over.set()
        self.thread.join()
        return self.most, self.seconds


def run(*command, out=subprocess.DEVNULL, watch=False, env=None):
    """Seconds, processor seconds and largest memory in MB; with `watch`, that of each program, and its processor seconds as a fifth."""
    began = time.monotonic()
    process = subprocess.Popen([str(x) for x in command], stdout=out, stderr=subprocess.PIPE, text=True, env=dict(os.environ, **(env or {})))
    watched = Watch(process.pid) if watch else None
    errors = process.stderr.read()
    text = process.stdout.read() if out == subprocess.PIPE else ""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    memory, of_each = watched.end() if watched else (usage.ru_maxrss / 1024, {})
    if status != 0:
        sys.exit(f"{command} ended with {status}: {errors}")
    if any(words in errors for words in ("not recorded", "lost", "nothing to write")):  # a figure of less than everything would be none
        sys.exit(f"{command}: {errors}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, memory, text, of_each


def cell(measured):
    return "{:.1f} s ({:.1f}), {:.0f} MB".format(*measured[:3])


def size(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


def start_rank(probe, app, path, rank, ranks):
    script = f'hostname node{rank // 8} && exec "$@"'
    env = dict(os.environ, OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE=str(ranks))
    return subprocess.Popen(["unshare", "--uts", "sh", "-c", script, "sh", probe, "trace", "-o", path, "--", *app], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def collect(probe, app, path, first, last, ranks):
    """As many at a time as there are processors."""
    waiting, running = list(range(first, last)), []
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            running.append(start_rank(probe, app, path, waiting.pop(0), ranks))
        done = running.pop(0)
        errors = done.communicate()[1]
        if done.returncode != 0:
            sys.exit(f"a rank ended with {done.returncode}: {errors}")
    until = time.monotonic() + 60
    while len(glob.glob(path + "*/*/*/summary.jsonl")) < last and time.monotonic() < until:
        time.sleep(0.05)


def many_ranks(probe, program, code, sizes):
    app = [program, "launches", code, "1", str(EVENTS_OF_A_RANK // 2), "1", str(WAIT_AFTER)]
    print(f"| ranks of {EVENTS_OF_A_RANK:,} events | collected, each | folder | `log run/` | `report run/` | Parquet tables | | " + " | ".join(f"SQL: {x}" for x in QUERIES) + " |\n" + "|---" * (7 + len(QUERIES)) + "|")
    with tempfile.TemporaryDirectory(prefix="fade-many-") as folder:
        path, tables, have = os.path.join(folder, "run/"), os.path.join(folder, "tables"), 0
        for ranks in sizes:
            began = time.monotonic()
            collect(probe, app, path, have, ranks, sizes[-1])
            each = (time.monotonic() - began) / (ranks - have)
            have = ranks
            log = run(probe, "log", path, out=subprocess.PIPE)
            if f"{ranks} processes" not in log[3] or f"{ranks * EVENTS_OF_A_RANK // 2} kernels" not in log[3]:
                sys.exit(f"log run/: {log[3]}")
            report = run(probe, "report", path, "-o", os.path.join(folder, "page.html"))
            made = run(probe, "log", path, "--format", "parquet", "-o", tables)
            count = run(probe, "sql", tables, COUNT, "--format", "csv", out=subprocess.PIPE)[3].split()[-1]
            launches = ranks * EVENTS_OF_A_RANK // 2
            if count != f"{launches},{launches},{ranks},{(ranks + 7) // 8},{ranks}":
                sys.exit(f"the tables hold {count}")
            asked = [cell(run(probe, "sql", tables, query)) for query in QUERIES.values()]
            print(f"| {ranks} | {each:.1f} s | {size(path) / 1e6:.0f} MB | {cell(log)} | {cell(report)} | {cell(made)} | {size(tables) / 1e6:.1f} MB, {size(tables) / launches:.1f} bytes per launch | " + " | ".join(asked) + " |", flush=True)
            shutil.rmtree(tables)


def many_events(probe, program, code, sizes):
    print("| events of one process | without FADE | time | of it after the application's end | application | `fadeprobe` | tables | bytes per launch with its call |\n|---|---|---|---|---|---|---|---|")
    for events in sizes:
        with tempfile.TemporaryDirectory(prefix="fade-many-") as folder:
            ended, tables = os.path.join(folder, "ended"), os.path.join(folder, "tables")
            took = run(probe, "trace", "--format", "parquet", "-o", tables, "--", "sh", "-c", f'"$@" && touch {ended}', "sh", program, "launches", code, "1", events // 2, "1", WAIT_AFTER, watch=True)
            after = time.time() - os.path.getmtime(ended)
            gpu = {} if os.path.exists("/dev/kfd") else {"LD_PRELOAD": os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(probe))), "lib", "libfadegpu.so")}
            without = run(program, "launches", code, "1", events // 2, "1", WAIT_AFTER, env=gpu)
            memory = {"application": max((mb for name, mb in took[2].items() if name.startswith("e2e")), default=0), "fadeprobe": took[2].get("fadeprobe", 0)}
            print(f"| {events:,} | {without[0]:.1f} s, {without[2]:.0f} MB | {took[0]:.1f} s | {after:.1f} s | {memory['application']:.0f} MB | {memory['fadeprobe']:.0f} MB | {size(tables) / 1e6:.1f} MB | {size(tables) / (events // 2):.1f} |", flush=True)


def ratios(probe, program, code, sizes, ways):
    """For each number of launches the application alone and each way of running it, in turn, ROUNDS times (3); medians of the times, the largest memory."""
    gpu = {} if os.path.exists("/dev/kfd") else {"LD_PRELOAD": os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(probe))), "lib", "libfadegpu.so")}
    print("| launches | without FADE | " + " | ".join(ways) + " |\n" + "|---" * (2 + len(ways)) + "|")
    for launches in sizes:
        app = [program, "launches", code, "1", launches, "1", WAIT_AFTER]
        alone, with_fade = [], {name: [] for name in ways}
        for _ in range(int(os.environ.get("ROUNDS", "3"))):
            alone.append(run(*app, env=gpu))
            for name, (way, out) in ways.items():
                with tempfile.TemporaryDirectory(prefix="fade-many-") as folder:
                    ended = os.path.join(folder, "ended")
                    took = run(probe, *way, "-o", os.path.join(folder, out), "--", "sh", "-c", f'"$@" && touch {ended}', "sh", *app, watch=True)
                    after = time.time() - os.path.getmtime(ended)
                    with_fade[name].append((*took[:3], after, size(folder) / 1e6, sum(s for program, s in took[4].items() if program.startswith("fade"))))
        median = statistics.median
        seconds, cpu, memory = median(x[0] for x in alone), median(x[1] for x in alone), max(x[2] for x in alone)
        cells = []
        for all_of in with_fade.values():
            most = lambda begin: max(mb for x in all_of for name, mb in [("", 0), *x[2].items()] if name.startswith(begin) or not name)
            cells.append("{:.1f} s, {:.2f} times ({:.2f} of processor time, {:.1f} s of it in processes of FADE), {:.2f} s after the end, FADE {:.0f} MB, application {:+.0f} MB, {:.1f} MB on disk".format(
                median(x[0] for x in all_of), median(x[0] for x in all_of) / seconds, median(x[1] for x in all_of) / cpu, median(x[5] for x in all_of), median(x[3] for x in all_of),
                max(most("fadeprobe"), most("fade-trace-wri")), most("e2e") - memory, median(x[4] for x in all_of)))
        print(f"| {launches:,} | {seconds:.1f} s ({cpu:.1f}), {memory:.0f} MB | " + " | ".join(cells) + " |", flush=True)


def many_traces(probe, program, code, sizes):
    ways = {form: (["trace", "--format", form], "out") for form in os.environ.get("FORMATS", "rpd rocpd json perfetto pftrace parquet run").split()}
    if "run" in ways:
        ways["run"] = (["trace"], "run/")
    ratios(probe, program, code, sizes, ways)


def many_profiles(probe, program, code, sizes):
    ratios(probe, program, code, sizes, {"profile": (["profile"], "out")})


def many_files(probe, program, code, sizes):
    formats = ["perfetto", "rpd", "rocpd", "json", "parquet"]
    print("| events of one process | " + " | ".join(formats) + " | `log run/` | `report run/` | `log FILE` |\n" + "|---" * (len(formats) + 4) + "|")
    for events in sizes:
        with tempfile.TemporaryDirectory(prefix="fade-many-") as folder:
            path, to = os.path.join(folder, "run/"), os.path.join(folder, "out")
            run(probe, "trace", "-o", path, "--", program, "launches", code, "1", events // 2, "1", WAIT_AFTER)
            file, = glob.glob(path + "*/*/*/events")
            cells = []
            for form in formats:
                cells.append(cell(run(probe, "log", file if form == "json" else path, "--format", form, "-o", to)))
                shutil.rmtree(to, ignore_errors=True)
                if os.path.exists(to):
                    os.remove(to)
            cells.append(cell(run(probe, "log", path)))
            cells.append(cell(run(probe, "report", path, "-o", to)))
            cells.append(cell(run(probe, "log", file)))
            print(f"| {events:,} | " + " | ".join(cells) + " |", flush=True)


def main():
    ways = {"ranks": (many_ranks, [4, 16, 64, 256]), "events": (many_events, [10**5, 10**6, 3 * 10**6, 10**7]), "files": (many_files, [10**5, 3 * 10**5, 10**6, 3 * 10**6]),
            "traces": (many_traces, [50_000, 100_000, 200_000, 400_000]), "profiles": (many_profiles, [50_000, 100_000, 200_000, 400_000])}
    if len(sys.argv) < 5 or sys.argv[1] not in ways:
        sys.exit(__doc__)
    way, sizes = ways[sys.argv[1]]
    way(*sys.argv[2:5], [int(float(x)) for x in sys.argv[5:]] or sizes)


if __name__ == "__main__":
    main()
