#include "mcp/tool_arguments.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::mcp {
namespace {

using Kind = Parameter::Kind;

constexpr std::size_t kMostWords = 4096;

Json schemaOf(const Parameter &parameter) {
  Json schema;
  switch (parameter.kind) {
  case Kind::text:
    schema = {{"type", "string"}};
    if (!parameter.choices.empty()) schema["enum"] = parameter.choices;
    break;
  case Kind::texts:
    schema = {{"type", "array"}, {"items", {{"type", "string"}}}, {"minItems", 1}};
    break;
  case Kind::number:
    schema = {{"type", "integer"}, {"minimum", parameter.least}, {"maximum", parameter.most}};
    break;
  case Kind::truth: schema = {{"type", "boolean"}}; break;
  case Kind::texts_by_name:
    schema = {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
    break;
  }
  schema["description"] = parameter.description;
  return schema;
}

/// Words end at a zero byte, and so would be others than those that were asked for.
bool isWord(const Json &value) {
  return value.is_string() && value.get_ref<const std::string &>().find('\0') == std::string::npos;
}

/// What the value should have been; empty: it is.
std::string expectedOf(const Parameter &parameter, const Json &value) {
  switch (parameter.kind) {
  case Kind::text:
    // An empty one would make an option take the next word.
    if (!isWord(value) || value.get_ref<const std::string &>().empty())
      return "a non-empty string without zero bytes";
    if (!parameter.choices.empty() &&
        std::ranges::find(parameter.choices, value.get_ref<const std::string &>()) ==
            parameter.choices.end())
      return fmt::format("one of: {}", fmt::join(parameter.choices, ", "));
    return "";
  case Kind::texts:
    return value.is_array() && !value.empty() && value.size() <= kMostWords &&
                   std::ranges::all_of(value, isWord)
               ? ""
               : "a list of strings, at least one";
  case Kind::number:
    // Unsigned numbers that do not fit would come out negative.
    return value.is_number_integer() && value.get<int64_t>() >= parameter.least &&
                   value.get<int64_t>() <= parameter.most
               ? ""
               : fmt::format("a whole number from {} to {}", parameter.least, parameter.most);
  case Kind::truth: return value.is_boolean() ? "" : "true or false";
  case Kind::texts_by_name: {
    if (!value.is_object() || value.size() > kMostWords) return "an object of strings";
    for (const auto &[name, each] : value.items())
      if (!isWord(each) || name.empty() || name.find('=') != std::string::npos ||
          name.find('\0') != std::string::npos)
        return "an object of names and strings";
    return "";
  }
  }
  return "";
}

} // namespace

Json schemaOf(const std::vector<Parameter> &parameters) {
  Json properties = Json::object(), required = Json::array();
  for (const Parameter &parameter : parameters) {
    properties[parameter.name] = schemaOf(parameter);
    if (parameter.is_required) required.push_back(parameter.name);
  }
  Json schema = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

Status checkArguments(const std::vector<Parameter> &parameters, const Json &arguments) {
  for (const auto &[name, value] : arguments.items()) {
    const auto parameter =
        std::ranges::find(parameters, std::string_view(name),
                          [](const Parameter &p) { return std::string_view(p.name); });
    if (parameter == parameters.end()) {
      std::vector<std::string> known;
      for (const Parameter &each : parameters) known.emplace_back(each.name);
      return Error::of(
          fmt::format("unknown argument '{}'; known: {}", name, fmt::join(known, ", ")));
    }
    if (const std::string expected = expectedOf(*parameter, value); !expected.empty())
      return Error::of(fmt::format("'{}' must be {}", name, expected));
  }
  for (const Parameter &parameter : parameters)
    if (parameter.is_required && !arguments.contains(parameter.name))
      return Error::of(fmt::format("'{}' is missing: {}", parameter.name, parameter.description));
  return Done();
}

std::string textIn(const Json &arguments, const char *name) {
  const auto at = arguments.find(name);
  return at == arguments.end() ? "" : at->get<std::string>();
}

std::vector<std::string> textsIn(const Json &arguments, const char *name) {
  const auto at = arguments.find(name);
  return at == arguments.end() ? std::vector<std::string>() : at->get<std::vector<std::string>>();
}

void Words::option(const Json &arguments, const char *name, const char *option) {
  const auto at = arguments.find(name);
  if (at == arguments.end()) return;
  words_.push_back(
      fmt::format("{}={}", option, at->is_string() ? at->get<std::string>() : at->dump()));
}

void Words::flag(const Json &arguments, const char *name, const char *option) {
  const auto at = arguments.find(name);
  if (at != arguments.end() && at->get<bool>()) words_.emplace_back(option);
}

void Words::addPath(const std::string &path) {
  words_.push_back(path.starts_with('-') ? "./" + path : path);
}

void Words::path(const Json &arguments, const char *name) {
  if (arguments.contains(name)) addPath(textIn(arguments, name));
}

void Words::paths(const Json &arguments, const char *name) {
  for (const std::string &path : textsIn(arguments, name)) addPath(path);
}

void Words::program(const Json &arguments, const char *name) {
  if (!arguments.contains(name)) return;
  words_.emplace_back("--");
  for (const std::string &word : textsIn(arguments, name)) words_.push_back(word);
}

ToolRun Words::run() const {
  ToolRun run;
  run.words = words_;
  return run;
}

} // namespace fade::mcp
