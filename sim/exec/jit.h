// Hot code as the host's own code: whether that is wanted, the library that compiles it
// (libfadegpu-jit.so, sim/jit), and what it has made.
#pragma once

#include "exec/jit_code.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace fade::sim {

// FADE_GPU_JIT: "0" for never, "always" at first execution, else when it is hot.
enum class JitUse : uint8_t { off, when_hot, always };
JitUse jit_use();

// To compile an instruction takes as long as to interpret so many; and there is no use in asking
// what it would cost before some have been.
constexpr uint64_t jit_cost = 40'000, jit_least = 1'000'000;

// The code of a region.
class JitCode {
public:
  // Null when there is none: no library or no memory.
  static std::unique_ptr<JitCode> compile(std::span<const Segment *const> region, const Arch &arch,
                                          unsigned lanes);
  ~JitCode();
  JitCode(const JitCode &) = delete;
  JitCode &operator=(const JitCode &) = delete;

  // Waves run it from now on.
  void publish(std::span<const Segment *const> region);

  // Instructions with code of their own, and those whose handlers it calls.
  uint32_t translated() const { return result_.translated; }
  uint32_t called() const { return result_.called; }

private:
  explicit JitCode(const JitResult &result) : result_(result) {}

  JitResult result_;
  std::vector<JitEntry> entries_;
};

} // namespace fade::sim
