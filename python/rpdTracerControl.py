"""The class under the name by which users of RPD import it; fade.trace is the same in fewer words."""
from fade._control import rpdTracerControl

__all__ = ["rpdTracerControl"]
