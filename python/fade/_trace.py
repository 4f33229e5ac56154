"""Recording of this process, switched on for a part of it."""
import contextlib
import os

from ._control import rpdTracerControl


class trace:
    """Records kernels, copies, HIP calls and ranges into an RPD file while it is entered.

    The first object is made before the GPU is used: the runtime tells tools of its queues only when it starts. A process has one
    file; parts that are recorded later are added to it. It can be read as soon as a part has ended.
    """
    _path = None

    def __init__(self, path="trace.rpd", append=False):
        path = os.path.abspath(os.fspath(path))
        if trace._path is None:
            rpdTracerControl.setFilename(path, append)
        elif trace._path != path:
            raise RuntimeError(f"this process records into {trace._path}: it cannot record into {path}, too")
        self._control = rpdTracerControl()
        trace._path = path
        self.path = path

    def start(self):
        self._control.start()

    def stop(self):
        self._control.stop()
        self._control.flush()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()

    @contextlib.contextmanager
    def range(self, name, args=""):
        """A range in the timeline, around what is in the with block."""
        self._control.rangePush("python", name, args)
        try:
            yield
        finally:
            self._control.rangePop()

    def mark(self, name, args=""):
        """A moment in the timeline."""
        self._control.mark("python", name, args)
