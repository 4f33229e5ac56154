// The tables of AMD's rocpd databases, version 3, as rocprofv3 writes them and its tools read them.
#pragma once

#include <string>

namespace fade::host_trace {

/// What FADE says of a call in the `state` of its event.
namespace rocpd {
inline constexpr const char *kOpen = "had not returned", *kPartial = "partial";
} // namespace rocpd

/// Statements that make all tables, with the suffix "_UUID" as rocprofv3 has it, and the views by
/// which tools know them.
std::string rocpdSchema(const std::string &guid);

/// What is between the name of a table and the guid in it: "_" and the guid with '_' for '-'.
std::string rocpdSuffix(const std::string &guid);

} // namespace fade::host_trace
