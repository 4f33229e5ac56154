// Checks objects of a report against report_schema.json.
//
// There a type has its fields; a '?' behind a field says that it may be missing, one behind the
// kind of its value that it may be null. Kinds: string, bool, count (a whole number, not negative),
// integer, share (0 to 1), hex, op, space; [kind] is a list.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace fade::testing {

/// What is wrong with an object, or nothing. A field that the schema does not know is wrong, too.
std::string schemaFault(const nlohmann::json &object);

/// The schema itself.
const nlohmann::json &reportSchema();

} // namespace fade::testing
