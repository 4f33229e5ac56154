#include "check/advice.h"

#include "check/hang_text.h"
#include "checks/options.h"
#include "fade/observer.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace fade::cli {
namespace {

using namespace fade::checks;

/// "line 11", with the file if it is not the finding's own; empty if it is not known.
std::string lineText(const FoundPlace &place, const FoundPlace &shown) {
  if (place.shown.line == 0) return "";
  if (place.shown.file == shown.shown.file) return fmt::format("line {}", place.shown.line);
  return fmt::format("{}:{}", std::filesystem::path(place.shown.file).filename().string(),
                     place.shown.line);
}

std::string fileAndLine(const FoundFrame &frame) {
  return fmt::format("{}:{}", std::filesystem::path(frame.file).filename().string(), frame.line);
}

bool isKind(const FoundPlace &place, AccessKind kind) {
  return static_cast<AccessKind>(place.raw.kind) == kind;
}

/// A barrier is missing on the way from one side to the other. Where the way is not known, from
/// what came first to what came then.
std::string barrierAdvice(const FoundFinding &f) {
  using Path = FoundFinding::Path;
  bool is_forward = f.is_turned;
  if (f.path == Path::forward || f.path == Path::backward) is_forward = f.path == Path::forward;
  if (f.path == Path::loop) is_forward = f.place.raw.address > f.other.raw.address;
  const FoundPlace &first = is_forward ? f.place : f.other;
  const FoundPlace &then = is_forward ? f.other : f.place;
  const std::string before = lineText(first, f.place), behind = lineText(then, f.place);
  if (before.empty() || behind.empty()) return "add __syncthreads() between the two accesses";
  const bool is_same_store = first.raw.pc == then.raw.pc && isKind(first, AccessKind::store);
  if (is_same_store)
    return fmt::format("let one work-item store at {}, or give each its own location",
                       lineText(f.place, f.place));
  if (first.shown.file == then.shown.file && first.shown.line < then.shown.line)
    return fmt::format("add __syncthreads() after {}, before {}", before, behind);
  if (before == behind && (isKind(first, AccessKind::store) == isKind(then, AccessKind::store)))
    return fmt::format("let one work-item store at {}, or give each its own location", before);
  if (before == behind)
    return fmt::format("use an atomic operation at {}, or add __syncthreads() between reading and "
                       "writing",
                       before);
  return fmt::format("in a loop: add __syncthreads() after {}, before {} is reached again", before,
                     behind);
}

std::string betweenGroupsAdvice(const FoundFinding &f) {
  const std::string line = lineText(f.between, f.place);
  const std::string where = line.empty() ? "" : " at " + line;
  switch (static_cast<Between>(f.raw.lacks)) {
  case Between::no_release:
    if (f.narrow.line != 0)
      return fmt::format(
          "the {} at line {} is only workgroup-wide, and another workgroup reads: {}",
          f.narrow.function, f.narrow.line,
          f.narrow.function == "fence" ? "use __threadfence()"
                                       : "use one of device scope, with __threadfence() before it");
    if (isKind(f.between, AccessKind::store))
      return fmt::format("the store{} comes between, but without __threadfence() before it: make "
                         "it a release store of device scope, or add the fence",
                         where);
    return fmt::format("the atomic{} comes between, but without __threadfence() before it "
                       "(__threadfence_block() is not enough between workgroups)",
                       where);
  case Between::no_acquire:
    return fmt::format("the access{} comes between, but without __threadfence() after it", where);
  default: break;
  }
  const bool has_atomic =
      isKind(f.place, AccessKind::atomic) || isKind(f.other, AccessKind::atomic);
  if (has_atomic) {
    const FoundPlace &plain = isKind(f.place, AccessKind::atomic) ? f.other : f.place;
    const std::string at = lineText(plain, f.place);
    return fmt::format("use an atomic operation{} too, or another kernel for it",
                       at.empty() ? "" : " at " + at);
  }
  if (f.place.shown.line != 0 && f.place.shown.line == f.other.shown.line &&
      isKind(f.place, AccessKind::store) && isKind(f.other, AccessKind::load))
    return fmt::format("workgroups update the same location at {}: use an atomic operation",
                       lineText(f.place, f.place));
  if (isKind(f.place, AccessKind::store) && isKind(f.other, AccessKind::store))
    return "workgroups run in any order: let each store to its own location, or use an atomic "
           "operation";
  return "workgroups run in any order: use two kernels, or an atomic with __threadfence() before "
         "it and another one after it on the reading side";
}

std::string raceAdvice(const FoundFinding &f) {
  if (static_cast<Problem>(f.raw.problem) == Problem::overlap)
    return "order the two streams: hipStreamWaitEvent, or hipStreamSynchronize before the second "
           "launch";
  const bool same_group = std::ranges::equal(f.raw.place.group, f.raw.other.group);
  if (f.bare_barrier != 0)
    return fmt::format("{}; the barrier at line {} does not order memory for the compiler (add "
                       "\"memory\" to the asm statement, or fences around the builtin)",
                       barrierAdvice(f), f.bare_barrier);
  // Some compilers move loads across __syncthreads(), too, and take their lines away then.
  const auto was_moved = [](const FoundPlace &p) {
    return p.is_near && isKind(p, AccessKind::load);
  };
  if (static_cast<AccessSpace>(f.raw.space) == AccessSpace::lds &&
      (was_moved(f.place) || was_moved(f.other)))
    return barrierAdvice(f) + "; if it is there, the compiler has moved the load across it "
                              "(docs/recipes/compiler-barrier.md)";
  if (static_cast<AccessSpace>(f.raw.space) == AccessSpace::lds || same_group)
    return barrierAdvice(f);
  return betweenGroupsAdvice(f);
}

std::string initAdvice(const FoundFinding &f) {
  const bool counts = isKind(f.place, AccessKind::atomic);
  switch (static_cast<AccessSpace>(f.raw.space)) {
  case AccessSpace::lds:
    return counts ? "set it to 0 before the first atomic, then __syncthreads(): LDS holds values "
                    "that an earlier workgroup left"
                  : "write all of it before it is read, then __syncthreads(): LDS holds values "
                    "that an earlier workgroup left";
  case AccessSpace::scratch: return "give the variable a value where it is declared";
  default: break;
  }
  const FoundFrame &by = f.allocation.caller;
  return fmt::format("hipMemset after the allocation{}, or write every element that is read (sizes "
                     "of copies are bytes)",
                     by.line != 0 ? " at " + fileAndLine(by) : "");
}

std::string boundsAdvice(const FoundFinding &f) {
  const AllocationInfo &a = f.allocation.raw;
  if (f.raw.distance < 0) return "the index is negative, or the pointer is before its memory";
  const uint32_t size = f.raw.place.size;
  if (f.place.merged.empty() && size != 0 && size <= 16 && a.size % size == 0)
    return fmt::format("there {} {} {} of {} bytes: check the index before the access",
                       a.size == size ? "is" : "are", a.size / size,
                       a.size == size ? "element" : "elements", size);
  return "check the index against the size before the access";
}

} // namespace

std::string adviceOf(const FoundFinding &f) {
  switch (static_cast<Problem>(f.raw.problem)) {
  case Problem::outside: return "check where the pointer comes from: it was never allocated";
  case Problem::gap: return boundsAdvice(f);
  case Problem::freed:
    if (f.allocation.api.ends_with("Async"))
      return "free it after the last launch that uses it, in the same stream or one that waits "
             "for it";
    return fmt::format("wait for the kernel before freeing (hipStreamSynchronize){}",
                       f.allocation.freed_by.line != 0
                           ? fmt::format(": it was freed at {}", fileAndLine(f.allocation.freed_by))
                           : "");
  case Problem::lds_bounds:
    return fmt::format("check the index, or give the array (or the launch's dynamic LDS) more than "
                       "{} bytes",
                       f.raw.limit);
  case Problem::scratch_bounds: return "check the index: a local array is too small";
  case Problem::arguments: return "launch the kernel with all of its arguments";
  case Problem::read_only: return "copy the data to memory that kernels may write";
  case Problem::misaligned:
    return fmt::format("align what the atomic changes to {} bytes", f.raw.place.size);
  case Problem::freed_twice:
    return "set the pointer to null when it is freed, and free it in one place";
  case Problem::uninitialized: return initAdvice(f);
  case Problem::race:
  case Problem::overlap: return raceAdvice(f);
  case Problem::lanes:
    return "let one work-item store, give each its own location, or use an atomic operation";
  case Problem::lost_update: return "use an atomic operation, such as atomicAdd";
  case Problem::divergent_barrier:
    return "move __syncthreads() out of the condition or loop that not all work-items take";
  case Problem::missing_waves: {
    // Compilers let all returns end at the closing brace: which one it was is not known.
    if (f.other.source.starts_with('}') && f.place.shown.line != 0)
      return fmt::format("turn the early return before line {} into a condition around the work",
                         f.place.shown.line);
    const std::string line = lineText(f.other, f.place);
    return fmt::format("turn the early return{} into a condition around the work",
                       line.empty() ? "" : " at " + line);
  }
  case Problem::inactive_lane:
    return f.raw.waves != 0
               ? "shuffle outside of the condition or loop, where all work-items take part, and "
                 "use the value inside"
               : "do not use values of lanes beyond the last work-item: compare the lane with the "
                 "number of work-items";
  case Problem::unwaited:
    if (f.other.source.find("asm") != std::string::npos &&
        f.place.instruction.find("_store") != std::string::npos)
      return fmt::format(
          "the compiler does not know that the load{} is still in flight, and moves its "
          "registers: wait in the same asm statement, or let the compiler load",
          f.other.shown.line != 0 ? " of " + lineText(f.other, f.place) : "");
    return "put the wait before the instruction";
  case Problem::wait_states:
    return "put the missing wait states or instruction between the two instructions";
  case Problem::nan_born:
  case Problem::infinity_born:
    return "check the operands before the operation, or use the result only where they are "
           "valid";
  case Problem::order:
    return fmt::format(
        "look for a race; to see it again: FADE_GPU_SCHEDULE={}:{} fadeprobe replay {} "
        "--check --on software --workers 1",
        f.raw.address, f.raw.limit, f.rule);
  case Problem::copy_overlap:
    return "let the later one wait: hipStreamSynchronize, or hipEventRecord in one stream and "
           "hipStreamWaitEvent in the other";
  case Problem::unregistered:
    return "wait for the stream that uses it (hipStreamSynchronize) before hipHostUnregister";
  case Problem::freed_early:
    return "free it in the stream that uses it, or let the stream that frees it wait for the other "
           "one (hipEventRecord, hipStreamWaitEvent)";
  case Problem::used_early:
    return "record an event after hipMallocAsync, and let the stream that uses the memory wait "
           "for it (hipStreamWaitEvent)";
  case Problem::array_bounds: {
    const auto reach = static_cast<ArrayReach>(f.raw.waves);
    if (reach == ArrayReach::across || reach == ArrayReach::merged)
      return fmt::format("{} has {} bytes: check the index, or the trip count of the unrolled "
                         "loop",
                         f.rule, f.raw.limit);
    const uint64_t count = f.raw.place.size != 0 ? f.raw.limit / f.raw.place.size : 0;
    return fmt::format("{} has {} {}: check the index before the access", f.rule, count,
                       count == 1 ? "element" : "elements");
  }
  case Problem::overflow: return "the value is too large for the narrower type: scale or clamp it";
  case Problem::half_wave: return barrierAdvice(f);
  case Problem::flushed:
    return "compile without -fgpu-flush-denormals-to-zero, or scale the values";
  case Problem::polls:
  case Problem::at_barrier:
  case Problem::at_global_barrier:
  case Problem::not_ended: return hangAdvice(f);
  case Problem::leak: return "free it with hipFree when it is no longer used";
  case Problem::count: break;
  }
  return "";
}

std::string pageOf(const FoundFinding &f) {
  return fmt::format("docs/check.md#{}", nameOf(static_cast<Check>(f.raw.check)));
}

} // namespace fade::cli
