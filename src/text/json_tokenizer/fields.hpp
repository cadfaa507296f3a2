// A value of tokenizer.json with its place in the file, which error messages name.
#pragma once

#include "base/text/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text::json_tokenizer {

/// Throws InputError with the message "ORIGIN cannot be used as a tokenizer: FAULT (why); what to
/// do".
[[noreturn]] void refuse(const std::string& origin, const std::string& fault);

class Field {
 public:
  Field(const nlohmann::json& value, std::string place, const std::string& origin)
      : value_(&value), place_(std::move(place)), origin_(&origin) {}

  Field at(const char* key) const;                   ///< a member, which is required
  std::optional<Field> find(const char* key) const;  ///< a member that may be missing or null
  std::vector<Field> items() const;                  ///< the items of a list
  std::vector<std::pair<std::string, Field>> members() const;

  std::string text() const;
  bool flag() const;
  bool flag(const char* key, bool otherwise) const;  ///< a member that may be missing or null
  std::int64_t count() const;                        ///< a whole number from 0 to 2^31 - 1
  char32_t character() const;                        ///< the character of a one-character string

  bool is_zero() const { return value_->is_number() && value_->get<double>() == 0.0; }
  bool is_text() const { return value_->is_string(); }
  bool is_object() const { return value_->is_object(); }
  const std::string& place() const { return place_; }
  const std::string& origin() const { return *origin_; }

  /// Refuses the file because of a fault in this value: "PLACE FAULT".
  [[noreturn]] void refuse(const std::string& fault) const;
  void require(bool ok, const std::string& fault) const;

 private:
  const nlohmann::json* value_;
  std::string place_;
  const std::string* origin_;
};

[[noreturn]] void refuse_type(const Field& field, const std::string& type,
                              const std::vector<std::string>& supported);

/// The row of a table whose `type`, a C string, is the member "type". If there is no such row, the
/// file is refused with a message that names the nearest one.
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
