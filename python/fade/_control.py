"""Recording of a Python program switched on and off, as RPD's class of this name does it, with FADE's librpd_tracer.so:

    from rpdTracerControl import rpdTracerControl
    rpdTracerControl.setFilename("run.rpd", append=False)
    tracer = rpdTracerControl()          # before the GPU is used
    with tracer:                         # or tracer.start() ... tracer.stop()
        work()
    tracer.flush()                       # what was recorded is in the file now

Starts and stops are counted, also those of several objects: recording ends with the last stop.
"""
import ctypes
import os
import sys
import threading

from ._tools import library


class rpdTracerControl:
    __filename = "trace.rpd"
    __append = False
    __rpd = None

    @classmethod
    def setFilename(cls, name, append=False):
        """The file, before the first object is made; a session is added to a file that is there if append is true."""
        if cls.__rpd is not None:
            raise RuntimeError("rpdTracerControl: the file name must be set before the first object is made")
        cls.__filename, cls.__append = os.path.abspath(name), append

    @classmethod
    def skipCreate(cls):
        """For all but one of several processes that write one file: it is not made anew."""
        cls.__append = True

    @classmethod
    def loadLibrary(cls):
        if cls.__rpd is None:
            if not cls.__append and os.path.exists(cls.__filename):
                os.remove(cls.__filename)
            os.environ["RPDT_FILENAME"] = cls.__filename
            os.environ.setdefault("RPDT_AUTOSTART", "0")
            cls.__rpd = library("rpd_tracer")
            for name in ("rpd_rangePush", "rpd_mark"):
                getattr(cls.__rpd, name).argtypes = [ctypes.c_char_p] * 3
        return cls.__rpd

    initializeFile = loadLibrary

    def __init__(self, nvtx=False):
        self.__rpd_ = self.loadLibrary()
        self.__nvtx = nvtx
        self.__context = None

    def start(self):
        self.__rpd_.rpdstart()
        if self.__nvtx:
            self.__context = self.__markers()

    def stop(self):
        if self.__context is not None:
            self.__context.__exit__(None, None, None)
            self.__context = None
        self.__rpd_.rpdstop()

    def flush(self):
        self.__rpd_.rpdflush()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()

    @staticmethod
    def __markers():
        """Operators of PyTorch as markers."""
        from torch.autograd.profiler import emit_nvtx
        context = emit_nvtx(record_shapes=True)
        context.__enter__()
        return context

    def rangePush(self, domain, apiName, args=""):
        self.__rpd_.rpd_rangePush(domain.encode(), apiName.encode(), args.encode())

    def rangePop(self):
        self.__rpd_.rpd_rangePop()

    def mark(self, domain, apiName, args=""):
        self.__rpd_.rpd_mark(domain.encode(), apiName.encode(), args.encode())

    def setPythonTrace(self, doTrace):
        """Every call of a Python function as a range, from now on or no more."""
        hook = self.__profile if doTrace else None
        threading.setprofile(hook)
        sys.setprofile(hook)

    def __profile(self, frame, event, argument):
        if event == "call":
            self.rangePush("python", frame.f_code.co_name, f"{frame.f_code.co_filename}:{frame.f_lineno}")
        elif event == "return":
            self.rangePop()
