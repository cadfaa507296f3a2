// One row per keyword. A keyword for another type of value counts as met.
#include "reward/json_schema.hpp"

#include "base/errors/nearest.hpp"
#include "reward/exact_json.hpp"
#include "reward/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rollcall::reward {
namespace {

constexpr std::array kTypes = {"object", "array", "string", "boolean", "null", "number", "integer"};

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  return type == "number" ? is_number(value) : is_integer(value);
}

// Whether a keyword may have this value.
bool anything(const Json&) { return true; }
bool boolean(const Json& wanted) { return wanted.is_boolean(); }
bool number(const Json& wanted) { return is_number(wanted); }
bool array(const Json& wanted) { return wanted.is_array(); }
bool schema(const Json& wanted) { return wanted.is_object(); }
bool schemas(const Json& wanted) {
  return wanted.is_object() && std::all_of(wanted.begin(), wanted.end(), schema);
}
bool boolean_or_schema(const Json& wanted) { return wanted.is_boolean() || wanted.is_object(); }
bool count(const Json& wanted) { return wanted.is_number_integer() && wanted >= 0; }
bool text(const Json& wanted) { return wanted.is_string(); }
bool texts(const Json& wanted) {
  return wanted.is_array() && std::all_of(wanted.begin(), wanted.end(), text);
}
bool one_type(const Json& wanted) {
  return wanted.is_string() &&
         std::find(kTypes.begin(), kTypes.end(), wanted.get<std::string>()) != kTypes.end();
}
bool types(const Json& wanted) {
  return one_type(wanted) ||
         (wanted.is_array() && std::all_of(wanted.begin(), wanted.end(), one_type));
}

bool type(const Json& wanted, const Json& value) {
  if (!wanted.is_array()) return has_type(value, wanted.get<std::string>());
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const Json& one) { return has_type(value, one.get<std::string>()); });
}

bool is_one_of(const Json& wanted, const Json& value) {
  return std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}
bool is(const Json& wanted, const Json& value) { return wanted == value; }

std::size_t code_points(const Json& value) {
  const auto& text = value.get_ref<const std::string&>();
  return std::size_t(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool min_items(const Json& n, const Json& value) { return value.size() >= n.get<std::size_t>(); }
bool max_items(const Json& n, const Json& value) { return value.size() <= n.get<std::size_t>(); }
bool min_length(const Json& n, const Json& value) {
  return code_points(value) >= n.get<std::size_t>();
}
bool max_length(const Json& n, const Json& value) {
  return code_points(value) <= n.get<std::size_t>();
}

bool unique_items(const Json& wanted, const Json& value) {
  if (!wanted.get<bool>()) return true;
  std::vector<Json> items(value.begin(), value.end());
  std::sort(items.begin(), items.end());
  return std::adjacent_find(items.begin(), items.end()) == items.end();
}

bool minimum(const Json& wanted, const Json& value) { return order(value, wanted) >= 0; }
bool maximum(const Json& wanted, const Json& value) { return order(value, wanted) <= 0; }
bool above(const Json& wanted, const Json& value) { return order(value, wanted) > 0; }
bool below(const Json& wanted, const Json& value) { return order(value, wanted) < 0; }

enum class Of { any, array, string, number };

struct Keyword {
  const char* name;
  Of of;
  bool (*fits)(const Json& wanted);
  /// Whether the value meets the keyword. nullptr if the keyword demands nothing, or makes demands
  /// only on parts of the value.
  bool (*holds)(const Json& wanted, const Json& value);
};

constexpr std::array kKeywords = {
    Keyword{"type", Of::any, types, type},
    Keyword{"enum", Of::any, array, is_one_of},
    Keyword{"const", Of::any, anything, is},
    Keyword{"minItems", Of::array, count, min_items},
    Keyword{"maxItems", Of::array, count, max_items},
    Keyword{"uniqueItems", Of::array, boolean, unique_items},
    Keyword{"minLength", Of::string, count, min_length},
    Keyword{"maxLength", Of::string, count, max_length},
    Keyword{"minimum", Of::number, number, minimum},
    Keyword{"maximum", Of::number, number, maximum},
    Keyword{"exclusiveMinimum", Of::number, number, above},
    Keyword{"exclusiveMaximum", Of::number, number, below},
    Keyword{"properties", Of::any, schemas, nullptr},
    Keyword{"required", Of::any, texts, nullptr},
    Keyword{"additionalProperties", Of::any, boolean_or_schema, nullptr},
    Keyword{"items", Of::any, schema, nullptr},
    Keyword{"title", Of::any, text, nullptr},
    Keyword{"description", Of::any, text, nullptr},
    Keyword{"$schema", Of::any, text, nullptr},
};

bool concerns(Of of, const Json& value) {
  return of == Of::any || (of == Of::array && value.is_array()) ||
         (of == Of::string && value.is_string()) || (of == Of::number && is_number(value));
}

const Keyword& find_keyword(const std::string& name) {
  const auto row = std::find_if(kKeywords.begin(), kKeywords.end(),
                                [&](const Keyword& k) { return k.name == name; });
  if (row == kKeywords.end())
    throw ReferenceFault{fmt::format("the schema's keyword \"{}\" is unknown; {}", name,
                                     suggest_name(name, schema_keywords()))};
  return *row;
}

void mark(SchemaMarks& marks, bool met, const std::string& place, const std::string& demand) {
  ++marks.asked;
  marks.met += met ? 1 : 0;
  if (!met && marks.fault.empty())
    marks.fault =
        fmt::format("{} of {} does not hold", demand, place.empty() ? "the value" : place);
}

void walk(const Json& schema, const Json& value, const std::string& place, SchemaMarks& marks);

void walk_object(const Json& schema, const Json& value, const std::string& place,
                 SchemaMarks& marks) {
  if (!value.is_object())
    // The keywords of objects do not concern other values (JSON Schema 2020-12, validation, section
    // 6.5).
    return;
  const Json none = Json::object();
  const Json& properties = schema.contains("properties") ? schema.at("properties") : none;
  if (schema.contains("required"))
    for (const Json& key : schema.at("required"))
      mark(marks, value.contains(key.get<std::string>()), place,
           "required " + key.get<std::string>());
  for (const auto& [key, inner] : properties.items())
    if (value.contains(key)) walk(inner, value.at(key), place + "." + key, marks);
  if (!schema.contains("additionalProperties")) return;
  const Json& additional = schema.at("additionalProperties");
  for (const auto& [key, inner] : value.items()) {
    if (properties.contains(key)) continue;
    if (additional.is_boolean())
      mark(marks, additional.get<bool>(), place, "additionalProperties (" + key + ")");
    else walk(additional, inner, place + "." + key, marks);
  }
}

void walk(const Json& schema, const Json& value, const std::string& place, SchemaMarks& marks) {
  for (const auto& [name, wanted] : schema.items()) {
    const Keyword& keyword = find_keyword(name);
    if (keyword.holds != nullptr && concerns(keyword.of, value))
      mark(marks, keyword.holds(wanted, value), place, name);
  }
  walk_object(schema, value, place, marks);
  if (!schema.contains("items") || !value.is_array()) return;
  for (std::size_t i = 0; i < value.size(); ++i)
    walk(schema.at("items"), value[i], fmt::format("{}[{}]", place, i), marks);
}

}  // namespace

void require_schema(const nlohmann::json& schema) {
  check_reference(schema.is_object(), "a schema is no object");
  for (const auto& [name, wanted] : schema.items())
    if (!find_keyword(name).fits(wanted))
      throw ReferenceFault{
          fmt::format("\"{}\": {} is not what the keyword wants", name, written(wanted))};
  if (schema.contains("properties"))
    for (const auto& [key, inner] : schema.at("properties").items()) require_schema(inner);
  for (const char* inner : {"items", "additionalProperties"})
    if (schema.contains(inner) && schema.at(inner).is_object()) require_schema(schema.at(inner));
}

SchemaMarks check_schema(const nlohmann::json& schema, const nlohmann::json& value) {
  SchemaMarks marks;
  walk(schema, value, "", marks);
  return marks;
}

std::vector<std::string> schema_keywords() {
  std::vector<std::string> names;
  for (const Keyword& row : kKeywords) names.emplace_back(row.name);
  return names;
}

}  // namespace rollcall::reward
