// Short kernels that begin right after another kernel: the two could share a launch.
#pragma once

#include "profiles/profile.h"

namespace fade::profile {

/// Dispatches of a kernel before which the GPU did nothing but other kernels, and the host waited
/// for none of them.
struct Followers {
  uint64_t dispatches = 0;
  std::vector<std::string> after; ///< names of the kernels before it, in order of their names
};

using FollowersByKernel =
    std::map<std::pair<std::string, std::string>, Followers>; ///< name, module
FollowersByKernel followersIn(const ProgramDag &program);

/// Adds a finding for each kernel that mostly begins and ends, and follows others.
void addLaunchOverhead(const FollowersByKernel &followers, Profile &profile);
inline void addLaunchOverhead(const ProgramDag &program, Profile &profile) {
  addLaunchOverhead(followersIn(program), profile);
}

} // namespace fade::profile
