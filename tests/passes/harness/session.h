// Runs a kernel and its instrumented twin on the software GPU, and says what each of them touched:
// for the original what the software GPU observed, for the twin what its records say.
#pragma once

#include "support/test_device.h"

#include <fade/decode.h>
#include <fade/site_table.h>

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fade::test {

using sim::Arguments;

struct Launch {
  std::string kernel; // symbol of the original
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> workgroup{64, 1, 1};
  uint32_t dynamic_lds = 0;
};

enum class Kind : uint8_t { load, store, atomic };
enum class Space : uint8_t { global, lds };

// One wave, one source line, one way of touching memory.
struct Place {
  std::array<uint32_t, 3> workgroup{};
  uint32_t wave = 0;
  uint32_t line = 0; // 0: unknown, or lines do not matter
  Kind kind{};
  Space space{};
  auto operator<=>(const Place &) const = default;
};

// How often each lane touched each byte.
using Bytes = std::map<std::pair<uint32_t, uint64_t>, uint32_t>;
using Touched = std::map<Place, Bytes>;

// One execution of an access by a wave: the lanes' addresses.
struct Execution {
  Place place;
  uint64_t size = 0;        // bytes of each lane
  uint64_t widest = 16;     // bytes of the widest access that instructions make for it
  bool shares_line = false; // its line may be that of another access, see Session::sharesLine()
  bool is_scalar = false;
  uint64_t mask = 0;
  std::array<uint64_t, 64> addresses{};
};

// Adds up the lines of each wave.
Touched withoutLines(const Touched &touched);

struct Stream {
  uint64_t capacity = 1 << 20;
  uint32_t flags = 0;
  uint32_t sample_executions = 0;
  uint32_t sample_workgroups = 0;
  std::array<uint32_t, 3> first{0, 0, 0};
  std::array<uint32_t, 3> last{~0u, ~0u, ~0u};
  unsigned reader_delay_us = 0;                   // between two looks at the ring
  sim::Caching host_caching = sim::Caching::none; // of a ring in host memory
  bool reads_after_a_drop = false;                // not before, unless that takes many seconds
  // Twins that add accesses up
  bool records_only = false;
  uint32_t slots = 0;           // of each table, if not as many as usual
  uint32_t tables = 0;          // the same
  uint32_t line = 128;          // bytes of a cache line
  uint32_t irregular = 0;       // FADE_IRREGULAR()
  uint32_t page = 0;            // bytes of the pages that are told apart
  std::vector<uint64_t> ends{}; // of allocations
};

// What the records of a dispatch said.
struct Recorded {
  Touched touched;
  std::vector<Execution> executions;
  std::vector<fade_wave_begin> waves; // in order of their ids
  std::vector<fade_wave_end> ends;
  struct Block {
    uint32_t wave, site;
    uint64_t mask, clock;
  };
  std::vector<Block> blocks;
  struct Access {
    uint32_t wave, site, encoding, size;
    uint64_t mask;
    bool operator==(const Access &) const = default;
  };
  std::vector<Access> accesses;
  std::vector<std::byte> bytes; // all records, one behind the other
  uint64_t dropped = 0;
  std::vector<fade_counter> counters;
  std::vector<uint64_t> clocks;     // of blocks, if they were measured
  std::vector<std::byte> summaries; // records of what was added up
  sim::DispatchStats stats;
};

struct Observed {
  Touched touched;
  std::vector<Execution> executions; // scalar loads, too: as if by all active lanes
  sim::DispatchStats stats;
};

// What the compiler says about a kernel's needs.
struct KernelNeeds {
  uint32_t vgprs = 0; // with AGPRs, where they share the registers
  uint32_t sgprs = 0;
  uint32_t scratch = 0; // bytes per lane
  bool dynamic_stack = false;
  uint32_t kernarg_size = 0;
};

class Session {
public:
  Session(const std::string &arch, const std::string &code_object, unsigned workers = 0,
          bool has_caches = false);
  ~Session();

  sim::TestDevice &device() { return device_; }
  const SiteTable &sites() const { return tables_.front(); }
  const std::vector<SiteTable> &tables() const { return tables_; }
  // What records of twins are read with.
  void setTables(std::vector<SiteTable> tables) { tables_ = std::move(tables); }

  Observed runOriginal(const Launch &launch, const Arguments &arguments);
  Recorded runTwin(const Launch &launch, const Arguments &arguments, const Stream &stream = {});

  // Source line of an instruction, 0 if unknown.
  uint32_t lineAt(uint64_t pc) const;
  // Whether what an instruction does may be of another line than its own: line tables have one line
  // for all instructions of a clause (s_clause), and for both addresses of ds_read2_b32.
  bool sharesLine(uint64_t pc) const;
  KernelNeeds needs(const std::string &kernel) const;

private:
  std::pair<const SiteTable *, uint32_t> kernelOf(const std::string &name) const;
  sim::DispatchResult dispatch(const std::string &kernel, const Launch &launch,
                               const Arguments &arguments);

  struct Lines;
  std::mutex mutex_; // guards allocations
  sim::TestDevice device_;
  std::vector<uint8_t> elf_;
  sim::CodeObject &object_;
  std::vector<SiteTable> tables_;
  std::unique_ptr<Lines> lines_;
  bool is_gfx9_, is_gfx11_;
};

} // namespace fade::test
