"""Runs of many processes: launched by mpirun, forked, spawned, killed; recorded into one folder."""
import collections
import glob
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

import fade
from fade import PROBE, program

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../parquet"))
import parquet_file

PLAIN, DL, OVERRUN, MPI_RANKS, MPICH_RANKS = program("plain"), program("dl_calls"), program("overrun"), program("mpi_ranks"), program("mpich_ranks")
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
RANK = "OMPI_COMM_WORLD_RANK"
BY_RANK = ["sh", "-c", f"exec '{PLAIN}' $(({RANK} + 2))"]  # launches as many kernels

# A process that uses HIP without a compiler.
CLIENT = """
import ctypes, os, sys, time
def use(times):
    hip = ctypes.CDLL('libamdhip64.so', ctypes.RTLD_LOCAL)
    memory = ctypes.c_void_p()
    assert hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(4096)) == 0
    for _ in range(times):
        assert hip.hipMemset(memory, 1, ctypes.c_size_t(4096)) == 0
    assert hip.hipDeviceSynchronize() == 0
"""


# Memory of one process that another one opens: gives the handle to its partner through a file, who reads, writes and closes it.
SHARED = """
import ctypes, os, sys, time
class Handle(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_char * 64)]
hip = ctypes.CDLL('libamdhip64.so')
hip.hipIpcOpenMemHandle.argtypes = [ctypes.c_void_p, Handle, ctypes.c_uint]
SIZE = 1 << 20
def done(result):
    assert result == 0, result
def bytes_of(memory, offset=0):
    there = (ctypes.c_ubyte * SIZE)()
    done(hip.hipMemcpy(there, memory, ctypes.c_size_t(SIZE), 2))
    return bytes(there)
def put(name, what):
    with open(name + '.new', 'wb') as file:
        file.write(what)
    os.rename(name + '.new', name)
def get(name):
    end = time.monotonic() + 60
    while not os.path.exists(name):
        assert time.monotonic() < end
        time.sleep(0.01)
    with open(name, 'rb') as file:
        return file.read()
def give(at):
    memory, handle = ctypes.c_void_p(), Handle()
    done(hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(SIZE)))
    done(hip.hipMemset(memory, 7, ctypes.c_size_t(SIZE)))
    done(hip.hipDeviceSynchronize())
    done(hip.hipIpcGetMemHandle(ctypes.byref(handle), memory))
    put(at + '/handle', ctypes.string_at(ctypes.byref(handle), 64))
    get(at + '/written')
    assert bytes_of(memory) == bytes([9]) * (SIZE // 2) + bytes([7]) * (SIZE // 2)
    done(hip.hipMemset(memory, 5, ctypes.c_size_t(SIZE)))
    done(hip.hipDeviceSynchronize())
    put(at + '/again', b'x')
    get(at + '/closed')
    done(hip.hipFree(memory))
    print('given', flush=True)
def take(at):
    memory = ctypes.c_void_p()
    done(hip.hipIpcOpenMemHandle(ctypes.byref(memory), Handle.from_buffer_copy(get(at + '/handle')), 0))
    assert bytes_of(memory) == bytes([7]) * SIZE
    done(hip.hipMemset(memory, 9, ctypes.c_size_t(SIZE // 2)))
    done(hip.hipDeviceSynchronize())
    put(at + '/written', b'x')
    get(at + '/again')
    assert bytes_of(memory) == bytes([5]) * SIZE
    done(hip.hipIpcCloseMemHandle(memory))
    # What is allocated now may have its address.
    done(hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(SIZE)))
    done(hip.hipMemset(memory, 3, ctypes.c_size_t(SIZE)))
    assert bytes_of(memory) == bytes([3]) * SIZE
    put(at + '/closed', b'x')
    print('taken', flush=True)
"""


class Tests(fade.Test):
    def setUp(self):
        super().setUp()
        self.folder = self.path("run") + "/"

    def done(self, command, env=None, code=0, **more):
        result = self.bare(command, env, **more)
        self.assertEqual(result.code, code, result.stderr + result.stdout)
        return result

    def in_front(self, ranks, app, options=()):
        return self.done([PROBE, "trace", "-o", self.folder, *options, "--", *MPIRUN, "-np", ranks, *app])

    def in_front_of(self, app):
        return self.done([PROBE, "trace", "-o", self.folder, "--", *app])

    def members(self, run=None):
        """By rank, or pid outside of a job: what process.json says, and the summary's lines by type and name."""
        found = {}
        for folder in glob.glob(os.path.join(run or self.folder, "host=*", "rank=*", "pid=*")):
            with open(os.path.join(folder, "process.json")) as file:
                process = json.load(file)
            self.assertEqual(folder.split("/")[-3:], [f"host={socket.gethostname()}", f"rank={process.get('rank', 0)}", f"pid={process['pid']}"])
            with open(os.path.join(folder, "summary.jsonl")) as file:
                lines = [json.loads(line) for line in file]
            self.assertEqual((lines[0]["type"], lines[0]["pid"]), ("summary", process["pid"]))
            key = int(process["rank"]) if "rank" in process else process["pid"]
            self.assertNotIn(key, found)
            found[key] = (process, lines[0], {(x["type"], x["name"]): x for x in lines[1:]})
        return found

    def counts(self, members, kind):
        total = collections.Counter()
        for _, _, lines in members.values():
            for (of, name), line in lines.items():
                if of == kind:
                    total[name] += line["count"]
        return total

    def look(self, *options, run=None):
        return self.done([PROBE, "log", run or self.folder, *options]).stdout

    # ---- collected

    def test_totals_of_a_job_are_the_sums_of_single_runs(self):
        self.in_front(4, BY_RANK)
        job = self.members()
        self.assertEqual(sorted(job), [0, 1, 2, 3])
        alone = {}
        for launches in (2, 3, 4, 5):
            run = self.path(f"single{launches}/")
            self.done([PROBE, "trace", "-o", run, "--", PLAIN, launches])
            alone.update(self.members(run))
        self.assertEqual(len(alone), 4)
        for kind in ("kernel", "copy", "call"):
            self.assertEqual(self.counts(job, kind), self.counts(alone, kind), kind)
        self.assertEqual(sum(self.counts(job, "kernel").values()), 2 + 3 + 4 + 5)
        text = self.look()
        self.assertIn("4 processes on 1 host, ranks 0-3\n", text)
        self.assertIn("clocks: one machine: all processes share one clock\n", text)
        self.assertRegex(text, r"\nkernel .*\n.* 14 ")

    def test_the_launcher_may_stand_behind(self):
        self.done([*MPIRUN, "-np", 4, PROBE, "trace", "-o", self.folder, "--", *BY_RANK])
        members = self.members()
        self.assertEqual({rank: sum(self.counts({0: each}, "kernel").values()) for rank, each in members.items()}, {0: 2, 1: 3, 2: 4, 3: 5})
        self.assertEqual({each[0]["ranks"] for each in members.values()}, {"4"})
        self.assertEqual(len({each[0]["job"] for each in members.values()}), 1)

    def test_only_chosen_ranks_are_recorded(self):
        result = self.in_front(4, BY_RANK, ["--ranks", "0,2-3"])
        self.assertEqual(result.said, [])
        self.assertEqual(sorted(self.members()), [0, 2, 3])
        self.assertIn("1 of the job's 4 ranks is not in this view\n", self.look())
        behind = self.path("behind/")
        result = self.done([*MPIRUN, "-np", 2, PROBE, "trace", "-o", behind, "--ranks", "1", "--", *BY_RANK])
        self.assertEqual((sorted(self.members(behind)), result.said), ([1], []))
        self.assert_mistake(["trace", "-o", self.folder, "--ranks", "0,x"], "--ranks: 'x' is not a rank or a range of ranks")

    def test_a_killed_rank_loses_nothing_of_others_and_little_of_its_own(self):
        self.in_front(4, ["sh", "-c", f"if [ ${RANK} = 1 ]; then '{DL}' killed; true; else '{PLAIN}' 4; fi"])
        deadline = time.monotonic() + 60
        while len(glob.glob(self.folder + "*/*/*/summary.jsonl")) < 4 and time.monotonic() < deadline:
            time.sleep(0.05)  # nobody waits for the writer of a killed process
        members = self.members()
        self.assertEqual(sorted(members), [0, 1, 2, 3])
        self.assertEqual({rank: each[1]["exited"] for rank, each in members.items()}, {0: True, 1: False, 2: True, 3: True})
        self.assertEqual(sum(self.counts(members, "kernel").values()), 12)
        self.assertEqual(members[1][2]["call", "hipGetDevice"]["count"], 7)
        self.assertRegex(self.look(), r"\nrank 1 \(pid \d+\) did not exit by itself; counted up to its end\n")

    def test_a_job_that_the_launcher_kills_is_there_without_its_writers(self):
        script = CLIENT + f"\nuse(3 + int(os.environ['{RANK}']))\nprint('ready', flush=True)\ntime.sleep(1000)\n"
        process = subprocess.Popen([PROBE, "trace", "-o", self.folder, "--", *map(str, MPIRUN), "-np", "2", sys.executable, "-c", script],
                                   env=fade.clean_environment({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            for _ in range(2):
                self.assertEqual(process.stdout.readline(), "ready\n")
            # Neither of them ends, and nobody waits for them.
            text = self.look()
            self.assertEqual(text.count("is still running; counted up to now\n"), 2, text)
            self.assertRegex(text, r"hipMemset +7 ")
        finally:
            process.terminate()
            process.communicate(timeout=60)
        for summary in glob.glob(self.folder + "*/*/*/summary.jsonl"):
            os.remove(summary)  # as if the writers had been killed, too
        self.assertRegex(self.look(), r"hipMemset +7 ")

    def test_a_check_on_a_full_disk_says_that_nothing_was_checked(self):
        small = self.path("small")
        os.mkdir(small)
        script = 'mount -t tmpfs -o size=64k none "$0" && dd if=/dev/zero of="$0/fill" bs=1k count=60 2>/dev/null || exit 77; "$@"'
        result = self.bare(["unshare", "-rm", "sh", "-c", script, small, fade.PROBE, "check", "-o", small + "/run/", "--", program("plain"), 2])
        if result.code == 77 or "unshare" in result.stderr:
            self.skipTest("no file system of its own can be had here")
        self.assertEqual((result.code, result.stdout), (0, "2 dispatches are right\n"), result.stderr)
        self.assertRegex(result.said[0], r"cannot write .*\.findings: No space left on device$")
        self.assertEqual(result.said[1:], ["fadeprobe: check: no space to store findings, so nothing was checked"])

    def test_a_full_disk_of_one_rank(self):
        result = self.in_front(3, ["sh", "-c", f"if [ ${RANK} = 2 ]; then exec '{DL}' limited {1 << 20}; else exec '{PLAIN}' 4; fi"])
        self.assertIn("File too large: the recording ends here; the application continues", result.stderr)
        members = self.members()
        self.assertEqual(sum(self.counts(members, "kernel").values()), 8)
        self.assertEqual(members[2][1]["lost"], 1)
        self.assertGreater(members[2][2]["call", "hipGetDevice"]["count"], 5000)
        text = self.look()
        self.assertIn("1 events were not recorded: no space for them\n", text)
        self.assertRegex(text, r"\nrank 2 \(pid \d+\) was not recorded to its end: no space for more events\n")
        self.assertNotIn("did not exit", text)
        result = self.done([PROBE, "log", self.folder, "--fail-if", "killed>0", "--fail-if", "lost>0"], code=3)
        self.assertIn("failed: rank 2: lost is 1, above 0\n1 of 2 conditions passed\n", result.stderr)

    def test_eight_ranks_with_one_of_two_gpus_each(self):
        app = ["sh", "-c", f"HIP_VISIBLE_DEVICES=$(({RANK} % 2)) exec '{PLAIN}' $(({RANK} + 2))"]
        self.in_front(8, app, ["--gpu", "gfx90a,gfx90a"])
        self.assertEqual({rank: sum(self.counts({0: each}, "kernel").values()) for rank, each in self.members().items()}, {rank: rank + 2 for rank in range(8)})
        self.look("--format", "perfetto", "-o", self.path("all.json"))
        with open(self.path("all.json")) as file:
            events = json.load(file)["traceEvents"]
        names = {x["pid"]: x["args"]["name"] for x in events if x["name"] == "process_name"}
        used = {re.match(r"rank (\d): GPU (\d)", names[x["pid"]]).groups() for x in events if x.get("cat") == "kernel"}
        self.assertEqual(used, {(str(rank), str(rank % 2)) for rank in range(8)})

    def test_python_multiprocessing(self):
        for method in ("fork", "spawn"):
            run, script = self.path(method + "/"), self.path("workers.py")
            with open(script, "w") as file:
                file.write(CLIENT + f"""
if __name__ == '__main__':
    import multiprocessing
    multiprocessing.set_start_method('{method}')
    workers = [multiprocessing.Process(target=use, args=(n,)) for n in (2, 3, 4)]
    for each in workers: each.start()
    for each in workers: each.join()
    assert [each.exitcode for each in workers] == [0, 0, 0]
""")
            self.done([PROBE, "trace", "-o", run, "--", sys.executable, script])
            members = self.members(run)
            self.assertEqual(sorted(x[2]["call", "hipMemset"]["count"] for x in members.values()), [2, 3, 4], method)
            self.assertRegex(self.look(run=run), r"3 processes on 1 host\n")

    def test_a_server_that_forks_has_a_folder_for_each_worker(self):
        # Also after it has used HIP itself.
        result = self.done([PROBE, "trace", "-o", self.folder, "--api", "^hipGetDevice$", "--", DL, "fork"])
        parent, child = map(int, result.stdout.split())
        members = self.members()
        self.assertEqual({pid: each[2]["call", "hipGetDevice"]["count"] for pid, each in members.items()}, {parent: 8, child: 20})
        self.assertEqual(members[child][0]["parent"], parent)

    def test_workers_that_end_with__exit_have_exited(self):
        script = CLIENT + "\nfor n in (2, 3):\n    if os.fork() == 0:\n        use(n)\n        os._exit(n)\nassert sorted(os.waitstatus_to_exitcode(os.wait()[1]) for _ in 'ab') == [2, 3]\n"
        self.in_front_of([sys.executable, "-c", script])
        self.assertEqual(sorted((x[2]["call", "hipMemset"]["count"], x[1]["exited"]) for x in self.members().values()), [(2, True), (3, True)])
        self.done([PROBE, "log", self.folder, "--fail-if", "killed>0"])

    def test_a_child_without_anything_to_record_leaves_nothing(self):
        script = CLIENT + "\nuse(1)\nif os.fork() == 0: sys.exit(0)\nos.wait()\n"
        self.done([PROBE, "trace", "-o", self.folder, "--", sys.executable, "-c", script])
        self.assertEqual(len(self.members()), 1)

    def test_a_process_that_becomes_another_program_is_one(self):
        script = CLIENT + f"\nuse(2)\nos.execv('{PLAIN}', ['{PLAIN}', '3'])\n"
        self.done([PROBE, "trace", "-o", self.folder, "--", sys.executable, "-c", script])
        (_, summary, lines), = self.members().values()
        self.assertEqual((lines["call", "hipMemset"]["count"], lines["call", "hipLaunchKernel"]["count"]), (3, 3))  # one of them is the second program's
        self.assertTrue(summary["exited"])

    def test_nothing_was_recorded(self):
        for app in (["true"], ["env", "-i", "PATH=/usr/bin:/bin", "true"]):
            result = self.done([PROBE, "trace", "-o", self.folder, "--", *app])
            self.assertEqual(result.said, ["fadeprobe: the application did not use the GPU: there is nothing to write (programs started with a new environment, by env -i, sudo or ssh, are not seen)"])
        result = self.done([PROBE, "trace", "-o", self.folder, "--ranks", "5", "--", PLAIN, 1])
        self.assertEqual(result.said, ["fadeprobe: nothing was recorded: no process with a rank in --ranks 5 used the GPU"])
        self.assertEqual(self.bare([PROBE, "log", self.folder]).stderr, f"fadeprobe: {self.folder}: holds no recorded processes\n")

    def test_reports_of_kernels_are_beside(self):
        result = self.done([PROBE, "-i", "-t", "json", "-l", self.folder, "--ranks", "0-1", "--", *MPIRUN, "-np", 3, *BY_RANK])
        self.assertNotIn("FADE_GPU_OBSERVER", result.stderr)
        reports = glob.glob(self.folder + "host=*/rank=*/pid=*/report.jsonl")
        dispatches = {}
        for name in reports:
            with open(name) as file:
                dispatches[name.split("/")[-3]] = sum(json.loads(line).get("kernel", "").startswith("step") for line in file)
        self.assertEqual(dispatches, {"rank=0": 2, "rank=1": 3})
        self.assertEqual(self.bare([PROBE, "log", self.folder]).stderr, f"fadeprobe: {self.folder}: holds no recorded processes\n")

    # ---- checked and captured

    # Writes beyond its buffer on all ranks but the first two: on a rank that is not checked it would be a fault.
    OVERRUNS = ["sh", "-c", f"exec '{OVERRUN}' $((${RANK} > 1 ? 1040 : 1024)) 0"]

    def found(self):
        """Findings of all ranks, and what was said of them."""
        result = self.done([PROBE, "check", self.folder, "--json", self.path("all.jsonl")])
        with open(self.path("all.jsonl")) as file:
            return [json.loads(line) for line in file], result.stderr

    def test_findings_of_all_ranks_are_one_with_the_ranks(self):
        result = self.done([PROBE, "check", "-o", self.folder, "--checks", "memory", "--", *MPIRUN, "-np", 4, *self.OVERRUNS])
        self.assertEqual(result.stderr.count("memory: store"), 1, result.stderr)
        self.assertRegex(result.stderr, r"\n  ranks +2-3\n")
        (finding,), said = self.found()
        self.assertEqual((finding["ranks"], finding["processes"]), ([2, 3], 2))
        single = glob.glob(self.folder + "host=*/rank=2/*/findings.jsonl")
        with open(single[0]) as file:
            of_one, = map(json.loads, file)
        self.assertEqual((of_one["id"], of_one["ranks"], 2 * of_one["count"]), (finding["id"], [2], finding["count"]))
        self.assertRegex(said, r"\n  ranks +2-3\n  seen in +2 of 4 processes, \d+ times\n")
        self.assertEqual(said.count("  ranks "), 1)
        self.assertIn("check: 1 finding in 64 dispatches of 4 processes, ranks 0-3\n", said)
        self.assertEqual(glob.glob(self.folder + "*/*/*/*.findings") + glob.glob(self.folder + "*/*/*/*.code-*"), [])

    def test_a_baseline_tells_which_findings_of_a_run_are_new(self):
        self.done([PROBE, "check", "-o", self.folder, "--checks", "memory", "--", *MPIRUN, "-np", 4, *self.OVERRUNS])
        known, empty = self.path("known.jsonl"), self.path("empty.jsonl")
        self.done([PROBE, "check", self.folder, "--json", known, "--error-exitcode", 9], code=9)
        said = self.done([PROBE, "check", self.folder, "--baseline", known, "--error-exitcode", 9]).stderr
        self.assertIn("check: no new findings in 64 dispatches of 4 processes, ranks 0-3; 1 in the baseline\n", said)
        self.assertNotIn("memory: store", said)
        with open(known) as file, open(empty, "w") as other:
            other.write(file.read().replace('"id":"', '"id":"x'))
        said = self.done([PROBE, "check", self.folder, "--baseline", empty, "--error-exitcode", 9], code=9).stderr
        self.assertIn("check: 1 new finding in 64 dispatches of 4 processes, ranks 0-3; 1 of the baseline no longer found\n", said)

    def test_check_behind_the_launcher(self):
        result = self.done([*MPIRUN, "-np", 3, PROBE, "check", "-o", self.folder, "--checks", "memory", "--ranks", "0,2", "--", *self.OVERRUNS])
        self.assertNotIn("memory: store", result.stderr)
        self.assertRegex(result.stderr, r"fadeprobe: check: rank 2: 1 finding \(memory 1\) in 16 dispatches; all ranks: fadeprobe check ")
        self.assertNotIn("rank 1", result.stderr)
        (finding,), said = self.found()
        self.assertEqual(finding["ranks"], [2])
        self.assertIn("in 32 dispatches of 2 processes, ranks 0, 2\n", said)
        self.assertEqual(self.bare([PROBE, "check", self.folder, "--error-exitcode", 9]).code, 9)

    def test_captures_of_all_ranks(self):
        self.done([PROBE, "capture", "-o", self.folder, "--ranks", "0,2", "--", *MPIRUN, "-np", 3, *BY_RANK])
        captures = glob.glob(self.folder + "host=*/rank=*/pid=*/*/manifest.jsonl")
        self.assertEqual(sorted(x.split("/")[-4] for x in captures), ["rank=0", "rank=2"])
        lines = self.done([PROBE, "captures", "--json", self.folder]).stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.done([PROBE, "replay", os.path.dirname(captures[0]), "--on", "software"])

    # ---- profiled

    def test_profiles_of_all_ranks(self):
        result = self.done([PROBE, "profile", "-o", self.folder, "--", *MPIRUN, "-np", 2, *BY_RANK])
        times = {}
        for name in glob.glob(self.folder + "host=*/rank=*/pid=*/profile.json"):
            with open(name) as file:
                times[name.split("/")[-3]] = [x["metrics"]["dispatches"] for x in json.load(file)["kernels"] if x["kernel"].startswith("step")]
        self.assertEqual(times, {"rank=0": [2], "rank=1": [3]})
        self.assertEqual(len(glob.glob(self.folder + "*/*/*/report.html")), 2)
        self.assertRegex(result.stdout, r"2 processes on 1 host, ranks 0-1\n(.|\n)*\nslowest: rank ")
        self.assertIn("ranks 0-1\n", self.done([PROBE, "profile", self.folder]).stdout)
        # One process that is no rank has it as without a run.
        self.done([PROBE, "profile", "-o", self.path("single/"), "--", PLAIN, 2])
        self.assertTrue(os.path.exists(self.path("single/profile.json")))

    # ---- memory of other processes

    def test_two_processes_share_memory(self):
        script = "import os\nchild = os.fork()\n" + SHARED + "\n(give if child else take)(sys.argv[1])\nif child: assert os.wait()[1] == 0\n"
        result = self.in_front_of([sys.executable, "-c", script, self.dir])
        self.assertEqual(sorted(re.findall("given|taken", result.stdout)), ["given", "taken"])  # both may write at the same time
        calls = self.counts(self.members(), "call")
        self.assertEqual((calls["hipIpcGetMemHandle"], calls["hipIpcOpenMemHandle"], calls["hipIpcCloseMemHandle"]), (1, 1, 1))

    def test_two_ranks_share_memory(self):
        script = SHARED + f"\n(give if os.environ['{RANK}'] == '0' else take)(sys.argv[1])\n"
        result = self.in_front(2, [sys.executable, "-c", script, self.dir])
        self.assertEqual(sorted(result.stdout.split()), ["given", "taken"])
        self.assertEqual(sorted(self.members()), [0, 1])

    # ---- messages

    def test_messages_and_who_is_waited_for(self):
        self.check_messages(self.in_front(4, [MPI_RANKS, 10, 2]))

    def test_messages_of_mpich(self):
        if not os.path.exists(MPICH_RANKS) or not shutil.which("mpiexec.mpich"):
            self.skipTest("MPICH is not installed (package mpich)")
        self.check_messages(self.done([PROBE, "trace", "-o", self.folder, "--", "mpiexec.mpich", "-n", 4, MPICH_RANKS, 10, 2]))
        behind = self.path("behind/")
        self.done(["mpiexec.mpich", "-n", 4, PROBE, "trace", "-o", behind, "--", "sh", "-c", f"exec '{PLAIN}' $((PMI_RANK + 2))"])
        members = self.members(behind)
        self.assertEqual({rank: sum(self.counts({0: each}, "kernel").values()) for rank, each in members.items()}, {0: 2, 1: 3, 2: 4, 3: 5})
        self.assertEqual({each[0]["ranks"] for each in members.values()}, {"4"})
        self.assertNotIn("jobs have written", self.look(run=behind))

    def check_messages(self, result):
        """Of four ranks with ten rounds, of which rank 2 is slow."""
        self.assertEqual(sorted(result.stdout.splitlines()), [f"rank {x} of 4 is right" for x in range(4)])
        members = self.members()
        counts = self.counts(members, "message")
        self.assertEqual({name: counts["MPI_" + name] for name in ("Init", "Barrier", "Allreduce", "Bcast", "Sendrecv", "Isend", "Recv", "Wait", "Comm_split", "Finalize")},
                         {"Init": 4, "Barrier": 4, "Allreduce": 40, "Bcast": 8, "Sendrecv": 4, "Isend": 4, "Recv": 4, "Wait": 4, "Comm_split": 8, "Finalize": 4})
        self.assertEqual(members[1][2]["message", "MPI_Allreduce"]["bytes"], 40)
        comms = {}
        for name in glob.glob(self.folder + "*/*/*/collectives.jsonl"):
            with open(name) as file:
                for line in map(json.loads, file):
                    comms.setdefault(line["comm"], []).append([x[0] for x in line["calls"]])
        # The world, and two halves of each kind: ranks 0 and 2 begin with 0, ranks 1 and 3 with 1.
        self.assertEqual({name: sorted(map(len, calls)) for name, calls in comms.items()},
                         {"4.0.0": [11] * 4, "2.0.0": [1, 1], "2.0.1": [1, 1], "2.1.0": [1, 1], "2.1.1": [1, 1]})
        text = self.look()
        self.assertRegex(text, r"\nMPI_Allreduce +10 .* rank 2 \((10|9|8) of 10\)\n")
        path = re.search(r"\ncritical path across ranks, \S+ \w+:.* rank 2 (\S+) ms \(\d+%\)", text)
        self.assertIsNotNone(path, text)
        self.assertGreater(float(path.group(1)), 2080)  # it works 2500 ms of the loop
        waiting = re.search(r"\nMPI_Allreduce +10 +\S+ \w+ +(\S+) ms ", text)
        self.assertGreater(float(waiting.group(1)), 4160)  # three ranks wait 248 ms each of ten times
        self.done([PROBE, "report", self.folder])
        page = self.page(self.folder + "report.html")
        self.assertEqual([(x[0], x[1]) for x in page["collectives"] if x[0] == "MPI_Allreduce"], [("MPI_Allreduce", 10)])
        self.assertTrue(page["path"])
        self.look("--format", "perfetto", "-o", self.path("all.json"))
        with open(self.path("all.json")) as file:
            self.assertEqual(sum(x["name"] == "MPI_Allreduce" for x in json.load(file)["traceEvents"]), 40)
        # Of a part of the ranks nobody knows who came last.
        self.assertRegex(self.look("--ranks", "0,1"), r"\n\d+ collective calls are not shown: not all of their ranks were recorded or are in this view\n")

    def test_calls_of_rccl_are_messages_and_get_their_arguments(self):
        result = self.done([PROBE, "trace", "-o", self.folder, "--", program("rccl_rank")])
        self.assertEqual(result.stdout, "right\n")
        self.assertEqual(self.counts(self.members(), "message"), {"ncclCommInitRank": 1, "ncclAllReduce": 5, "ncclGroupStart": 1, "ncclGroupEnd": 1, "ncclCommDestroy": 1})

    def test_messages_may_be_left_out(self):
        result = self.in_front(2, [MPI_RANKS, 2, 0], ["--no-messages"])
        self.assertEqual(len(result.stdout.splitlines()), 2)
        self.assertEqual(self.counts(self.members(), "message"), {})

    # ---- launchers that only set variables

    def launched(self, command, ranks, variables):
        """A launcher as torchrun and srun are: starts all ranks at once with variables of their own, and waits for them."""
        script = ("import os, subprocess, sys\n"
                  f"ranks = [subprocess.Popen(sys.argv[1:], env=dict(os.environ, **{{name: value.format(rank=rank, ranks={ranks}) for name, value in {variables!r}.items()}})) for rank in range({ranks})]\n"
                  "sys.exit(max(rank.wait() for rank in ranks))\n")
        return [sys.executable, "-c", script, *command]

    def check_launcher(self, variables, rank_variable):
        app = ["sh", "-c", f"exec '{PLAIN}' $(({rank_variable} + 2))"]
        self.done([PROBE, "trace", "-o", self.folder, "--", *self.launched(app, 3, variables)])
        behind = self.path("behind/")
        self.done(self.launched([PROBE, "trace", "-o", behind, "--", *app], 3, variables))
        for run in (self.folder, behind):
            members = self.members(run)
            self.assertEqual({rank: sum(self.counts({0: each}, "kernel").values()) for rank, each in members.items()}, {0: 2, 1: 3, 2: 4})
            self.assertEqual({(each[0]["ranks"], each[0]["local_rank"]) for each in members.values()}, {("3", "0"), ("3", "1"), ("3", "2")})
            text = self.look(run=run)
            self.assertIn("3 processes on 1 host, ranks 0-2\n", text)
            self.assertNotIn("jobs have written", text)
        chosen = self.path("chosen/")
        self.done([PROBE, "trace", "-o", chosen, "--ranks", "2", "--", *self.launched(app, 3, variables)])
        self.assertEqual(sorted(self.members(chosen)), [2])

    def test_ranks_of_torchrun(self):
        self.check_launcher({"RANK": "{rank}", "LOCAL_RANK": "{rank}", "WORLD_SIZE": "{ranks}", "LOCAL_WORLD_SIZE": "{ranks}", "GROUP_RANK": "0",
                             "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "none"}, "RANK")

    def test_ranks_of_srun(self):
        self.check_launcher({"SLURM_PROCID": "{rank}", "SLURM_LOCALID": "{rank}", "SLURM_NTASKS": "{ranks}", "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_NODEID": "0"}, "SLURM_PROCID")

    # ---- conditions

    def test_conditions_on_a_run(self):
        slow, even = self.path("slow/"), self.path("even/")
        maker = os.path.join(os.path.dirname(__file__), "../../bench/trace/synthetic_run.py")
        self.done([sys.executable, maker, slow, 7, 4])  # rank 2 takes four times as long in the last kernel
        self.done([sys.executable, maker, even, 2, 4])

        def judge(command, code, *conditions):
            result = self.done([PROBE, *command, *(x for condition in conditions for x in ("--fail-if", condition))], code=code)
            return result.stderr

        said = judge(["log", slow], 3, "kernel.imbalance>2", "imbalance>1.5", "busy<10%", "stragglers>0", "killed>0", "failed_calls>0", "waiting>50%")
        self.assertRegex(said, r"failed: void stage<3.*: kernel\.imbalance is 4\.\d+, above 2 by rank 2\n")
        self.assertRegex(said, r"failed: rank 2: imbalance is 1\.[5-9]\d*, above 1\.5 \(GPU time, most / median\)\n")
        self.assertRegex(said, r"failed: run: stragglers is 1, above 0\n  rank 2, ")
        self.assertIn("4 of 7 conditions passed\n", said)
        self.assertIn("2 of 2 conditions passed\n", judge(["log", slow], 0, "kernel.imbalance>2@kernel=stage<[0-2],", "imbalance>3"))
        self.assertIn("1 of 1 conditions passed\n", judge(["report", slow, "-o", self.path("page.html")], 1, "imbalance>3"))  # there are no events to make pages of
        self.assertRegex(judge(["diff", even, slow], 3, f"regress>200%:{even}"), r"failed: void stage<0, .*: GPU time of all ranks went from \S+ ms to \S+ ms \(\+2\d\d %\)\n")
        self.assertIn("1 of 1 conditions passed\n", judge(["diff", slow, even], 0, f"run.regress>5%:{slow}"))
        self.assertIn("failed: kernel.imbalance>2@kernel=none: no measurement matches", judge(["log", slow], 3, "kernel.imbalance>2@kernel=none"))
        for mistake in ("efficiency<3", "imbalance>x", "imbalance>3%", "busy<300", "regress>5%", "busy<5%@kernel=a", "imbalance"):
            self.assertIn(f"--fail-if '{mistake}': ", judge(["log", slow], 2, mistake))
        self.done([PROBE, "log", slow, "--fail-if", "imbalance>1.5", "--junit", self.path("junit.xml"), "--sarif", self.path("sarif.json")], code=3)
        with open(self.path("junit.xml")) as file:
            self.assertIn("failures=\"1\"", file.read())
        with open(self.path("sarif.json")) as file:
            self.assertEqual(len(json.load(file)["runs"][0]["results"]), 1)

    def test_a_condition_on_a_run_that_is_made(self):
        application = [*MPIRUN, "-np", 2, "sh", "-c", f"exec '{PLAIN}' $(({RANK} * 60 + 2))"]
        result = self.done([PROBE, "--report", self.folder, "--fail-if", "imbalance>1.01", "--", *application], code=3)
        self.assertIn("0 of 1 conditions passed\n", result.stderr)
        self.done([PROBE, "--report", self.path("other/"), "--fail-if", "imbalance>1000", "--", *application])

    # ---- looked at

    def test_the_slowest_rank_and_what_it_does_longer(self):
        script = CLIENT + f"\nuse(1)\nif os.environ['{RANK}'] == '2': time.sleep(6)\nuse(1)\n"
        self.in_front(4, [sys.executable, "-c", script])
        text = self.look()
        self.assertRegex(text, r"\nslowest +time .*\nrank 2 ")
        self.assertRegex(text, r"\nslowest: rank 2, \S+ \w+ \(median \S+ \w+\): [56]\d+\.\d ms longer outside of HIP while the GPU is idle")

    def test_a_straggler_is_named_with_its_kernel(self):
        self.in_front(4, ["sh", "-c", f"if [ ${RANK} = 2 ]; then exec '{PLAIN}' 20000; else exec '{PLAIN}' 2; fi"])
        text = self.look()
        self.assertRegex(text, r"\nstraggler: rank 2, .* GPU busy \(median .*\): step.* more\n")
        self.assertRegex(text, r"\nkernel .*\n.* 20006 .* rank 2\n")
        self.assertNotIn("rank 2", self.look("--ranks", "0,1,3"))

    def page(self, name):
        """What a page has to show."""
        with open(name) as file:
            return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S).group(1))

    def test_a_report_of_all_ranks_and_of_each(self):
        result = self.done([PROBE, "--report", self.folder, "--", *MPIRUN, "-np", 3, PLAIN, 4])
        self.assertIn(f"fadeprobe: see {self.folder}report.html\n", result.stderr)
        run = self.page(self.folder + "report.html")
        self.assertEqual((run["units"], run["ranks"], run["tables"][0]["rows"][0]["count"]), (3, "0-2", 12))
        self.assertEqual(len(run["tables"][0]["rows"][0]["strip"]), 3)
        links = [row[-1] for row in run["rows"]]
        self.assertEqual(len(set(links)), 3)
        for link in links:
            one = self.page(self.folder + link)
            self.assertEqual((one["totals"]["dispatches"], bool(one["host"])), (5, True))  # with a fill: times and what is inside of kernels
        for name in glob.glob(self.folder + "*/*/*/report.html"):
            os.remove(name)
        self.done([PROBE, "report", self.folder, "--ranks", "1", "-o", self.path("all.html")])
        links = {row[0]: row[-1] for row in self.page(self.path("all.html"))["rows"]}
        self.assertEqual((links[0], links[2]), ("", ""))
        self.assertEqual(self.page(os.path.join(self.dir, links[1]))["title"].split(":")[0], "rank 1")
        self.assert_mistake(["report", self.folder, "--fail-if", "time>5us"], "--fail-if 'time>5us': 'time' is not a metric of a run of many processes: imbalance, ")
        self.assert_mistake(["report", self.folder, "--findings", self.path("findings.jsonl")], "--findings needs one process")

    def test_reports_behind_the_launcher(self):
        result = self.done([*MPIRUN, "-np", 2, PROBE, "--report", self.folder, "--", PLAIN, 4])
        self.assertEqual(len(glob.glob(self.folder + "*/*/*/report.html")), 2)
        self.assertFalse(os.path.exists(self.folder + "report.html"))
        self.assertNotIn("slowest", result.stderr)
        self.done([PROBE, "report", self.folder])
        self.assertEqual(self.page(self.folder + "report.html")["units"], 2)

    def test_the_page_of_a_thousand_ranks_is_small(self):
        sizes = {}
        for ranks in (1000, 3000):
            run = self.path(f"run{ranks}")
            self.done([sys.executable, os.path.join(os.path.dirname(__file__), "../../bench/trace/synthetic_run.py"), run, ranks, 4])
            self.bare([PROBE, "report", run, "-o", self.path("page.html")])  # has no events to make pages of single ranks from
            page = self.page(self.path("page.html"))
            self.assertEqual(page["units"], ranks)
            self.assertIn(f"rank {ranks // 3}, ", page["slowest"] + " ".join(page["stragglers"]))
            sizes[ranks] = len(json.dumps(page))
        self.assertLess(sizes[1000], 200_000)
        self.assertLess(sizes[3000], 1.3 * sizes[1000])

    def test_two_runs_are_compared(self):
        self.in_front(2, BY_RANK)
        other = self.path("other/")
        self.done([PROBE, "trace", "-o", other, "--", *MPIRUN, "-np", 2, "sh", "-c", f"exec '{PLAIN}' $(({RANK} + 5000))"])
        text = self.done([PROBE, "diff", self.folder, other]).stdout
        self.assertRegex(text, r"\nranks or processes +2 +2 +\+0\.0%\n")
        self.assertRegex(text, r"\nkernels and copies +9 +10005 ")
        self.assertRegex(text, r"\nstep.* +5 +10001 .* \+\d+\.\d%")
        self.assertNotIn("step", self.done([PROBE, "diff", self.folder, self.folder]).stdout)
        self.assertRegex(self.done([PROBE, "diff", "--all", self.folder, self.folder]).stdout, r"\nstep.* 5 +5 .* \+0\.0%")

    def test_one_timeline_of_all_ranks(self):
        self.in_front(3, BY_RANK)
        self.look("--format", "perfetto", "-o", self.path("all.json"))
        with open(self.path("all.json")) as file:
            timeline = json.load(file)
        events = timeline["traceEvents"]
        self.assertIn("clocks", timeline["otherData"])
        names = {x["pid"]: x["args"]["name"] for x in events if x["name"] == "process_name"}
        kernels = collections.Counter(names[x["pid"]][:6] for x in events if x.get("cat") == "kernel")
        self.assertEqual(kernels, {"rank 0": 2, "rank 1": 3, "rank 2": 4})
        arrows = collections.Counter(x["id"] for x in events if x.get("cat") == "cause")
        self.assertEqual(set(arrows.values()), {2})  # none is another process's
        self.assertGreaterEqual(min(x["ts"] for x in events if "ts" in x), 0)
        self.look("--ranks", "1", "--format", "perfetto", "-o", self.path("one.json"))
        with open(self.path("one.json")) as file:
            self.assertEqual(sum(x.get("cat") == "kernel" for x in json.load(file)["traceEvents"]), 3)

    def test_one_rpd_file_of_all_ranks(self):
        self.in_front(3, BY_RANK)
        for _ in range(2):  # it is replaced
            self.look("-o", self.path("all.rpd"))
        with sqlite3.connect(self.path("all.rpd")) as database:
            self.assertEqual(database.execute("select count(*), count(distinct pid) from rocpd_api join rocpd_string s on s.id = apiName_id "
                                              "where s.string = 'hipLaunchKernel'").fetchall(), [(9, 3)])
        self.look("--format", "parquet", "-o", self.path("tables"))
        self.assertEqual(sorted(x.split("/")[-2] for x in glob.glob(self.path("tables/calls/*/*/*.parquet"))), ["rank=0", "rank=1", "rank=2"])

    def test_one_rocpd_database_of_all_ranks(self):
        self.in_front(3, BY_RANK)
        path = self.path("all.db")
        self.look("--format", "rocpd", "-o", path)
        db = sqlite3.connect(path)
        self.assertEqual(db.execute("PRAGMA foreign_key_check").fetchall(), [])
        self.assertEqual([x[0] for x in db.execute("SELECT count(*) FROM kernels WHERE name NOT LIKE '__amd%' GROUP BY pid ORDER BY 1")], [2, 3, 4])
        self.assertEqual(db.execute("SELECT count(*), count(DISTINCT hostname) FROM processes").fetchone(), (3, 1))
        db.close()
        text = self.done([PROBE, "log", path]).stdout
        self.assertEqual(sum(x.startswith("process ") for x in text.split("\n")), 3)
        self.assertIn(f"{sum(x[1]['calls'] for x in self.members().values())} calls in 3 threads", text)

    def test_counters_and_pc_samples_of_a_rocpd_database(self):
        """As rocprofv3 --pmc and --pc-sampling-beta-enabled write them, beside what FADE's writer makes."""
        self.in_front(2, BY_RANK)
        path, page = self.path("all.db"), self.path("page.html")
        self.look("--format", "rocpd", "-o", path)
        self.done([PROBE, "report", path, "-o", page])
        self.assertEqual((self.page(page)["host"]["counters"], self.page(page)["host"]["samples"]), ([], []))
        db = sqlite3.connect(path)
        suffix, = (x[0].removeprefix("rocpd_pmc_event") for x in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_pmc_event_%'"))
        node, process, agent = db.execute(f"SELECT nid, pid, id FROM `rocpd_info_agent{suffix}` WHERE type = 'GPU' LIMIT 1").fetchone()
        dispatches = db.execute(f"SELECT K.event_id, K.dispatch_id, S.display_name FROM `rocpd_kernel_dispatch{suffix}` K JOIN `rocpd_info_kernel_symbol{suffix}` S ON S.id = K.kernel_id "
                                "WHERE S.display_name NOT LIKE '__amd%' ORDER BY K.id").fetchall()
        self.assertEqual(len(dispatches), 5)
        db.execute(f"INSERT INTO `rocpd_info_pmc{suffix}` (id, nid, pid, agent_id, target_arch, name, symbol) VALUES (1, ?, ?, ?, 'GPU', 'SQ_WAVES', 'SQ_WAVES')", (node, process, agent))
        for i, (event, _, _) in enumerate(dispatches):  # two instances each
            db.executemany(f"INSERT INTO `rocpd_pmc_event{suffix}` (event_id, pmc_id, value) VALUES (?, 1, ?)", [(event, 10), (event, i)])
        db.execute(f"CREATE TABLE `rocpd_pc_sampling{suffix}` (id INTEGER PRIMARY KEY, guid TEXT, method TEXT, timestamp BIGINT, exec_mask BIGINT, dispatch_id INTEGER, instruction TEXT, "
                   "instruction_comment TEXT, correlation_id INTEGER, wave_issued_instruction INTEGER, instruction_type TEXT, stall_reason TEXT, wave_count INTEGER)")
        stall = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT"
        rows = [(dispatches[0][1], "s_waitcnt vmcnt(0)", "plain.hip:9", 0, stall)] * 3 + [(dispatches[0][1], "v_add_u32 v0, v1, v2", "plain.hip:10", 1, stall), (10**6, "s_endpgm", "", 1, None)]
        db.executemany(f"INSERT INTO `rocpd_pc_sampling{suffix}` (method, dispatch_id, instruction, instruction_comment, wave_issued_instruction, stall_reason) VALUES ('stochastic', ?, ?, ?, ?, ?)", rows)
        db.commit()
        db.close()
        kernel = dispatches[0][2]
        self.done([PROBE, "report", path, "-o", page])
        host = self.page(page)["host"]
        self.assertEqual(host["counters"], [[kernel, "SQ_WAVES", 5, 12, 10, 14]])
        self.assertEqual(host["samples"], [["", "", "s_endpgm", "", 1], [kernel, "plain.hip:10", "v_add_u32 v0, v1, v2", "", 1], [kernel, "plain.hip:9", "s_waitcnt vmcnt(0)", "WAITCNT", 3]])
        text = self.done([PROBE, "log", path]).stdout
        self.assertRegex(text, r"\nstep.* 5 +12 +10 +14  SQ_WAVES\n")
        self.assertRegex(text, r"\n +3 +60\.0%  step.*: s_waitcnt vmcnt\(0\) at plain\.hip:9, waits for WAITCNT\n")

    def test_ranks_of_a_launcher_that_does_not_name_the_job_are_one_job(self):
        for rank in ("0", "1"):
            self.done([PROBE, "trace", "-o", self.folder, "--", PLAIN, 1], {"PMI_RANK": rank, "PMI_SIZE": "2"})
        self.assertNotIn("jobs have written", self.look())
        self.done([PROBE, "trace", "-o", self.folder, "--", PLAIN, 1], {"PMI_RANK": "1", "PMI_SIZE": "2"})
        self.assertIn("\n2 jobs have written into this folder", self.look())

    def test_a_time_namespace_has_another_clock(self):
        other = ["unshare", "--time", "--monotonic", "100000", "--fork"]
        if self.bare([*other, "true"]).code != 0:
            self.skipTest("no time namespaces here")
        trace = [PROBE, "trace", "-o", self.folder, "--", PLAIN, 2]
        for rank, command in enumerate((trace, [*other, *trace])):
            self.done(command, {"RANK": str(rank), "WORLD_SIZE": "2"})
        text = self.look()
        self.assertRegex(text, r"\nclocks: 2 hosts")
        self.assertNotIn("was changed", text)
        self.look("--format", "perfetto", "-o", self.path("all.json"))
        with open(self.path("all.json")) as file:
            self.assertLess(max(x.get("ts", 0) for x in json.load(file)["traceEvents"]), 1000e6)  # us: both began in a moment

    def test_a_clock_that_is_off_by_a_minute(self):
        self.in_front(2, BY_RANK)
        here, = glob.glob(self.folder + "host=*")
        there = self.folder + "host=elsewhere"
        os.mkdir(there)
        os.rename(here + "/rank=1", there + "/rank=1")  # as if it were of another host, that was started an hour later
        minute, hour = 60 * 10**9, 3600 * 10**9

        def change(server):
            for name in glob.glob(there + "/rank=1/*/*.json*"):
                with open(name) as file:
                    lines = [json.loads(line) for line in file]
                lines[0].update(host="elsewhere", boot_id="other")
                for clocks in (lines[0]["clocks"], lines[0].get("end_clocks", {})):
                    clocks["synchronized"] = True
                    if "realtime_ns" in clocks and not clocks.get("was_changed"):
                        clocks["realtime_ns"] += minute
                        clocks["was_changed"] = True
                    clocks.update(files_ahead_ns=-minute, files_error_ns=10**7) if server else None
                with open(name, "w") as file:
                    file.writelines(json.dumps(line) + "\n" for line in lines)
            for name in glob.glob(here + "/rank=0/*/*.json*"):
                with open(name) as file:
                    lines = [json.loads(line) for line in file]
                for clocks in (lines[0]["clocks"], lines[0].get("end_clocks", {})):
                    clocks["synchronized"] = True
                    clocks.update(files_ahead_ns=0, files_error_ns=10**7) if server else None
                with open(name, "w") as file:
                    file.writelines(json.dumps(line) + "\n" for line in lines)

        def starts():
            self.look("--format", "parquet", "-o", self.path("tables"))
            found = {}
            for name in glob.glob(self.path("tables/calls/*/*/*.parquet")):
                table = parquet_file.ParquetFile(name)
                found[name.split("/")[-3]] = min(row[table.columns.index("start_ns")] for row in table.rows)
            return found.pop("host=elsewhere") - found.popitem()[1]

        change(server=False)
        self.assertAlmostEqual(starts() / minute, 1, delta=0.5)
        text = self.look()
        self.assertRegex(text, r"\nclocks: 2 hosts, by their synchronized clocks: error up to ")
        self.assertRegex(text, r"\nclocks: elsewhere begins (59|60)\.\d+ s after the others: its clock may be off by as much\n")
        change(server=True)
        self.assertAlmostEqual(starts() / minute, 0, delta=0.5)
        text = self.look()
        self.assertRegex(text, r"\nclocks: 2 hosts, by the clock of the file server: error up to 20\.\d ms\n")
        self.assertIn("\nclocks: the clock of elsewhere differs from the file server's by 60.00 s\n", text)
        self.assertNotIn("its clock may be off", text)
        self.look("--format", "perfetto", "-o", self.path("all.json"))
        with open(self.path("all.json")) as file:
            events = json.load(file)["traceEvents"]
        self.assertLess(max(x["ts"] for x in events if "ts" in x), 50e6)  # us: they ran at the same time


if __name__ == "__main__":
    fade.main()
