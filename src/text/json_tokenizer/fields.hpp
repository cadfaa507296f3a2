// A value of tokenizer.json together with its place, so that every fault names where it stands.
#pragma once

#include "base/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text::json_tokenizer {

/// Throws the InputError of a file that cannot be used: "ORIGIN cannot be used as a tokenizer:
/// FAULT (why); what to do".
[[noreturn]] void refuse(const std::string& origin, const std::string& fault);

class Field {
 public:
  Field(const nlohmann::json& value, std::string place, const std::string& origin)
      : value_(&value), place_(std::move(place)), origin_(&origin) {}

  Field at(const char* key) const;                   ///< a member that must be there
  std::optional<Field> find(const char* key) const;  ///< a member that may be missing or null
  std::vector<Field> items() const;                  ///< of a list
  std::vector<std::pair<std::string, Field>> members() const;

  std::string text() const;
  bool flag() const;
  bool flag(const char* key, bool otherwise) const;  ///< a member; null or missing: otherwise
  std::int64_t count() const;                        ///< a whole number from 0 to 2^31 - 1
  char32_t character() const;                        ///< a string of one character

  bool is_zero() const { return value_->is_number() && value_->get<double>() == 0.0; }
  bool is_text() const { return value_->is_string(); }
  bool is_object() const { return value_->is_object(); }
  const std::string& place() const { return place_; }
  const std::string& origin() const { return *origin_; }

  /// Refuses the file: "PLACE FAULT".
  [[noreturn]] void refuse(const std::string& fault) const;
  void require(bool ok, const std::string& fault) const;

 private:
  const nlohmann::json* value_;
  std::string place_;
  const std::string* origin_;
};

[[noreturn]] void refuse_type(const Field& field, const std::string& type,
                              const std::vector<std::string>& supported);

/// The row of a table (rows have `type`, a C string) that the member "type" names; otherwise the
/// file is refused with the nearest name.
template <class Row, std::size_t N>
const Row& row_of_type(const Field& field, const Row (&rows)[N]) {
  const std::string type = field.at("type").text();
  std::vector<std::string> names;
  for (const Row& row : rows) {
    if (type == row.type) return row;
    names.emplace_back(row.type);
  }
  refuse_type(field, type, names);
}

}  // namespace rollcall::text::json_tokenizer
