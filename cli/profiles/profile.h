// All that fadeprobe profile knows of a run, and the files that it makes of it.
#pragma once

#include "analysis/classes.h"
#include "analysis/findings.h"
#include "base/result.h"
#include "profiles/dag_summary.h"

#include <map>
#include <string>
#include <vector>

namespace fade::profile {

/// What a kernel means for the whole.
struct Criticality {
  uint64_t total_ns = 0, critical_ns = 0;
  std::optional<Gains> gain_ns;
};

struct ProfiledKernel {
  uint32_t index = 0; ///< in the log
  KernelProfile counts;
  ModelTime time;
  Classification verdict;
  std::optional<Criticality> criticality;
  std::vector<report::Finding> findings;

  /// Of one dispatch: as measured, else by the model; nothing if there is neither.
  std::optional<double> dispatchNs() const;
  double allNs() const;                  ///< of all dispatches
  double perSecond(double amount) const; ///< of an amount of all dispatches
};

struct Profile {
  std::string command;
  bool in_software = false;             ///< times are the model's
  std::map<std::string, GpuModel> gpus; ///< by target
  std::vector<ProfiledKernel> kernels;  ///< that take longest first
  report::Findings findings;            ///< of all kernels, in the order of the log

  const GpuModel &gpuOf(const ProfiledKernel &kernel) const {
    return gpus.at(kernel.counts.target);
  }
};

/// `measures`: the events are those of a run on a card in which kernels were as compiled. `peaks`:
/// what was measured; empty: the table of GPUs.
Profile profileOf(const report::RunLog &log, const host_trace::HostEvents *events, bool measures,
                  const std::vector<MeasuredPeaks> &peaks);
/// Adds what the graph of the program says of its kernels.
void addCriticality(const ProgramDag &program, const DagSummary &summary, Profile &profile);

/// For people: the kernels, their time, class and what to try first.
std::string textOf(const Profile &profile, std::size_t rows);

/// The same of a thread trace: instructions at which waves spent their time.
std::string tracedText(const Profile &profile, std::size_t rows);

/// For the page "Profile" of the report; null if nothing was counted.
report::Json pageOf(const Profile &profile);

/// What proposers of other versions are told of the kernels that were counted: metrics, roofline,
/// class and ranked findings, as in profile.json, without instructions.
nlohmann::ordered_json forProposers(const Profile &profile);

/// roofline.json, analysis.json and profile.json, one JSON document each (docs/formats.md).
Status writeFiles(const Profile &profile, const std::string &directory);

} // namespace fade::profile
