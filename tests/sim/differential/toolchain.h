// Compiles generated programs with clang, for the GPU and for the host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace fade::sim::differential {

// What a program is compiled for.
struct Target {
  std::string arch; // gfx90a …
  int opt = 1;      // -O
  unsigned wave = 64;
  bool flat = false;          // all memory through flat instructions
  bool few_registers = false; // so that some have to be spilled

  bool gfx9() const { return arch.starts_with("gfx9"); }
  // Lanes among which ds_bpermute works: gfx10 and gfx11 have halves of a wave64 that do not meet.
  uint32_t reach() const { return wave == 64 && (gfx9() || arch.starts_with("gfx12")) ? 64 : 32; }
  std::string describe() const;
};

// All combinations of architecture, optimisation and wave size.
std::vector<Target> all_targets();

struct CompileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A folder of its own for the files of one batch; removed at the end.
class WorkFolder {
public:
  WorkFolder();
  ~WorkFolder();
  WorkFolder(const WorkFolder &) = delete;
  WorkFolder &operator=(const WorkFolder &) = delete;
  std::string file(const std::string &name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

// Both return the path of what was made: a code object, a shared library. `extra`: further flags.
std::string compile_for_gpu(const WorkFolder &folder, const std::string &source_path,
                            const Target &target);
std::string compile_for_host(const WorkFolder &folder, const std::string &source_path,
                             const std::vector<std::string> &extra = {});

} // namespace fade::sim::differential
