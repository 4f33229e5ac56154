// What the code and the source say about the order of both sides of a race.
#pragma once

#include "check/finding_reader.h"
#include "check/recorded_findings.h"

namespace fade::cli {

/// Lanes that load, change and store the same place: whether what they store was made of what they
/// loaded.
bool isLostUpdate(const FoundFinding &f, CodeObjects &objects);
/// Whether a wave comes from one side of a race to the other on a straight way, or round a loop.
/// It is round the loop only if there is a barrier on the straight way.
FoundFinding::Path pathBetween(const FoundFinding &f, CodeObjects &objects);
/// Between the side that came first and an atomic behind it: a fence of the workgroup's alone, or
/// the atomic itself. Compiled code does not tell the first from none; the source does.
FoundFrame narrowFence(const FoundFinding &f);
/// A barrier as an instruction: without a fence, or "memory", compilers move accesses across it.
uint32_t bareBarrier(const std::string &file);
/// Lanes of one wave that are in order because of that: whether the source has seen to it. Where a
/// workgroup is one wave, compilers leave barriers out.
bool isMeantForWaves(const FoundFinding &f);

} // namespace fade::cli
