#include "analysis/ranking.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>

namespace fade::report {
namespace {

using profile::KernelProfile;
using profile::Limit;
using profile::ModeledKernel;
using profile::ModelTime;

/// Less than this share of what a kernel does is nothing to gain, nor less than this share of the
/// time that a dispatch takes with its beginning and end.
constexpr double kLeastGain = 0.02, kLeastOfDispatch = 0.005;
/// What only saves together with another one must save more.
constexpr double kLeastTogether = 0.05;
/// A unit that is so busy without being the busiest may still be in the way, for units do not work
/// side by side as well as the model has it. What is only that must be worth more.
constexpr double kNearlyBusiest = 0.5, kLeastInTheWay = 0.1;
/// Candidates that are looked at in all orders; the model takes its time.
constexpr std::size_t kMostCandidates = 16;

/// Places that are the same for a reader are one, and the most expensive come first.
void tidy(std::vector<FindingPlace> &places) {
  const auto key = [](const FindingPlace &p) { return std::tie(p.file, p.line, p.column, p.op); };
  std::ranges::sort(places, {}, key);
  std::vector<FindingPlace> out;
  for (const FindingPlace &place : places)
    if (!out.empty() && key(out.back()) == key(place))
      out.back().cycles += place.cycles;
    else
      out.push_back(place);
  std::ranges::sort(out, [&](const FindingPlace &a, const FindingPlace &b) {
    return a.cycles != b.cycles ? a.cycles > b.cycles : key(a) < key(b);
  });
  places = std::move(out);
}

/// A kernel as it would be, and what the model says of it.
struct State {
  KernelProfile counts;
  ModelTime time;
};

class Ranking {
public:
  Ranking(const ModeledKernel &kernel, std::vector<Candidate *> candidates)
      : kernel_(kernel), now_{kernel.counts, kernel.time}, left_(std::move(candidates)) {}
  std::vector<Finding> run();

private:
  State with(const State &from, const Candidate &candidate) const;
  /// The most that any unit would be spared.
  double reliefOf(const State &after) const;
  void keepThePromising();
  bool takeBest();
  bool takePair();
  void takeTogether(std::size_t first, std::size_t second, const State &after);
  std::optional<std::size_t> partnerOf(const Candidate &candidate) const;
  void take(std::size_t index, const State &after, double saved);
  void addThoseInTheWay();
  double wholeBusy() const { return kernel_.time.busy(); }
  double least(double share) const {
    return std::max(share * wholeBusy(), kLeastOfDispatch * kernel_.time.total());
  }

  const ModeledKernel &kernel_;
  State now_;
  std::vector<Candidate *> left_;
  std::vector<Finding> out_;
};

State Ranking::with(const State &from, const Candidate &candidate) const {
  State to{from.counts, {}};
  for (const profile::Change &change : candidate.changes) change(to.counts);
  profile::useAccesses(to.counts);
  to.time = profile::modelTime(to.counts, kernel_.gpu);
  return to;
}

double Ranking::reliefOf(const State &after) const {
  double most = 0;
  for (std::size_t i = 0; i < profile::kLimits; ++i)
    most = std::max(most, now_.time.ns[i] - after.time.ns[i]);
  return most;
}

void Ranking::keepThePromising() {
  std::vector<std::tuple<double, std::size_t, Candidate *>> all; // relief, negative; order
  for (std::size_t i = 0; i < left_.size(); ++i)
    if (const double relief = reliefOf(with(now_, *left_[i])); relief >= kLeastGain * wholeBusy())
      all.emplace_back(-relief, i, left_[i]);
  std::ranges::sort(all);
  left_.clear();
  for (std::size_t i = 0; i < std::min(all.size(), kMostCandidates); ++i)
    left_.push_back(std::get<2>(all[i]));
}

/// Moves a candidate to the findings: the kernel is then what is `after` it.
void Ranking::take(std::size_t index, const State &after, double saved) {
  Finding finding = left_[index]->finding;
  // The unit that matters most, of those that it keeps busy.
  double most = -1;
  for (std::size_t i = 0; i < profile::kLimits; ++i) {
    const double spared = now_.time.ns[i] - after.time.ns[i];
    const double weight = spared <= 0 ? -1 : spared * now_.time.ns[i];
    if (weight > most) {
      most = weight;
      finding.unit = static_cast<Limit>(i);
    }
  }
  const double dispatches = static_cast<double>(std::max<uint64_t>(kernel_.counts.dispatches, 1));
  finding.cycles = std::max(now_.time.of(finding.unit) - after.time.of(finding.unit), 0.0) *
                   kernel_.gpu.clock_hz / 1e9 * dispatches;
  finding.gain = saved / kernel_.time.total();
  finding.before_ns = now_.time.total();
  finding.after_ns = after.time.total();
  tidy(finding.places);
  out_.push_back(std::move(finding));
  left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(index));
}

/// The one that saves most by itself. False if none saves enough.
bool Ranking::takeBest() {
  std::optional<State> best;
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < left_.size(); ++i) {
    State after = with(now_, *left_[i]);
    if (best && after.time.busy() >= best->time.busy()) continue;
    best = std::move(after);
    chosen = i;
  }
  if (!best || now_.time.busy() - best->time.busy() < least(kLeastGain)) return false;
  if (const auto partner = partnerOf(*left_[chosen])) {
    takeTogether(chosen, *partner, with(*best, *left_[*partner]));
    return true;
  }
  take(chosen, *best, now_.time.busy() - best->time.busy());
  now_ = *std::move(best);
  return true;
}

/// Two that save only together, as coalescing what too few workgroups do.
bool Ranking::takePair() {
  std::optional<State> best;
  std::pair<std::size_t, std::size_t> chosen;
  for (std::size_t i = 0; i < left_.size(); ++i) {
    const State one = with(now_, *left_[i]);
    for (std::size_t j = i + 1; j < left_.size(); ++j) {
      State after = with(one, *left_[j]);
      if (best && after.time.busy() >= best->time.busy()) continue;
      best = std::move(after);
      chosen = {i, j};
    }
  }
  if (!best) return false;
  const double saved = now_.time.busy() - best->time.busy();
  if (saved < least(kLeastTogether)) return false;
  takeTogether(chosen.first, chosen.second, *best);
  return true;
}

/// The first has what both save.
void Ranking::takeTogether(std::size_t first, std::size_t second, const State &after) {
  const double saved = now_.time.busy() - after.time.busy();
  const Finding::Cause causes[] = {left_[first]->finding.cause, left_[second]->finding.cause};
  take(second, after, 0);
  Finding later = std::move(out_.back());
  out_.pop_back();
  take(first > second ? first - 1 : first, after, saved);
  out_.back().together = {causes[1]};
  later.together = {causes[0]};
  later.before_ns = later.after_ns;
  out_.push_back(std::move(later));
  now_ = after;
}

/// More workgroups, where each lane walks through memory alone, come with lanes that share what one
/// of them does now: that is one change, after which neighbors have neighboring addresses.
std::optional<std::size_t> Ranking::partnerOf(const Candidate &candidate) const {
  if (candidate.finding.cause != Finding::Cause::launch) return std::nullopt;
  for (std::size_t i = 0; i < left_.size(); ++i) {
    if (left_[i]->finding.cause != Finding::Cause::scattered) continue;
    const State after = with(now_, *left_[i]);
    for (const Limit limit : {Limit::l1, Limit::l2})
      if (2 * after.time.of(limit) < now_.time.of(limit)) return i;
  }
  return std::nullopt;
}

/// What keeps a unit busy that is nearly as busy as the busiest.
void Ranking::addThoseInTheWay() {
  for (std::size_t i = left_.size(); i-- > 0;) {
    const State after = with(now_, *left_[i]);
    bool is_near = false;
    for (std::size_t u = 0; u < profile::kLimits; ++u)
      is_near |= now_.time.ns[u] - after.time.ns[u] >= kLeastInTheWay * wholeBusy() &&
                 now_.time.ns[u] >= kNearlyBusiest * now_.time.busy();
    if (is_near) take(i, after, 0);
  }
}

std::vector<Finding> Ranking::run() {
  if (wholeBusy() <= 0) return {};
  keepThePromising();
  while (takeBest() || takePair()) {
  }
  // Never first: the model does not reward it.
  if (!out_.empty()) addThoseInTheWay();
  return std::move(out_);
}

std::string durationText(double ns) {
  if (ns < 1e4) return fmt::format("{:.2f} us", ns / 1e3);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  return fmt::format("{:.2f} ms", ns / 1e6);
}

} // namespace

double KernelCost::most() const { return *std::ranges::max_element(cycles); }

Limit KernelCost::busiest() const {
  return static_cast<Limit>(std::ranges::max_element(cycles) - cycles.begin());
}

double Findings::runNs() const {
  return std::accumulate(kernels.begin(), kernels.end(), 0.0,
                         [](double sum, const KernelCost &one) { return sum + one.all_ns; });
}

KernelCost costOf(const ModeledKernel &kernel) {
  KernelCost cost;
  if (!kernel.isKnown()) return cost;
  const KernelProfile &counts = kernel.counts;
  const double dispatches = static_cast<double>(counts.dispatches);
  for (std::size_t i = 0; i < profile::kLimits; ++i)
    cost.cycles[i] = kernel.time.ns[i] * dispatches * kernel.gpu.clock_hz / 1e9;
  cost.dispatch_ns = kernel.time.total();
  cost.launch_ns = kernel.time.launch_ns;
  cost.all_ns = kernel.allNs();
  cost.bytes = counts.bytes.dram;
  cost.knows_alu = kernel.time.of(Limit::valu) > 0;
  cost.knows_caches = counts.has_levels;
  cost.is_counted = counts.is_counted;
  return cost;
}

std::vector<Finding> ranked(const ModeledKernel &kernel, std::vector<Candidate *> candidates) {
  return Ranking(kernel, std::move(candidates)).run();
}

void orderByRun(Findings &findings) {
  const double run = findings.runNs();
  // Of a kernel, nothing comes before what it builds on.
  std::vector<std::pair<double, std::size_t>> order; // what it saves, negative; place in the list
  std::optional<uint32_t> kernel;
  double least = 0;
  for (Finding &one : findings.list) {
    const double saved = one.gain * findings.kernels[one.kernel].all_ns;
    one.run_gain = run > 0 ? saved / run : 0;
    // What only saves together stays together.
    const bool is_second = kernel == one.kernel && !one.together.empty() && one.gain == 0;
    if (!is_second) least = kernel == one.kernel ? std::min(least, saved) : saved;
    kernel = one.kernel;
    order.emplace_back(-least, order.size());
  }
  std::ranges::sort(order);
  std::vector<Finding> sorted;
  for (const auto &[saved, at] : order) sorted.push_back(std::move(findings.list[at]));
  findings.list = std::move(sorted);
}

std::string gainText(const Finding &finding, bool has_others) {
  if (finding.gain < 0.005)
    return finding.together.empty() ? "little to gain by itself" : "together with the one before";
  const std::string text = fmt::format("up to {:.0f}% to gain", 100 * finding.gain);
  if (!has_others) return text;
  return text + (finding.run_gain < 0.01
                     ? " (under 1% of all kernels)"
                     : fmt::format(" ({:.0f}% of all kernels)", 100 * finding.run_gain));
}

std::string expectationText(const Finding &finding) {
  std::string text;
  if (finding.gain >= 0.005)
    text = fmt::format("By the model {} -> {}", durationText(finding.before_ns),
                       durationText(finding.after_ns));
  if (!finding.together.empty())
    text += fmt::format("{}ogether with {}", text.empty() ? "T" : ", t",
                        nameOf(finding.together.front()));
  return text.empty() ? text : text + ".";
}

} // namespace fade::report
