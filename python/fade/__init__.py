"""FADE from Python: record a part of a program, run fadeprobe, and read what it wrote.

    import fade                              # before the GPU is used

    with fade.trace("run.rpd") as tracer:    # kernels, copies and HIP calls of this part
        with tracer.range("step"):
            work()

    trace = fade.read_trace("run.rpd")       # {"calls": [...], "operations": [...], ...}
    fade.run("check", "--json", "found.jsonl", "--", "./app")
    findings = fade.read_findings("found.jsonl")
"""
import subprocess

from ._readers import FormatError, read_findings, read_lines, read_profile, read_report, read_trace
from ._tools import program
from ._trace import trace

try:
    from ._version import __version__
except ImportError:  # a source tree
    __version__ = "unreleased"

__all__ = ["FormatError", "program", "read_findings", "read_lines", "read_profile", "read_report", "read_trace", "run", "trace"]


def run(*words, **options):
    """Runs fadeprobe with these words; options are those of subprocess.run, whose result is returned."""
    return subprocess.run([program(), *(str(word) for word in words)], **options)
