// Frames of a Python interpreter that runs in this process.
#pragma once

#include <cstdint>

namespace fade::hip {

/// Puts the frames of Python that this thread is in (events::kInterpretedFrame) where the
/// interpreter's own functions stand among these `count` addresses, of which there may be `most`.
/// Returns how many there are then.
///
/// Needs the interpreter's lock. It is taken only where a call comes through ctypes, which has just
/// given it back and takes it again after the call anyway; in any other code without it somebody
/// may wait for this thread.
unsigned addPythonFrames(uint64_t *frames, unsigned count, unsigned most) noexcept;

} // namespace fade::hip
