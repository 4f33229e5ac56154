// A host for handlers without a GPU: site tables and record streams made by hand, fed through the
// same engine as a live run.
#pragma once

#include "fade/decode.h"
#include "fade/encode.h"
#include "fade/site_table.h"
#include "stream/analysis.h"
#include "stream/trace_writer.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace fade::testing {

constexpr uint64_t kAll = ~uint64_t{0}; ///< lanes of a wave64

/// Makes a site table as a compiler would.
class SiteTableBuilder {
public:
  struct Frame {
    std::string function, file;
    uint32_t line = 0, column = 0;
  };
  struct Site {
    uint32_t kind = FADE_SITE_LOAD;
    uint32_t space = FADE_SPACE_GLOBAL;
    uint32_t size = 4;
    std::string file = "kernel.hip";
    uint32_t line = 1, column = 1;
    std::vector<uint32_t> lines = {}; ///< of a block
    std::string function = {};
    std::vector<Frame> inlined_at = {}; ///< from the inside to the outside
    uint32_t flags = 0;                 ///< besides those that follow from the kind
    uint32_t done_by = 0;               ///< 1 + another site
  };
  /// Returns its id.
  uint32_t add(const Site &site);
  /// Machine code, as the software GPU's observer describes it; `text` counts, not what the fields
  /// say of a string.
  void instruction(fade_site_instruction facts, const std::string &text) {
    instructions_.emplace_back(facts, text);
  }
  std::shared_ptr<const ModuleSites> build(const std::string &kernel) const;
  uint32_t modes = FADE_MODE_ACCESSES | FADE_MODE_MACHINE;

  static constexpr uint64_t kModule = 0x1234'5678'9abc'def0;

private:
  std::vector<Site> sites_;
  std::vector<std::pair<fade_site_instruction, std::string>> instructions_;
};

/// The stream of one dispatch: waves and what they do.
class Stream {
public:
  /// Announces a wave; later calls are its.
  void wave(uint32_t workgroup = 0, bool wave32 = false, uint32_t hardware_id = 0,
            uint32_t xcc = 0);
  void access(uint32_t site, uint64_t mask, const std::vector<uint64_t> &addresses,
              std::optional<uint64_t> length = {});
  /// All lanes of the mask, base + stride * lane.
  void affine(uint32_t site, uint64_t base, int64_t stride, uint64_t mask = ~uint64_t{0});
  void block(uint32_t site, uint64_t mask, uint64_t clock);
  void user(uint32_t site, uint64_t mask, const std::vector<uint64_t> &values) {
    encoder_.user(site, waves_ - 1, mask, values);
  }
  void waveEnd(uint64_t clock);

  const std::vector<std::byte> &bytes() const { return encoder_.bytes(); }

  static constexpr uint32_t kSharedBase = 0x00010000, kPrivateBase = 0x00020000;

private:
  RecordEncoder encoder_;
  uint32_t waves_ = 0;
};

struct HostOptions {
  Format format = Format::json;
  unsigned workers = 1;
  std::size_t batch = 1 << 16;
  std::string record = {}; ///< trace file
  std::string target = "gfx90a";
};

/// Runs handlers on streams and collects what they write.
class HandlerHost {
public:
  explicit HandlerHost(const std::vector<HandlerChoice> &handlers, const HostOptions &options = {});

  /// Feeds one dispatch, which is not instrumented if there are no sites. Kernels with the same
  /// name are the same kernel.
  void dispatch(const std::string &kernel, std::shared_ptr<const ModuleSites> sites,
                const Stream &stream, std::vector<fade_counter> counters = {},
                std::shared_ptr<const Allocations> allocations = nullptr,
                DispatchArguments arguments = {});
  uint32_t more_flags = 0; ///< of the dispatches that follow
  /// Ends the run: all that was written.
  std::string finish();
  /// The same as JSON objects, those of one type.
  std::vector<nlohmann::json> finish(const std::string &type);
  const std::vector<std::string> &complaints() const { return complaints_; }
  Analysis &analysis() { return *analysis_; }

private:
  HostOptions options_;
  Output output_;
  std::unique_ptr<TraceWriter> trace_;
  std::vector<std::string> complaints_;
  std::unique_ptr<Analysis> analysis_;
  std::vector<std::shared_ptr<const KernelInfo>> kernels_;
  uint64_t dispatches_ = 0;
};

/// The objects of one type in a report of JSON lines. Fails the test if a line is not JSON.
std::vector<nlohmann::json> objectsOf(const std::string &report, const std::string &type);

} // namespace fade::testing
