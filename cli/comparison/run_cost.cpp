#include "comparison/run_cost.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace fade::compare {
namespace {

using profile::Limit;
using profile::ModeledKernel;
using report::RunLog;

/// What a run has recorded for the model besides accesses, of all its kernels.
struct Known {
  bool counts = true, caches = true, code = true, blocks = true;

  static Known of(const RunLog &log) {
    Known known;
    std::vector<bool> is_used(log.kernels.size());
    for (const report::Access &access : log.accesses) {
      is_used[access.kernel] = true;
      known.caches &= access.is_lds || access.executions == 0 || access.cache.is_known;
    }
    for (uint32_t k = 0; k < is_used.size(); ++k) {
      if (!is_used[k]) continue;
      known.counts &= log.counts.contains(k);
      known.code &= log.code.contains(k);
      known.blocks &= log.flows.contains(k);
    }
    return known;
  }
};

void forget(RunLog &log, const Known &known) {
  if (!known.counts) log.counts.clear();
  if (!known.code) log.code.clear();
  if (!known.blocks) log.flows.clear();
  if (known.caches) return;
  for (report::Access &access : log.accesses) access.cache = {};
}

const ModeledKernel *modelOf(const Subject *subject, const Models &models) {
  if (!subject || subject->index >= models.size() || !models[subject->index].isKnown())
    return nullptr;
  return &models[subject->index];
}

Verdict verdictOf(double before, double after, double least) {
  if (std::abs(after - before) <= least * before) return Verdict::same;
  return after < before ? Verdict::better : Verdict::worse;
}

std::string amount(CostKind kind, double value) {
  return kind == CostKind::instructions ? valueText(Metric::instructions, value)
                                        : valueText(Metric::model_time, value);
}

const char *wordsOf(CostKind kind) {
  return kind == CostKind::modeled        ? " by the model"
         : kind == CostKind::instructions ? " wave instructions"
                                          : "";
}

/// All dispatches of a kernel in one of the runs.
std::optional<double> allOf(const Subject *subject, const Models &models, CostKind kind) {
  if (!subject) return 0;
  const auto dispatches = static_cast<double>(subject->weight);
  if (kind == CostKind::modeled) {
    const ModeledKernel *model = modelOf(subject, models);
    return model ? std::optional(model->time.total() * dispatches) : std::nullopt;
  }
  const auto each = (*subject)[kind == CostKind::measured ? Metric::time : Metric::instructions];
  return each ? std::optional(*each * dispatches) : std::nullopt;
}

/// A number that a kernel's time depends on.
struct Part {
  std::string name;
  double before = 0, after = 0;

  /// How much it changed; 0: not at all.
  double size() const {
    constexpr double kLeast = 0.01, kFromNothing = 1e3;
    if (std::abs(after - before) <= kLeast * std::abs(before)) return 0;
    if (before <= 0 || after <= 0) return std::log(kFromNothing);
    return std::abs(std::log(after / before));
  }
};

std::vector<Part> partsOf(const Pair &kernel, Limit limit, const ModeledRuns &runs) {
  std::vector<Part> parts;
  const auto add = [&](const char *name, Metric metric) {
    const auto a = (*kernel.before)[metric], b = (*kernel.after)[metric];
    if (a && b) parts.push_back({name, *a, *b});
  };
  const bool waits = limit == Limit::latency;
  if (waits || limit == Limit::lds) add("bank conflicts", Metric::conflicts);
  if (waits || limit == Limit::l1 || limit == Limit::l2 || limit == Limit::memory)
    add("cache lines", Metric::lines);
  if (waits || limit == Limit::atomics || limit == Limit::lds)
    add("waiting lanes", Metric::waiting);
  if (waits || limit == Limit::valu || limit == Limit::scalar || limit == Limit::matrix)
    add("instructions", Metric::instructions);
  const auto &a = runs.before[kernel.before->index].time.occupancy;
  const auto &b = runs.after[kernel.after->index].time.occupancy;
  parts.push_back({"busy compute units", a.units, b.units});
  parts.push_back({"waves per SIMD", a.resident, b.resident});
  return parts;
}

} // namespace

ModeledRuns modelBoth(RunLog before, RunLog after) {
  Known known = Known::of(before);
  const Known other = Known::of(after);
  known.counts &= other.counts;
  known.caches &= other.caches;
  known.code &= other.code;
  known.blocks &= other.blocks;
  forget(before, known);
  forget(after, known);
  return {profile::modelOf(profile::kernelsOf(before)), profile::modelOf(profile::kernelsOf(after)),
          known.counts};
}

void addModel(std::vector<Subject> &subjects, const Models &models) {
  for (Subject &subject : subjects)
    if (const ModeledKernel *model = subject.is_kernel ? modelOf(&subject, models) : nullptr)
      subject.values[static_cast<std::size_t>(Metric::model_time)] = model->time.total();
}

std::string Cost::text() const {
  return fmt::format("{} instead of {}{}", amount(kind, after), amount(kind, before),
                     wordsOf(kind));
}

Cost costOf(const Pair &kernel, const ModeledRuns &runs, double least) {
  Cost cost;
  if (!kernel.before || !kernel.after) return cost;
  for (const Change &change : kernel.changes)
    if (change.metric == Metric::time)
      return {CostKind::measured, change.before, change.after,
              change.verdict == Verdict::unclear ? Verdict::unclear
                                                 : verdictOf(change.before, change.after, least)};
  const ModeledKernel *before = modelOf(kernel.before, runs.before);
  const ModeledKernel *after = modelOf(kernel.after, runs.after);
  if (before && after) {
    const double a = before->time.busy(), b = after->time.busy();
    return {CostKind::modeled, a, b, verdictOf(a, b, least)};
  }
  const auto a = (*kernel.before)[Metric::instructions], b = (*kernel.after)[Metric::instructions];
  if (a && b) cost = {CostKind::instructions, *a, *b, verdictOf(*a, *b, least)};
  return cost;
}

std::string reasonOf(const Pair &kernel, const ModeledRuns &runs) {
  const ModeledKernel *before = modelOf(kernel.before, runs.before);
  const ModeledKernel *after = modelOf(kernel.after, runs.after);
  if (!before || !after) return "";
  const bool is_better = after->time.busy() < before->time.busy();
  const Limit limit = (is_better ? before : after)->time.longest();
  const double a = before->time.of(limit), b = after->time.of(limit);
  std::string text =
      fmt::format("{} {} -> {}", profile::nameOf(limit), valueText(Metric::model_time, a),
                  valueText(Metric::model_time, b));
  const std::vector<Part> parts = partsOf(kernel, limit, runs);
  const auto most = std::ranges::max_element(parts, {}, &Part::size);
  if (most != parts.end() && most->size() > 0)
    text += fmt::format(", {} {} -> {}", most->name, valueText(Metric::lines, most->before),
                        valueText(Metric::lines, most->after));
  return text;
}

RunCost runCostOf(const Difference &difference, const ModeledRuns &runs, double least,
                  const std::function<bool(const Subject &)> &concerns) {
  RunCost best;
  for (const CostKind kind : {CostKind::measured, CostKind::modeled, CostKind::instructions}) {
    RunCost run;
    run.cost.kind = kind;
    const Pair *most = nullptr;
    double largest = 0;
    std::size_t both = 0;
    bool is_unclear = false;
    for (const Pair &pair : difference.pairs) {
      if (!pair.any().is_kernel || (concerns && !concerns(pair.any()))) continue;
      const auto a = allOf(pair.before, runs.before, kind), b = allOf(pair.after, runs.after, kind);
      if (!a || !b) {
        ++run.left_out;
        continue;
      }
      both += pair.before && pair.after ? 1 : 0;
      run.cost.before += *a;
      run.cost.after += *b;
      if (std::abs(*b - *a) <= std::abs(largest)) continue;
      largest = *b - *a;
      most = &pair;
      is_unclear = kind == CostKind::measured && pair.before && pair.after &&
                   costOf(pair, runs, least).verdict == Verdict::unclear;
    }
    // Instructions are a last resort: they are all alike.
    const bool has_better = best.cost.kind != CostKind::none &&
                            (run.left_out >= best.left_out || kind == CostKind::instructions);
    if (both == 0 || has_better) continue;
    const double before = run.cost.before, after = run.cost.after;
    run.cost.verdict = is_unclear ? Verdict::unclear : verdictOf(before, after, least);
    if (most && run.cost.verdict != Verdict::same && (largest < 0) == (after < before)) {
      run.because = shortName(most->any().kernel);
      const std::string reason = most->before && most->after ? reasonOf(*most, runs) : "";
      if (!most->before || !most->after)
        run.because += most->before ? " is gone" : " is new";
      else if (most->before->weight != most->after->weight)
        run.because += fmt::format(" ({} -> {} dispatches{}{})", most->before->weight,
                                   most->after->weight, reason.empty() ? "" : "; ", reason);
      else if (!reason.empty())
        run.because += fmt::format(" ({})", reason);
    }
    best = std::move(run);
  }
  return best;
}

std::string verdictLine(const RunCost &run, const ModeledRuns &runs) {
  const Cost &cost = run.cost;
  if (cost.kind == CostKind::none)
    return "cannot tell: the runs have no kernel in common whose cost is known";
  std::string text;
  if (cost.verdict == Verdict::same)
    text = fmt::format("equal: kernels take {}{}, as before", amount(cost.kind, cost.after),
                       wordsOf(cost.kind));
  else if (cost.verdict == Verdict::unclear)
    text = fmt::format("unclear: kernels take {}, which may be chance", cost.text());
  else if (cost.verdict == Verdict::better)
    text = fmt::format("better: kernels take {}, {:.3g} times as fast", cost.text(),
                       cost.after > 0 ? cost.before / cost.after : 1);
  else
    text = cost.before > 0 && cost.after < 2 * cost.before
               ? fmt::format("worse: kernels take {}, {:.3g} % longer", cost.text(),
                             100 * (cost.after / cost.before - 1))
               : fmt::format("worse: kernels take {}, {:.3g} times as long", cost.text(),
                             cost.before > 0 ? cost.after / cost.before : 1);
  if (!run.because.empty()) text += ", because of " + run.because;
  if (cost.kind == CostKind::modeled && !runs.is_counted)
    text += " (estimated from accesses: instructions were not counted in both runs)";
  if (run.left_out != 0)
    text += fmt::format("; {} kernel{} not measured in both runs", run.left_out,
                        run.left_out == 1 ? " was" : "s were");
  return text;
}

} // namespace fade::compare
