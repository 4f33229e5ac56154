#include "report_schema.h"

#include <fstream>

namespace fade::testing {
namespace {

using nlohmann::json;

std::string withoutMark(const std::string &text) {
  return text.ends_with('?') ? text.substr(0, text.size() - 1) : text;
}

bool isOneOf(const json &value, std::initializer_list<const char *> words) {
  for (const char *word : words)
    if (value == word) return true;
  return false;
}

bool isOfKind(const json &value, const std::string &kind) {
  if (kind == "string") return value.is_string();
  if (kind == "bool") return value.is_boolean();
  if (kind == "count") return value.is_number_unsigned();
  if (kind == "integer") return value.is_number_integer();
  if (kind == "number") return value.is_number();
  if (kind == "share") return value.is_number() && value >= 0 && value <= 1;
  if (kind == "hex") return value.is_string() && value.get<std::string>().starts_with("0x");
  if (kind == "op") return isOneOf(value, {"load", "store", "atomic"});
  if (kind == "space") return isOneOf(value, {"global", "lds", "scratch"});
  return false;
}

std::string fault(const json &value, const json &schema, const std::string &where);

std::string objectFault(const json &object, const json &schema, const std::string &where) {
  if (!object.is_object()) return where + " is no object";
  for (const auto &[name, kind] : schema.items()) {
    const std::string plain = withoutMark(name);
    if (!object.contains(plain)) {
      if (name == plain) return where + "." + plain + " is missing";
      continue;
    }
    if (auto why = fault(object[plain], kind, where + "." + plain); !why.empty()) return why;
  }
  for (const auto &[name, value] : object.items())
    if (!schema.contains(name) && !schema.contains(name + "?"))
      return where + "." + name + " is not in the schema";
  return "";
}

std::string fault(const json &value, const json &schema, const std::string &where) {
  if (schema.is_object()) return objectFault(value, schema, where);
  if (schema.is_array()) {
    if (!value.is_array()) return where + " is no list";
    for (const json &element : value)
      if (auto why = fault(element, schema[0], where + "[]"); !why.empty()) return why;
    return "";
  }
  const auto kind = schema.get<std::string>();
  if (kind.ends_with('?') && value.is_null()) return "";
  return isOfKind(value, withoutMark(kind)) ? "" : where + " is not of kind " + kind;
}

} // namespace

const json &reportSchema() {
  static const json schema = json::parse(std::ifstream(FADE_REPORT_SCHEMA));
  return schema;
}

std::string schemaFault(const json &object) {
  if (!object.is_object() || !object.contains("type")) return "it has no type";
  const std::string type = object["type"];
  if (!reportSchema().contains(type)) return "there is no type " + type + " in the schema";
  if (object.value("version", 0) != 1) return "its version is not 1";
  return objectFault(object, reportSchema()[type], type);
}

} // namespace fade::testing
