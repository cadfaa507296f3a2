// The part of JSON Schema (draft 2020-12) that answers are held against.
#pragma once

#include "base/json.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace rollcall::reward {

/// How many of a schema's demands a value meets. A member that is missing counts as one demand not
/// met, whatever its own schema holds.
struct SchemaMarks {
  std::size_t met = 0, asked = 0;
  std::string fault;  ///< the first demand that is not met, with its place
};

/// Keywords: type, enum, const, properties, required, additionalProperties, items, minItems,
/// maxItems, uniqueItems, minLength, maxLength (in code points), minimum, maximum,
/// exclusiveMinimum, exclusiveMaximum; title, description and $schema say nothing. Throws
/// ReferenceFault for any other, and for a demand that is not what its keyword wants: passing over
/// it would pass wrong answers.
void require_schema(const nlohmann::json& schema);

/// `schema` has passed require_schema. Never throws.
SchemaMarks check_schema(const nlohmann::json& schema, const nlohmann::json& value);

std::vector<std::string> schema_keywords();

}  // namespace rollcall::reward
