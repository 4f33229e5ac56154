// Runs generated programs on the host and on the software GPU and compares every result, bit for
// bit.
#pragma once

#include "generator.h"
#include "toolchain.h"

#include <map>
#include <tuple>

namespace fade::sim::differential {

// The memory of a launch: what goes in, and what is compared at the end.
struct Memory {
  std::vector<uint8_t> in, mem;
  std::vector<uint64_t> out;
  std::vector<uint32_t> counters;
};

struct Disagreement {
  uint64_t seed = 0;
  Target target;
  std::string what; // one or more lines
};

// Several programs in one source file, so that the start of a compiler is paid once.
class Batch {
public:
  explicit Batch(std::vector<Program> programs);
  ~Batch();

  // Empty when all programs agree. Throws CompileError.
  std::vector<Disagreement> compare(const Target &target);
  const std::string &source() const { return source_; }

private:
  const Memory &expected(size_t program, const Target &target);
  std::string run(const Program &program, const std::string &code_object, const Target &target,
                  const Memory &expected);

  std::vector<Program> programs_;
  std::string source_;
  WorkFolder folder_;
  std::string source_path_;
  void *host_ = nullptr;                                              // the shared library
  std::map<std::tuple<size_t, unsigned, unsigned>, Memory> expected_; // by what makes a difference
};

// Runs the programs on the host with checks for undefined behaviour, in a process of its own. Empty
// when there is none.
std::string undefined_behaviour(const std::vector<Program> &programs);

} // namespace fade::sim::differential
