// One version of a kernel, tried on captures: is it right, and what does it cost? Everything runs
// in processes of its own, with a time limit: a proposed kernel may do anything.
#pragma once

#include "base/result.h"
#include "captures/listing.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fade::cli {

/// What a version costs, on all captures together.
struct Costs {
  uint64_t instructions = 0; ///< of waves
  uint64_t lines = 0;        ///< cache lines that accesses to global memory touch
  uint64_t conflicts = 0;    ///< extra cycles of LDS because of bank conflicts
  bool has_memory = false;   ///< lines, conflicts and the time are known
  double modeled_ns = 0;     ///< by the model of fadeprobe profile
  double busy_ns = 0;        ///< of it, without beginning and end, which versions have in common
  /// One number: each of these keeps a unit of the GPU busy for about a turn.
  uint64_t sum() const { return instructions + lines + conflicts; }
};

/// Where a version failed, and why.
struct Failure {
  std::string stage, reason;
};

class Trial {
public:
  struct Settings {
    std::vector<CaptureLine> captures;
    std::string tolerance; ///< as --tolerance has it; empty: none
    std::string folder;    ///< for files of its own
    unsigned changed_inputs = 3;
    std::chrono::seconds patience{120}; ///< for one run of one kernel
  };
  explicit Trial(Settings settings) : settings_(std::move(settings)) {}

  /// Results on all captures, on changed inputs, and what checks find besides what the first
  /// version has. Nothing: it is right.
  std::optional<Failure> isWrong(const std::string &code);
  /// Of a version that is right.
  Result<Costs> costs(const std::string &code);
  /// Of the last one, for proposers: what MemoryAnalysis said, and the profile of each capture's
  /// kernel, with ranked findings. Lists of objects.
  const nlohmann::ordered_json &accesses() const { return accesses_; }
  const nlohmann::ordered_json &profiles() const { return profiles_; }
  /// The slowest of the captures, on a card: how much faster it is than the captured code for sure.
  /// Nothing: there was no card.
  std::optional<double> surelyFaster() const { return surely_faster_; }
  /// Further versions may have the findings that this one has.
  Status learnFindings(const std::string &code);

private:
  using Words = std::vector<std::string>;
  std::optional<Failure> compare(const CaptureLine &capture, const std::string &code);
  std::optional<Failure> compareChanged(const CaptureLine &capture, const std::string &code);
  Result<std::map<std::string, uint64_t>> findings(const CaptureLine &capture,
                                                   const std::string &code);
  Status addCounts(const CaptureLine &capture, const std::string &code, Costs &costs);
  Result<uint64_t> instructions(const CaptureLine &capture, const std::string &code) const;

  Settings settings_;
  std::map<std::string, std::map<std::string, uint64_t>> known_; ///< findings by capture and check
  nlohmann::ordered_json accesses_ = nlohmann::ordered_json::array(),
                         profiles_ = nlohmann::ordered_json::array();
  std::optional<double> surely_faster_;
};

} // namespace fade::cli
