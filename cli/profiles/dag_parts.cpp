#include "profiles/dag_parts.h"

#include <algorithm>
#include <tuple>

namespace fade::profile {

uint32_t DagParts::nameNumber(const std::string &name, const std::string &module) {
  const auto next = static_cast<uint32_t>(program_.names.size());
  const auto [at, is_new] = names_.try_emplace({name, module}, next);
  if (is_new) {
    program_.names.push_back(name);
    program_.modules.push_back(module);
  }
  return at->second;
}

void DagParts::addWork(const ProgramDag &part, const DagSummary &summary) {
  for (const WorkSummary &work : summary.work) {
    const uint32_t name = nameNumber(part.names[work.name], part.modules[work.name]);
    Total &total = work_[{work.kind, name}];
    total.work.kind = work.kind;
    total.work.name = name;
    total.work.count += work.count;
    total.work.total_ns += work.total_ns;
    total.work.critical_ns += work.critical_ns;
    total.has_gains = total.has_gains && work.gain_ns;
    if (!total.work.gain_ns) total.work.gain_ns = Gains{};
    for (std::size_t i = 0; work.gain_ns && i < kFaster.size(); ++i)
      (*total.work.gain_ns)[i] += (*work.gain_ns)[i];
  }
}

void DagParts::add(ProgramDag part) {
  DagSummary summary = summarize(part);
  for (auto &[kernel, followers] : followersIn(part)) {
    Followers &all = followers_[kernel];
    all.dispatches += followers.dispatches;
    for (const std::string &name : followers.after)
      if (std::ranges::find(all.after, name) == all.after.end()) all.after.push_back(name);
  }
  const bool is_first = count_++ == 0;
  if (is_first)
    for (std::size_t i = 0; i < part.names.size(); ++i) // numbers of nodes stay
      (void)nameNumber(part.names[i], part.modules[i]);
  addWork(part, summary);
  if (is_first) {
    program_.times = part.times;
    program_.is_modeled = part.is_modeled;
    program_.begin_ns = part.begin_ns;
    program_.left_out = part.left_out;
    program_.nodes = std::move(part.nodes);
    program_.dag = std::move(part.dag);
    summary.work.clear();
    summary_ = std::move(summary);
    return;
  }
  program_.left_out += part.left_out;
  summary_.path.span_ns += summary.path.span_ns;
  for (std::size_t i = 0; i < summary.critical_ns.size(); ++i)
    summary_.critical_ns[i] += summary.critical_ns[i];
  summary_.critical_delay_ns += summary.critical_delay_ns;
  summary_.critical_guesses += summary.critical_guesses;
  summary_.overlap_ns += summary.overlap_ns;
  summary_.numbers += summary.numbers;
}

DagSummary &&DagParts::takeSummary() {
  summary_.work.clear();
  for (auto &[key, total] : work_) {
    if (!total.has_gains) total.work.gain_ns.reset();
    summary_.work.push_back(total.work);
  }
  sortWork(summary_.work);
  summary_.parts = count_;
  return std::move(summary_);
}

} // namespace fade::profile
