// Numbers and names as fadeprobe log shows them.
#pragma once

#include "base/text_layout.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fade::host_trace {

/// "950 ns", "12.3 us", "1.5 ms".
std::string durationText(uint64_t ns);

/// A name that fits a table, and that a terminal may show.
std::string nameCell(std::string_view name, std::size_t width = 60);

/// Characters, not bytes: what a column has room for.
std::size_t columnsOf(std::string_view text);
/// With blanks behind, or before it.
std::string padded(std::string text, std::size_t width, bool is_number = false);

/// What PyTorch's autograd puts into a marker: "aten::add, seq = 1, op_id = 2, sizes = [[4]],
/// input_op_ids = []".
struct Operator {
  std::string_view name, sizes;
  bool is_operator = false; ///< else the name is the whole text
};
Operator operatorIn(std::string_view marker);

} // namespace fade::host_trace
