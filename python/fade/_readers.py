"""What FADE wrote, as plain lists and dictionaries. Fields are those of docs/formats."""
import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import warnings

from ._tools import program

# The newest version of each type that is understood; 1 for all others.
_VERSIONS = {"dag": 2, "profile": 2, "roofline": 2, "analysis": 2}


class FormatError(ValueError):
    """A file is not what it should be; the message has its name."""


def _checked(value, where):
    if not isinstance(value, dict) or not isinstance(value.get("type"), str) or not isinstance(value.get("version"), int):
        raise FormatError(f"{where} was not written by FADE: it has no type and version")
    newest = _VERSIONS.get(value["type"], 1)
    if value["version"] > newest:
        raise FormatError(f"{where}: '{value['type']}' has version {value['version']}, this module knows {newest}: update it")
    return value


def _parsed(text, where):
    try:
        return json.loads(text)
    except ValueError as error:
        raise FormatError(f"{where}: {error}") from None


def read_lines(path):
    """All objects of a file of JSON lines, in its order. A last line without its end, as a killed process leaves it, is left out with a warning."""
    found = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            where = f"{os.fspath(path)}:{number}"
            if not line.endswith("\n"):
                try:
                    json.loads(line)
                except ValueError:
                    warnings.warn(f"{where} is cut off: its process was killed, or the disk is full", stacklevel=2)
                    break
            if line.strip():
                found.append(_checked(_parsed(line, where), where))
    return found


def read_report(path):
    """The JSON lines of a run (`-t json -l FILE`), a dictionary of lists by type: report["dispatch"][0]["kernel"]."""
    report = {}
    for line in read_lines(path):
        report.setdefault(line["type"], []).append(line)
    return report


def read_findings(path):
    """Findings of `--findings FILE`, `check --json FILE` or of the folder of a run that was checked (`check -o run/`), in their order."""
    if os.path.isdir(path):
        with _made_by("check", path, "--json", accepted=(0, 1, 3)) as made:
            return [line for line in read_lines(made) if line["type"] == "finding"]
    return [line for line in read_lines(path) if line["type"] == "finding"]


def read_profile(path):
    """profile.json, by its name or by that of the folder it is in; dag.json, roofline.json and analysis.json by their names."""
    path = pathlib.Path(path)
    if path.is_dir():
        path = path / "profile.json"
    return _checked(_parsed(path.read_text(encoding="utf-8", errors="replace"), path), path)


_LISTS = {"call": "calls", "operation": "operations", "marker": "markers", "process": "processes", "stack": "stacks", "library": "libraries",
          "finding": "findings"}


def read_trace(path):
    """A trace, whatever its format: RPD, JSON lines, host events or the folder of a run. A dictionary of lists, each in order of start: `calls`,
    `operations` and `markers` (fields: docs/formats/trace.md, times in nanoseconds); of formats that have them also `processes`, `stacks`,
    `libraries` and `findings`. Of RPD files and folders `args` is a text, as RPD has it."""
    if os.path.isdir(path):  # clocks of several hosts are brought together there
        with _made_by("log", path, "--format", "rpd", "-o") as made:
            return _read_rpd(made)
    with open(path, "rb") as file:
        begin = file.read(16)
    if begin == b"SQLite format 3\0":
        return _read_rpd(path)
    if begin.lstrip()[:1] == b"{":
        return _by_list(read_lines(path))
    with _made_by("log", path, "--format", "json", "-o") as made:
        return _by_list(read_lines(made))


def _by_list(lines):
    found = {"calls": [], "operations": [], "markers": []}
    for line in lines:
        if line["type"] in _LISTS:
            found.setdefault(_LISTS[line["type"]], []).append(line)
    for kind in ("calls", "operations", "markers"):  # long traces are written in pieces, each in order
        found[kind].sort(key=lambda line: line.get("start_ns") or line.get("submitted_ns") or 0)
    return found


@contextlib.contextmanager
def _made_by(*words, accepted=(0,)):
    """The file that fadeprobe makes of something; its name is put behind the words."""
    with tempfile.TemporaryDirectory(prefix="fade-") as folder:
        made = os.path.join(folder, "made.jsonl")
        done = subprocess.run([program(), *map(os.fspath, words), made], capture_output=True, text=True)
        if done.returncode not in accepted or not os.path.exists(made):
            raise FormatError(done.stderr.strip() or f"fadeprobe {words[0]} ended with {done.returncode}")
        yield made


# Version 3 of RPD's schema has domains, and texts of arguments in a table of their own.
_CALLS = {
    "3": """SELECT a.id, a.pid, a.tid, a.start, a.end, f.string, t.string, d.string FROM rocpd_api a JOIN rocpd_string f ON f.id = a.apiName_id
            LEFT JOIN rocpd_ustring t ON t.id = a.args_id LEFT JOIN rocpd_string d ON d.id = a.domain_id ORDER BY a.start, a.id""",
    "2": """SELECT a.id, a.pid, a.tid, a.start, a.end, f.string, t.string, CASE f.string WHEN 'UserMarker' THEN f.string ELSE 'hip' END
            FROM rocpd_api a JOIN rocpd_string f ON f.id = a.apiName_id LEFT JOIN rocpd_string t ON t.id = a.args_id ORDER BY a.start, a.id""",
}
_OPERATIONS = """SELECT o.id, o.gpuId, o.queueId, o.start, o.end, n.string, k.string, min(l.api_id) FROM rocpd_op o JOIN rocpd_string n ON n.id = o.description_id
            JOIN rocpd_string k ON k.id = o.opType_id LEFT JOIN rocpd_api_ops l ON l.op_id = o.id GROUP BY o.id ORDER BY o.start, o.id"""


def _read_rpd(path):
    found = {"calls": [], "operations": [], "markers": []}
    try:
        with contextlib.closing(sqlite3.connect(f"{pathlib.Path(path).absolute().as_uri()}?mode=ro", uri=True)) as base:
            base.text_factory = lambda text: text.decode("utf-8", "replace")
            version = dict(base.execute("SELECT tag, value FROM rocpd_metadata")).get("schema_version")
            if version not in _CALLS:
                raise FormatError(f"{os.fspath(path)}: RPD's schema has version {version}, this module knows 2 and 3")
            for number, process, thread, start, end, name, args, domain in base.execute(_CALLS[version]):
                row = {"start_ns": start, "end_ns": end, "thread": thread, "pid": process, "id": number, "args": args or ""}
                if domain == "hip":
                    found["calls"].append({"function": name, **row})
                else:
                    found["markers"].append({"text": name, "domain": domain, **row})
            for number, gpu, queue, start, end, name, kind, call in base.execute(_OPERATIONS):
                row = {"kind": _kind(kind), "gpu": gpu, "queue": queue, "start_ns": start, "end_ns": end, "id": number, "call": call}
                found["operations"].append(row | ({"kernel": name} if name else {}))
    except sqlite3.Error as error:
        raise FormatError(f"{os.fspath(path)} is not an RPD file: {error}") from None
    return found


def _kind(name):
    """RPD's word for an operation, in the trace's: KernelExecution, CopyHostToDevice, FillBuffer."""
    return next((kind for kind in ("copy", "fill") if name.lower().startswith(kind)), "kernel")
