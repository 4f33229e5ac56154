// A hang as text: where waves are, what they wait for, and who could end it.
#pragma once

#include "check/finding_reader.h"

#include <string>
#include <vector>

namespace fade::cli {

/// One kind of wait at one place: "63 waves poll byte 0 of allocation 3, which is 1".
std::string waitText(const FoundFinding &wait, const std::string &memory);
/// Who could end it, and where that one is: "written by ..., which waits at lock.hip:20"; may be
/// empty.
std::string wakerText(const FoundFinding &wait);

/// Who waits for whom, from the first entry of a hang on: each place with the number of its waves
/// and what they wait for.
struct WaitChain {
  struct Link {
    std::string at, thing;
    uint64_t waves = 0;
  };
  std::vector<Link> links;
  std::string end;  ///< who the last one waits for
  int back_to = -1; ///< if that is one of the links: they wait for each other
};
WaitChain waitChain(const FoundFinding &hang);
std::string chainText(const WaitChain &chain);
std::string hangAdvice(const FoundFinding &hang);

} // namespace fade::cli
