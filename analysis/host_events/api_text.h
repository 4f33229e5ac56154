// Arguments and results of HIP's functions as values that mean something to people.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "fade/json_writer.h"

#include <optional>
#include <string>
#include <string_view>

namespace fade::host_trace {

/// An enumerator's name, as this version of HIP has it; nothing if the type is no enumeration or
/// has no such value.
std::optional<std::string_view> enumName(std::string_view type, int64_t value, unsigned hip_major);

/// "args": {...} of a call; nothing for one of which only the name is known.
void writeArguments(JsonWriter &json, const Call &call, unsigned hip_major);
/// "result": what it returned; null if it has not, or if it returns nothing.
void writeResult(JsonWriter &json, const Call &call, unsigned hip_major);

/// One argument as a number, by its name: for addresses, sizes and handles. An output has the value
/// that it has after the call. "p.extent.width": a member of a structure behind a pointer.
std::optional<uint64_t> argument(const Call &call, std::string_view name);

/// Whether argument() may find it in calls of this function.
bool hasArgument(const hip::FunctionInfo &function, std::string_view name);

/// All words of one argument; empty if there is none of that name.
std::span<const uint64_t> argumentWords(const Call &call, std::string_view name);

/// "ptr=0x7f00 | size=0x1000": as RPD writes them.
std::string argumentText(const Call &call, unsigned hip_major);

/// "hipSuccess", or nothing if the function returns no error code or has not returned.
std::optional<std::string> errorOf(const Call &call, unsigned hip_major);

} // namespace fade::host_trace
