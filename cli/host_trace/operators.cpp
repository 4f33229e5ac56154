#include "host_trace/operators.h"

#include "host_trace/log_text.h"

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
  if (!log.has_operations) return "this log has HIP calls only, no GPU operations\n";
  if (uses.empty()) return "nothing ran on the GPU\n";
  constexpr std::size_t most_operator = 28, most_sizes = 24, least_kernel = 32;
  std::vector<std::array<std::string, 3>> cells;
  std::size_t widths[] = {8, 6, 5};
  const auto add = [&](std::size_t row, std::size_t column, std::string cell) {
    widths[column] = std::max(widths[column], columnsOf(cell));
    cells[row][column] = std::move(cell);
  };
  cells.resize(std::min(rows, uses.size()));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    add(i, 0, nameCell(uses[i].name.empty() ? "(no marker)" : uses[i].name, most_operator));
    add(i, 2, nameCell(uses[i].sizes, most_sizes));
  }
  // Kernels of templates differ in the middle of their names: they get what the others leave.
  const std::size_t most_kernel = least_kernel + most_operator -
                                  std::min(most_operator, widths[0]) + most_sizes -
                                  std::min(most_sizes, widths[2]);
  for (std::size_t i = 0; i < cells.size(); ++i) add(i, 1, nameCell(uses[i].kernel, most_kernel));
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
