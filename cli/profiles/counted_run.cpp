#include "profiles/counted_run.h"

#include "codeobj/demangle.h"

#include <map>

namespace fade::profile {
namespace {

using KernelKey = std::pair<std::string, std::string>; ///< name and module

KernelKey keyOf(const host_trace::HostEvents &events, uint32_t pid, uint64_t name) {
  return {codeobj::demangle(std::string(events.textOf(pid, name))), events.moduleOf(pid, name)};
}

/// How long kernels took that ran as they were compiled.
void addMeasured(const host_trace::HostEvents &events, std::vector<KernelProfile> &all) {
  std::map<KernelKey, std::pair<double, uint64_t>> by_name;
  for (const host_trace::Operation &one : events.operations) {
    if (!one.isKernel() || !one.has_times || one.end_ns < one.start_ns) continue;
    auto &[ns, count] = by_name[keyOf(events, one.pid, one.event.name)];
    ns += static_cast<double>(one.end_ns - one.start_ns);
    ++count;
  }
  for (KernelProfile &kernel : all)
    if (const auto at = by_name.find({kernel.name, kernel.module}); at != by_name.end()) {
      kernel.measured_ns = at->second.first / static_cast<double>(at->second.second);
      kernel.measured_dispatches = at->second.second;
    }
}

void addRegisters(const host_trace::HostEvents &events, std::vector<KernelProfile> &all) {
  std::map<KernelKey, KernelRegisters> by_name;
  for (const auto &[pid, process] : events.processes)
    for (const auto &[id, k] : process.kernels)
      by_name[keyOf(events, pid, id)] = {k.vgprs, k.agprs, k.sgprs, k.spilled_vgprs,
                                         k.spilled_sgprs};
  for (KernelProfile &kernel : all) {
    auto at = by_name.find({kernel.name, kernel.module});
    if (at == by_name.end()) at = by_name.find({codeobj::demangle(kernel.symbol), kernel.module});
    if (at != by_name.end() && !kernel.registers) kernel.registers = at->second;
  }
}

} // namespace

std::vector<KernelProfile> kernelsOf(const report::RunLog &log,
                                     const host_trace::HostEvents *events, bool measures) {
  std::vector<KernelProfile> all = kernelsOf(log);
  if (events) addRegisters(*events, all);
  if (events && measures) addMeasured(*events, all);
  return all;
}

} // namespace fade::profile
