#include "trace/operators.h"

#include "trace/log_text.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace fade::host_trace {
namespace {

Operator operatorAround(const TraceLog &log, const Nesting &nesting, std::size_t call) {
  Operator innermost;
  for (auto at = nesting.items()[nesting.ofCall(call)].parent; at;
       at = nesting.items()[*at].parent) {
    const Nesting::Item &item = nesting.items()[*at];
    if (item.is_call) continue;
    const Operator found = operatorIn(log.ranges[item.index].text);
    if (found.is_operator) return found;
    if (innermost.name.empty()) innermost = found;
  }
  return innermost;
}

} // namespace

std::vector<OperatorUse> operatorsOf(const TraceLog &log, const Nesting &nesting) {
  std::map<std::tuple<std::string_view, std::string, std::string_view>, OperatorUse> uses;
  for (const LoggedOperation &operation : log.operations) {
    if (!operation.has_times) continue;
    Operator around;
    if (operation.call) around = operatorAround(log, nesting, *operation.call);
    const std::string kernel = nameOf(operation);
    OperatorUse &use = uses[{around.name, kernel, around.sizes}];
    if (use.calls++ == 0) {
      use.name = around.name;
      use.kernel = kernel;
      use.sizes = around.sizes;
    }
    use.ns += operation.duration();
  }
  std::vector<OperatorUse> all;
  for (auto &[key, use] : uses) all.push_back(std::move(use));
  std::ranges::sort(all, std::greater(), [](const OperatorUse &use) {
    return std::tie(use.ns, use.name, use.kernel, use.sizes);
  });
  return all;
}

std::string operatorText(const TraceLog &log, const std::vector<OperatorUse> &uses,
                         std::size_t rows) {
  if (!log.has_operations) return "this log has calls only, not what the GPU did\n";
  if (uses.empty()) return "nothing ran on the GPU\n";
  constexpr std::size_t most[] = {28, 32, 24};
  std::vector<std::array<std::string, 3>> cells;
  std::size_t widths[] = {8, 6, 5};
  for (std::size_t i = 0; i < std::min(rows, uses.size()); ++i) {
    const OperatorUse &use = uses[i];
    cells.push_back({nameCell(use.name.empty() ? "(no marker)" : use.name, most[0]),
                     nameCell(use.kernel, most[1]), nameCell(use.sizes, most[2])});
    for (std::size_t column = 0; column < 3; ++column)
      widths[column] = std::max(widths[column], columnsOf(cells.back()[column]));
  }
  const auto line = [&](const std::array<std::string, 3> &names, const std::string &calls,
                        const std::string &mean, const std::string &total) {
    std::string text;
    for (std::size_t column = 0; column < 3; ++column)
      text += padded(names[column], widths[column]) + "  ";
    return text + fmt::format("{:>7}  {:>9}  {:>9}\n", calls, mean, total);
  };
  std::string text = line({"operator", "kernel", "sizes"}, "calls", "mean", "total");
  for (std::size_t i = 0; i < cells.size(); ++i)
    text += line(cells[i], std::to_string(uses[i].calls), durationText(uses[i].ns / uses[i].calls),
                 durationText(uses[i].ns));
  if (uses.size() > rows) text += fmt::format("... and {} more\n", uses.size() - rows);
  return text;
}

} // namespace fade::host_trace
