"""RPD files: what RPD's own tools ask of them, on traces of a program that does what a framework does."""
import collections
import json
import os
import re
import sqlite3
import subprocess
import unittest

import fade
from fade import PROBE, program

STEPS = 3
OPERATOR = re.compile(r"^(.+?)(?:, seq = (\d+))?, op_id = (\d+)(?:, sizes = (.*), input_op_ids = (.*))?$")


class Tests(fade.Test):
    def events(self, app=(program("training"), STEPS), api="all"):
        """What a program has recorded."""
        path = self.path("run.events")
        preload = ":".join(os.path.join(fade.LIB, x) for x in ("libfaderoctx.so", "libfadegpu.so"))
        result = self.bare(app, {"HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so"), "FADE_TRACE": path, "FADE_TRACE_API": api,
                                  "LD_PRELOAD": preload})
        self.assertEqual(result.code, 0, result.stderr)
        return path

    def convert(self, events, path="run.rpd", options=()):
        result = self.bare([PROBE, "log", events, "-o", self.path(path), *options])
        self.assertEqual((result.code, result.stderr), (0, ""))
        return self.open(path)

    def open(self, path="run.rpd"):
        db = sqlite3.connect(self.path(path))
        self.addCleanup(db.close)
        self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        self.assertEqual(db.execute("PRAGMA foreign_key_check").fetchall(), [])
        return db

    def strings(self, db):
        """The table with the texts of arguments."""
        version = db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'schema_version'").fetchone()[0]
        return "rocpd_ustring" if version == "3" else "rocpd_string"

    def stacks(self, db):
        """Each call with those that it is in, as rocpd.call_stacks finds them: by the order of times in a thread."""
        found = {}
        for thread in db.execute("SELECT DISTINCT pid, tid FROM rocpd_api").fetchall():
            open_calls = []
            for call, _, change in db.execute(
                    "SELECT id, start AS at, 1 FROM rocpd_api WHERE pid = ? AND tid = ? UNION ALL "
                    "SELECT id, end, -1 FROM rocpd_api WHERE pid = ? AND tid = ? ORDER BY at", thread * 2):
                if change == 1:
                    open_calls.append(call)
                else:
                    self.assertEqual(open_calls[-1], call, "what ends is what began last")
                    found[call] = tuple(open_calls)
                    open_calls.pop()
            self.assertEqual(open_calls, [])
        return found

    def dedupe(self, db):
        """As rocpd.strings does: equal texts become one, unused ones go, and all that refer to them are told so."""
        users = [("rocpd_op", "description_id"), ("rocpd_op", "opType_id"), ("rocpd_api", "apiName_id"), ("rocpd_kernelapi", "kernelName_id")]
        users += [("rocpd_api", "domain_id"), ("rocpd_api", "category_id")] if self.strings(db) == "rocpd_ustring" else [("rocpd_api", "args_id")]
        for (value,) in db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'references::rocpd_string.id'"):
            users.append(tuple(re.findall(r'"(\w+)"', value)))
        used = {x for table, column in users for (x,) in db.execute(f"SELECT {column} FROM {table}")}
        texts = dict(db.execute("SELECT id, string FROM rocpd_string"))
        fresh = {text: number for number, text in enumerate(dict.fromkeys(texts[x] for x in sorted(used)), 1)}
        db.execute("DELETE FROM rocpd_string")
        db.executemany("INSERT INTO rocpd_string(string, id) VALUES (?, ?)", fresh.items())
        for table, column in users:
            for old in {x for (x,) in db.execute(f"SELECT {column} FROM {table}")}:
                db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (-fresh[texts[old]], old))
            db.execute(f"UPDATE {table} SET {column} = -{column}")
        db.commit()

    # ---- what each tool reads

    def test_rpds_tools_find_what_they_need_in_both_versions(self):
        events = self.events()
        for form in ("rpd", "rpd2"):
            db = self.convert(events, f"{form}.rpd", ["--format", form])
            for check in (self.calls_and_markers_nest_in_each_thread, self.operators_have_names_sizes_and_kernels,
                          self.a_graph_has_its_capture_its_kernels_and_its_launches, self.the_built_in_views_add_up,
                          self.texts_can_be_renumbered):
                with self.subTest(f"{check.__name__} in {form}"):
                    check(db)

    def calls_and_markers_nest_in_each_thread(self, db):
        stacks = self.stacks(db)
        names = {x: args if name == "UserMarker" else name for x, name, args in db.execute("SELECT id, apiName, args FROM api")}
        paths = collections.Counter(tuple(re.sub(r"\d+", "N", names[x].split(",")[0]) for x in path) for path in stacks.values())
        self.assertEqual(paths["step N", "aten::mul", "aten::add", "hipLaunchKernel"], 2 * STEPS)
        self.assertEqual(paths["step N", "aten::mul", "hipLaunchKernel"], 2 * STEPS)
        self.assertEqual(paths[("epoch N",)], 1)  # reaches over others: in a thread of its own
        self.assertEqual(paths[("half time",)], 1)

    def operators_have_names_sizes_and_kernels(self, db):
        stacks = self.stacks(db)
        markers = dict(db.execute("SELECT id, args FROM api WHERE apiName = 'UserMarker'"))
        kernels = dict(db.execute(
            "SELECT api_ptr_id, N.string FROM rocpd_kernelapi JOIN rocpd_string N ON N.id = kernelName_id JOIN rocpd_api_ops ON api_id = api_ptr_id"))
        found = collections.Counter()
        for call, kernel in kernels.items():
            if len(stacks[call]) > 1:  # within a marker
                name, _, _, sizes, _ = OPERATOR.match(markers[stacks[call][-2]]).groups()
                found[name, sizes, kernel.split("(")[0]] += 1
        self.assertEqual(found, {("aten::mul", "[[4096], []]", "scale"): 2 * STEPS, ("aten::add", "[[4096], [4096]]", "add"): 2 * STEPS})

    def a_graph_has_its_capture_its_kernels_and_its_launches(self, db):
        def texts(name):
            # rocpd.graph looks in this table, in both versions.
            rows = db.execute("SELECT A.id, A.start, A.end, S.string FROM rocpd_api A JOIN rocpd_string N ON N.id = apiName_id "
                              "JOIN rocpd_string S ON S.id = args_id WHERE N.string = ? ORDER BY A.start", (name,))
            return [(row[:3], dict(x.split(" = ") for x in row[3].split(" | "))) for row in rows]

        ((_, begin, _), capture), = texts("hipStreamBeginCapture")
        ((_, _, end), captured), = texts("hipStreamEndCapture")
        (_, made), = texts("hipGraphInstantiate")
        launches = texts("hipGraphLaunch")
        self.assertEqual(capture["stream"], captured["stream"])
        self.assertEqual(made["graph"], captured["graph"])
        self.assertEqual([x["graphExec"] for _, x in launches], [made["graphExec"]] * 4)
        kernels = db.execute("SELECT S.string FROM rocpd_kernelapi JOIN rocpd_api A ON A.id = api_ptr_id JOIN rocpd_string S ON S.id = kernelName_id "
                             "WHERE stream = ? AND A.end BETWEEN ? AND ? ORDER BY A.start", (capture["stream"], begin, end)).fetchall()
        self.assertEqual([x.split("(")[0] for (x,) in kernels], ["scale", "add", "scale"])
        for (launch, _, _), _ in launches:
            self.assertEqual(db.execute("SELECT count(*) FROM rocpd_api_ops WHERE api_id = ?", (launch,)).fetchone(), (3,))

    def texts_can_be_renumbered(self, db):
        api = db.execute("SELECT A.id, N.string FROM rocpd_api A JOIN rocpd_string N ON N.id = apiName_id").fetchone()[0]
        name = db.execute("SELECT id FROM rocpd_string WHERE string = 'hipMalloc'").fetchone()[0]
        db.execute("INSERT INTO rocpd_stackframe(api_ptr_id, depth, name_id) VALUES (?, 0, ?)", (api, name))
        views = ("api", "op", "kernel", "copy", "copyop", "stackframe")
        before = [db.execute(f"SELECT * FROM {view} ORDER BY id").fetchall() for view in views]
        self.dedupe(db)
        for view, rows in zip(views, before):
            self.assertEqual(db.execute(f"SELECT * FROM {view} ORDER BY id").fetchall(), rows, view)
            self.assertTrue(rows, view)

    def test_texts_need_no_escapes(self):
        # rpd2tracing puts texts between quotes as they are, without their own quotes; Python reads only UTF-8.
        db = self.convert(self.events([program("dl_calls"), "typed"]))
        for name, args in db.execute("SELECT apiName, args FROM api").fetchall():
            self.assertIsInstance(json.loads('"%s"' % args.replace('"', "").replace("\t", "")), str, name)
        self.assertRegex(db.execute("SELECT args FROM api WHERE apiName = 'hipMalloc' ORDER BY start").fetchone()[0],
                         r"^ptr=0x[0-9a-f]+ \| size=0x1000$")

    def the_built_in_views_add_up(self, db):
        top = {name.split("(")[0]: (calls, total) for name, calls, total, *_ in db.execute("SELECT * FROM top")}
        self.assertEqual(top["scale"][0], 2 * STEPS + 8)
        self.assertEqual(top["add"][0], 2 * STEPS + 4)
        self.assertAlmostEqual(db.execute("SELECT sum(Percentage) FROM top").fetchone()[0], 100, 3)
        (gpu, busy, wall, share), = db.execute("SELECT * FROM busy")
        self.assertEqual((gpu, busy), (0, db.execute("SELECT sum(end - start) FROM rocpd_op").fetchone()[0]))
        self.assertAlmostEqual(share, busy / wall)
        sizes = db.execute("SELECT DISTINCT size, kind FROM copy ORDER BY kind").fetchall()
        self.assertEqual(sizes, [(16384, 1), (16384, 2)])

    # ---- what fadeprobe log makes of it

    def test_log_shows_the_same_whatever_the_file(self):
        events = self.events(api="memory,copy,launch,graph,compiler,^hipStream")
        texts = {}
        for form in ("rpd", "rpd2", "json"):
            path = self.path(f"run.{form}")
            self.assertEqual(self.bare([PROBE, "log", events, "-o", path, "--format", form]).code, 0)
            texts[form] = {}
            for view in (("--graphs",), ("--operators",), ("--callstack",), ("--dot", "chain"), ("--dot", "data"), ("--rows", 99)):
                result = self.bare([PROBE, "log", path, *view])
                self.assertEqual((result.code, result.stderr), (0, ""))
                text = re.sub(r" \((engine|kernel)\)", "", result.stdout)  # an RPD file does not say it
                # Times are moved by some ns so that they nest, and columns follow what is in them.
                texts[form][view] = sorted(re.sub(r"[\d.]+ (ns|us|ms)\b", "T", re.sub(" +", " ", text)).splitlines())
        for view, text in texts["json"].items():
            self.assertEqual(texts["rpd"][view], text, view)
            self.assertEqual(texts["rpd2"][view], text, view)
        text = "\n".join(texts["rpd"]["--operators",])
        self.assertRegex(text, rf"(?m)^aten::mul scale\(float\*, float\) \[\[4096\], \[\]\] {2 * STEPS} ")
        self.assertRegex(text, rf"(?m)^aten::copy_ copy device_to_host {2 * STEPS} ")
        text = "\n".join(texts["rpd"]["--callstack",])
        self.assertRegex(text, r"(?m)^ 2 T T T T step 1$")
        text = self.bare([PROBE, "log", self.path("run.json"), "--graphs"]).stdout
        self.assertRegex(text, r"kernels in order\n +1  scale\(.*\n +2  add\(.*\n +3  scale\(")
        self.assertRegex(text, r"(?m)^graph 1: .* 4 launches$")

    def test_times_of_a_graph_are_those_of_its_operations(self):
        db = self.convert(self.events())
        text = self.bare([PROBE, "log", self.path("run.rpd"), "--graphs"]).stdout
        span, busy = db.execute("SELECT sum(span), sum(busy) FROM (SELECT max(O.end) - min(O.start) AS span, sum(O.end - O.start) AS busy FROM api A "
                                "JOIN rocpd_api_ops ON api_id = A.id JOIN rocpd_op O ON O.id = op_id WHERE apiName = 'hipGraphLaunch' GROUP BY A.id)").fetchone()
        total = re.search(r"(?m)^ +total +[\d.]+ .. +([\d.]+) (..) +([\d.]+) (..) +12$", text)
        self.assertIsNotNone(total, text)
        units = {"ns": 1, "us": 1e3, "ms": 1e6}
        for shown, unit, expected in ((total[1], units[total[2]], span), (total[3], units[total[4]], busy)):  # its kernels follow each other
            self.assertAlmostEqual(float(shown) * unit, expected, delta=0.06 * unit)

    # ---- what is cut off, foreign, or has no room

    def test_files_that_are_cut_off_are_read_or_refused_in_one_line(self):
        events = self.events([program("training"), 1])
        whole = self.bare([PROBE, "log", events]).stdout
        with open(events, "rb") as file:
            raw = file.read()
        # The end of what is in the last block; an event may end with zeros.
        ends = [at + int.from_bytes(raw[at + 4:at + 8], "little") for at in range(4096, len(raw), 1 << 17) if raw[at]]
        for share in (0.2, 0.6, 1.0):  # everything up to there
            with open(self.path("cut.events"), "wb") as file:
                file.write(raw[:int(4096 + (ends[-1] - 4096) * share) // 8 * 8 + 1])
            result = self.bare([PROBE, "log", self.path("cut.events")])
            self.assertEqual((result.code, result.stderr), (0, ""))
        self.assertEqual(result.stdout, whole)
        for form in ("rpd", "json"):
            path = self.path(f"run.{form}")
            self.bare([PROBE, "log", events, "-o", path, "--format", form])
            half = os.path.getsize(path) // 2
            if form == "json":  # within a line
                with open(path, "rb") as file:
                    half = file.read().index(b"\n", half)
            os.truncate(path, half + 3)
            result = self.bare([PROBE, "log", path])
            if form == "json":
                self.assertEqual(result.code, 0)
                self.assertIn("1 lines could not be read", result.stdout)
            else:
                self.assertEqual((result.code, result.stdout), (1, ""))
                self.assertRegex(result.stderr, rf"^fadeprobe: {path}: .*malformed\n$")

    def test_views_of_a_foreign_file_are_not_run(self):
        self.convert(self.events([program("training"), 1])).close()
        with sqlite3.connect(self.path("run.rpd")) as db:
            for name in ("api", "op"):
                db.execute(f"DROP VIEW {name}")
                db.execute(f"CREATE VIEW {name} AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT * FROM n")  # has no end
        db.close()
        self.assertIn("hipGraphLaunch", self.bare([PROBE, "log", self.path("run.rpd")]).stdout)
        with sqlite3.connect(self.path("run.rpd")) as db:
            db.execute("ALTER TABLE rocpd_op RENAME TO mine")
            db.execute("CREATE VIEW rocpd_op AS SELECT * FROM mine")
        db.close()
        result = self.bare([PROBE, "log", self.path("run.rpd")])
        self.assertEqual((result.code, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"run.rpd: is a database, but no RPD file: it has no rocpd_op\n$")

    def test_a_full_disk_is_one_line_and_what_was_there_stays(self):
        events = self.events([program("training"), 1])
        for form in ("rpd", "json", "perfetto"):
            path = self.path(f"run.{form}")
            with open(path, "w") as file:
                file.write("precious")
            done = subprocess.run(["sh", "-c", "ulimit -f 8; trap '' XFSZ; exec \"$@\"", "sh", PROBE, "log", events, "-o", path, "--format", form],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (1, ""), form)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            with open(path) as file:
                self.assertEqual(file.read(), "precious")
        self.assertEqual(sorted(os.listdir(self.dir)), ["run.events", "run.json", "run.perfetto", "run.rpd"])
        # Something that is added to stays as it was.
        path = self.path("added.rpd")
        self.assertEqual(self.bare([PROBE, "log", events, "-o", path]).code, 0)
        before = self.bare([PROBE, "log", path]).stdout
        blocks = os.path.getsize(path) // 512 + 4
        done = subprocess.run(["sh", "-c", f"ulimit -f {blocks}; trap '' XFSZ; exec \"$@\"", "sh", PROBE, "log", events, "-o", path, "--append"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(self.bare([PROBE, "log", path]).stdout, before)

    # ---- several sessions

    def test_sessions_are_added_also_by_several_processes_at_once_and_after_tools_have_changed_the_file(self):
        events = self.events([program("training"), 1])
        for form in ("rpd", "rpd2"):
            with self.subTest(form):
                run = f"{form}.rpd"
                command = [PROBE, "log", events, "-o", self.path(run), "--format", form, "--append"]
                writers = [subprocess.Popen(command) for _ in range(4)]
                self.assertEqual([x.wait(60) for x in writers], [0] * 4)
                db = self.open(run)
                self.assertEqual(db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'session_count'").fetchall(), [("4",)])
                once, = db.execute("SELECT count(*) FROM api").fetchone()
                self.assertEqual([x for (x,) in db.execute("SELECT DISTINCT id >> 32 FROM rocpd_api")], [0, 1, 2, 3])
                self.assertEqual(db.execute("SELECT count(*), count(DISTINCT start) FROM api WHERE apiName = 'hipMalloc'").fetchone(), (20, 5))
                self.dedupe(db)
                # Text 1 need not be the empty one any more.
                db.execute("UPDATE rocpd_string SET id = id + 1000")
                for table, column in (("rocpd_api", "apiName_id"), ("rocpd_op", "opType_id"), ("rocpd_op", "description_id"), ("rocpd_kernelapi", "kernelName_id")):
                    db.execute(f"UPDATE {table} SET {column} = {column} + 1000")
                for column in ("domain_id", "category_id") if form == "rpd" else ("args_id",):
                    db.execute(f"UPDATE rocpd_api SET {column} = {column} + 1000")
                db.commit()
                subprocess.run(command, check=True, timeout=60)
                db = self.open(run)
                self.assertEqual(db.execute("SELECT count(*) FROM api").fetchone(), (once * 5 // 4,))
                by_session = collections.defaultdict(list)
                for number, *row in db.execute("SELECT id, apiName, args, start, end FROM api ORDER BY id"):
                    by_session[number >> 32].append(row)
                self.assertEqual(by_session[4], by_session[0])

    def test_a_file_of_another_tool_is_added_to(self):
        # As rocpd.schema --create leaves it: no session, no empty text, nothing that FADE adds.
        events = self.events([program("training"), 1])
        db = self.convert(events, "model.rpd")
        with sqlite3.connect(self.path("run.rpd")) as other:
            for (sql,) in db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'").fetchall():
                other.execute(sql)
            other.execute("INSERT INTO rocpd_metadata(tag, value) VALUES ('schema_version', '3')")
        other.close()
        db = self.convert(events, "run.rpd", ["--append"])
        self.assertEqual(db.execute("SELECT count(*) FROM api WHERE apiName = 'hipGraphLaunch'").fetchone(), (4,))
        self.assertEqual(db.execute("SELECT count(*) FROM rocpd_metadata WHERE tag LIKE 'references%'").fetchone(), (2,))
        self.assertEqual(db.execute("SELECT count(*) FROM op WHERE description = '' AND opType = 'KernelExecution'").fetchone(), (0,))


if __name__ == "__main__":
    fade.main()
