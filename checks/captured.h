// fadeprobe check DIR: what the application had allocated is in the capture.
#pragma once

#include <string>

namespace fade::checks {

/// Makes the allocations and the code of a capture known. Nothing happens if it cannot be read: who
/// replays it says so.
void addCaptured(const std::string &folder);

} // namespace fade::checks
