// Checks answers against the part of JSON Schema (draft 2020-12) that is supported here.
#pragma once

#include "base/text/json.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace rollcall::reward {

/// The number of a schema's demands that a value meets. A missing member counts as one demand that
/// is not met, regardless of the content of its own schema.
struct SchemaMarks {
  std::size_t met = 0, asked = 0;
  std::string fault;  ///< the first demand that is not met, and where
};

/// Throws ReferenceFault for a keyword that is not supported, and for a keyword with a value of the
/// wrong type, since ignoring either would accept wrong answers. Supported: type, enum, const,
/// properties, required, additionalProperties, items, minItems, maxItems, uniqueItems, minLength,
/// maxLength (in code points), minimum, maximum, exclusiveMinimum, exclusiveMaximum; title,
/// description and $schema demand nothing.
void require_schema(const nlohmann::json& schema);

/// `schema` must have passed require_schema(). Never throws.
SchemaMarks check_schema(const nlohmann::json& schema, const nlohmann::json& value);

std::vector<std::string> schema_keywords();

}  // namespace rollcall::reward
