#include "analysis/host_events/api_text.h"

#include "fade/hip_structures.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <unordered_map>
#include <vector>

namespace fade::host_trace {
namespace {

using hip::Kind;
using hip::Recorded;

using Names = std::unordered_map<int64_t, std::string_view>;
using Enums = std::map<std::string_view, Names>;

/// Of several names for a value the first.
const Enums &enumsOf(unsigned hip_major) {
  static const auto make = [](bool is_five) {
    Enums enums, changed;
#define FADE_HIP_ENUM(type, name, value) enums[#type].try_emplace(value, #name);
#define FADE_HIP5_ENUM(type, name, value) changed[#type].try_emplace(value, #name);
#include "fade/hip_enums.inc"
#undef FADE_HIP_ENUM
#undef FADE_HIP5_ENUM
    if (is_five)
      for (auto &[type, names] : changed) enums[type] = std::move(names);
    return enums;
  };
  static const Enums now = make(false), five = make(true);
  return hip_major == 5 ? five : now;
}

/// One parameter of "name:type, name:type".
struct Parameter {
  std::string_view name, type;
  std::string_view value_type; ///< of the value itself, behind a pointer if it is an output; empty:
                               ///< its values have no names
};

Parameter nextParameter(std::string_view &rest) {
  const auto end = std::min(rest.find(", "), rest.size());
  const std::string_view item = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 2, rest.size()));
  const auto colon = std::min(item.find(':'), item.size());
  return {item.substr(0, colon), item.substr(std::min(colon + 1, item.size())), {}};
}

/// The type that a pointer points to.
std::string_view pointee(std::string_view type) {
  if (type.starts_with("const ")) type.remove_prefix(6);
  if (type.ends_with('*')) type.remove_suffix(1);
  return type;
}

/// Of each function, read once: calls of one function come again and again.
const std::vector<Parameter> &parametersOf(const hip::FunctionInfo &function) {
  static const auto all = [] {
    std::vector<std::vector<Parameter>> lists(hip::kFunctionCount);
    for (std::size_t i = 0; i < hip::kFunctionCount; ++i) {
      std::string_view rest = hip::kFunctions[i].parameters;
      for (unsigned j = 0; j < hip::kFunctions[i].count; ++j) {
        Parameter &one = lists[i].emplace_back(nextParameter(rest));
        const std::string_view type =
            hip::kFunctions[i].recorded[j].is_output ? pointee(one.type) : one.type;
        if (enumsOf(5).contains(type) || enumsOf(6).contains(type)) one.value_type = type;
      }
    }
    return lists;
  }();
  return all[static_cast<std::size_t>(&function - hip::kFunctions)];
}

int64_t signedValue(Kind kind, uint64_t word) {
  switch (kind) {
  case Kind::i8: return static_cast<int8_t>(word);
  case Kind::i16: return static_cast<int16_t>(word);
  case Kind::i32: return static_cast<int32_t>(word);
  default: return static_cast<int64_t>(word);
  }
}

std::string_view textIn(std::span<const uint64_t> words) {
  const auto *bytes = reinterpret_cast<const char *>(words.data());
  return {bytes, strnlen(bytes, words.size_bytes())};
}

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

/// Writes one value with `put`, which is given something that JsonWriter can write.
class Value {
public:
  Value(Kind kind, std::string_view type, std::span<const uint64_t> words, unsigned hip_major)
      : kind_(kind), type_(type), words_(words), hip_major_(hip_major) {}

  template <typename Put> void write(Put &&put) const {
    const uint64_t word = words_[0];
    if (const auto name = enumName(type_, signedValue(kind_, word), hip_major_)) return put(*name);
    switch (kind_) {
    case Kind::nothing: return put(nullptr);
    case Kind::boolean: return put((word & 0xff) != 0);
    case Kind::f32: {
      float value = 0;
      std::memcpy(&value, &word, sizeof value);
      return put(static_cast<double>(value));
    }
    case Kind::f64: {
      double value = 0;
      std::memcpy(&value, &word, sizeof value);
      return put(value);
    }
    case Kind::i8:
    case Kind::i16:
    case Kind::i32:
    case Kind::i64: return put(signedValue(kind_, word));
    case Kind::pointer:
      if (word == 0) return put(nullptr);
      return put(fmt::format("{:#x}", word));
    default: return put(word);
    }
  }

private:
  const Kind kind_;
  const std::string_view type_;
  const std::span<const uint64_t> words_;
  const unsigned hip_major_;
};

/// A structure: what its members are called, and the bytes it had.
class Structure {
public:
  Structure(std::string_view type, std::span<const uint64_t> words, unsigned hip_major)
      : members_(hip::membersOf(type, hip_major)),
        bytes_(reinterpret_cast<const char *>(words.data()), words.size_bytes()),
        hip_major_(hip_major) {}

  explicit operator bool() const { return !members_.empty(); }

  void write(JsonWriter &json, std::string_view key) const { writeLevel(json, key, members_, 0); }

  /// One member, if it has one of that name.
  std::optional<uint64_t> number(std::string_view path) const {
    const auto at = std::ranges::find(members_, path, &hip::Member::path);
    if (at == members_.end()) return std::nullopt;
    return at->kind == Kind::bits ? bitsOf(*at) : wordAt(at->offset, hip::bytesOf(at->kind));
  }

private:
  /// Members that have the first `skip` bytes of their paths in common.
  void writeLevel(JsonWriter &json, std::string_view key, std::span<const hip::Member> members,
                  std::size_t skip) const {
    json.object(key, [&] {
      for (std::size_t i = 0; i < members.size();) {
        const std::string_view rest = members[i].path.substr(skip);
        const auto dot = rest.find('.');
        if (dot == rest.npos) {
          if (holds(members[i])) writeMember(json, rest, members[i]);
          ++i;
          continue;
        }
        const std::string_view prefix = members[i].path.substr(0, skip + dot + 1);
        std::size_t end = i;
        bool is_there = false;
        while (end < members.size() && members[end].path.starts_with(prefix))
          is_there = holds(members[end++]) || is_there;
        if (is_there)
          writeLevel(json, rest.substr(0, dot), members.subspan(i, end - i), prefix.size());
        i = end;
      }
    });
  }

  /// Whether it is the choice of its union.
  bool holds(const hip::Member &member) const {
    if (member.when < 0) return true;
    return static_cast<int32_t>(wordAt(static_cast<unsigned>(member.when), 4)) == member.value;
  }

  uint64_t wordAt(std::size_t offset, std::size_t size) const {
    uint64_t word = 0;
    if (offset <= bytes_.size() && size <= bytes_.size() - offset)
      std::memcpy(&word, bytes_.data() + offset, size);
    return word;
  }

  uint64_t bitsOf(const hip::Member &member) const {
    const uint64_t word = wordAt(member.offset, (member.first_bit + member.bits + 7) / 8);
    return word >> member.first_bit & ((uint64_t{1} << member.bits) - 1);
  }

  void writeMember(JsonWriter &json, std::string_view key, const hip::Member &member) const {
    if (member.kind == Kind::text) return writeText(json, key, member);
    if (member.kind == Kind::bits) return json.field(key, bitsOf(member));
    const auto write = [&](unsigned index, auto put) {
      const std::size_t size = hip::bytesOf(member.kind);
      const uint64_t word = wordAt(member.offset + index * size, size);
      Value(member.kind, member.type, {&word, 1}, hip_major_).write(put);
    };
    if (member.count == 1) return write(0, [&](const auto &value) { json.field(key, value); });
    json.list(key, [&] {
      for (unsigned i = 0; i < member.count; ++i)
        write(i, [&](const auto &value) { json.value(value); });
    });
  }

  /// HIP has names and identifiers in arrays of characters.
  void writeText(JsonWriter &json, std::string_view key, const hip::Member &member) const {
    if (member.offset > bytes_.size()) return json.field(key, nullptr);
    const std::string_view all = bytes_.substr(member.offset, member.count);
    const std::string_view text = all.substr(0, all.find('\0'));
    const bool is_text =
        std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c != 0x7f; }) &&
        all.find_first_not_of('\0', text.size()) == all.npos;
    if (is_text) return json.field(key, text);
    json.field(key, hexadecimal(all));
  }

  const std::span<const hip::Member> members_;
  const std::string_view bytes_;
  const unsigned hip_major_;
};

void writeStructure(JsonWriter &json, std::string_view key, std::string_view type,
                    std::span<const uint64_t> words, unsigned hip_major) {
  if (const Structure structure(type, words, hip_major); structure)
    return structure.write(json, key);
  json.field(key, hexadecimal({reinterpret_cast<const char *>(words.data()), words.size_bytes()}));
}

void writeArgument(JsonWriter &json, const Parameter &parameter, const Recorded &recorded,
                   std::span<const uint64_t> words, bool has_outputs, unsigned hip_major) {
  const auto put = [&](const auto &value) { json.field(parameter.name, value); };
  const bool is_followed = recorded.is_output || recorded.kind == Kind::text;
  if (words[0] == 0 && (is_followed || recorded.kind == Kind::behind)) return put(nullptr);
  if (recorded.is_output && !has_outputs) return put(nullptr);
  if (recorded.kind == Kind::behind)
    return writeStructure(json, parameter.name, pointee(parameter.type), words.subspan(1),
                          hip_major);
  if (recorded.kind == Kind::text) return put(textIn(words.subspan(1)));
  if (recorded.is_output)
    return Value(recorded.kind, parameter.value_type, words.subspan(1), hip_major).write(put);
  if (recorded.kind >= Kind::words4)
    return writeStructure(json, parameter.name, parameter.type, words, hip_major);
  Value(recorded.kind, parameter.value_type, words, hip_major).write(put);
}

/// Calls f(parameter, recorded, words) for each argument until it returns true.
template <typename F> void eachArgument(const Call &call, F &&f) {
  if (call.isNameOnly()) return;
  const hip::FunctionInfo &function = *call.function;
  const std::vector<Parameter> &parameters = parametersOf(function);
  std::size_t at = 0;
  for (unsigned i = 0; i < function.count; ++i) {
    const Recorded &recorded = function.recorded[i];
    if (f(parameters[i], recorded, call.words.subspan(at, recorded.words))) return;
    at += recorded.words;
  }
}

} // namespace

std::optional<std::string_view> enumName(std::string_view type, int64_t value, unsigned hip_major) {
  if (type.empty()) return std::nullopt;
  const Enums &enums = enumsOf(hip_major);
  const auto names = enums.find(type);
  if (names == enums.end()) return std::nullopt;
  const auto name = names->second.find(value);
  if (name == names->second.end()) return std::nullopt;
  return name->second;
}

void writeArguments(JsonWriter &json, const Call &call, unsigned hip_major) {
  const bool has_outputs = (call.flags & events::kCallOutputs) != 0;
  json.object("args", [&] {
    eachArgument(call, [&](const Parameter &parameter, const Recorded &recorded, auto words) {
      writeArgument(json, parameter, recorded, words, has_outputs, hip_major);
      return false;
    });
  });
}

void writeResult(JsonWriter &json, const Call &call, unsigned hip_major) {
  const hip::FunctionInfo &function = *call.function;
  const Recorded &recorded = function.recorded[function.count];
  const auto put = [&](const auto &value) { json.field("result", value); };
  if (!call.hasReturned() || recorded.kind == Kind::nothing) return put(nullptr);
  if (recorded.words == 1)
    return Value(recorded.kind, function.result_type, {&call.result, 1}, hip_major).write(put);
  const auto words = call.words.subspan(function.argument_words);
  if (recorded.kind != Kind::text)
    return writeStructure(json, "result", function.result_type, words, hip_major);
  if (call.result == 0) return put(nullptr);
  put(textIn(words.subspan(1)));
}

std::span<const uint64_t> argumentWords(const Call &call, std::string_view name) {
  std::span<const uint64_t> found;
  eachArgument(call, [&](const Parameter &parameter, const Recorded &, auto words) {
    if (parameter.name != name) return false;
    found = words;
    return true;
  });
  return found;
}

namespace {

/// A JSON string as the text it stands for.
std::string unquoted(std::string_view json) {
  std::string text;
  for (std::size_t i = 1; i + 1 < json.size(); ++i) {
    if (json[i] != '\\') {
      text += json[i];
    } else if (json[++i] == 'u') { // JsonWriter writes control characters so, and nothing else
      text += static_cast<char>(std::stoi(std::string(json.substr(i + 3, 2)), nullptr, 16));
      i += 4;
    } else {
      text += json[i];
    }
  }
  return text;
}

} // namespace

std::string argumentText(const Call &call, unsigned hip_major) {
  std::string text;
  const bool has_outputs = (call.flags & events::kCallOutputs) != 0;
  eachArgument(call, [&](const Parameter &parameter, const Recorded &recorded, auto words) {
    std::string value;
    if (parameter.name == "size" && recorded.kind == Kind::u64 && !recorded.is_output) {
      value = fmt::format("{:#x}", words[0]);
    } else {
      JsonWriter json;
      writeArgument(json, {"", parameter.type, parameter.value_type}, recorded, words, has_outputs,
                    hip_major);
      value = json.take().substr(3); // "":
      if (value.front() == '"') value = unquoted(value);
    }
    text += fmt::format("{}{}={}", text.empty() ? "" : " | ", parameter.name, value);
    return false;
  });
  return text;
}

bool hasArgument(const hip::FunctionInfo &function, std::string_view name) {
  return std::ranges::find(parametersOf(function), name.substr(0, name.find('.')),
                           &Parameter::name) != parametersOf(function).end();
}

std::optional<uint64_t> argument(const Call &call, std::string_view name) {
  const auto dot = name.find('.');
  const std::string_view path = dot == name.npos ? "" : name.substr(dot + 1);
  std::optional<uint64_t> found;
  eachArgument(call, [&](const Parameter &parameter, const Recorded &recorded, auto words) {
    if (parameter.name != name.substr(0, dot)) return false;
    const bool is_there = !recorded.is_output || (call.flags & events::kCallOutputs) != 0;
    if (!path.empty()) {
      if (recorded.kind == Kind::behind && is_there && words[0] != 0)
        found = Structure(pointee(parameter.type), words.subspan(1), call.hip_major).number(path);
    } else if (!recorded.is_output) {
      found = words[0];
    } else if (is_there && words[0] != 0) {
      found = words[1];
    }
    return true;
  });
  return found;
}

std::optional<std::string> errorOf(const Call &call, unsigned hip_major) {
  const std::string_view type = call.function->result_type;
  if (!call.hasReturned() || (type != "hipError_t" && type != "hiprtcResult")) return std::nullopt;
  const auto value = static_cast<int64_t>(call.result);
  if (const auto name = enumName(type, value, hip_major)) return std::string(*name);
  return std::to_string(value);
}

} // namespace fade::host_trace
