// Reads members of tokenizer.json with their types, and words the messages about faults.
#include "text/json_tokenizer/fields.hpp"

#include "base/errors/error.hpp"
#include "base/text/joined.hpp"
#include "text/json_tokenizer/steps/unicode.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rollcall::text::json_tokenizer {

void refuse(const std::string& origin, const std::string& fault) {
  throw InputError(
      error_message(fmt::format("{} cannot be used as a tokenizer: {}", origin, fault),
                    "its tokens would not be those the model was trained with",
                    "give a tokenizer.json of Hugging Face's tokenizers with a BPE model"));
}

void refuse_type(const Field& field, const std::string& type,
                 const std::vector<std::string>& supported) {
  field.refuse(fmt::format("has the unsupported type \"{}\"; supported are {}", type,
                           joined(supported, ", ")));
}

void Field::refuse(const std::string& fault) const {
  json_tokenizer::refuse(*origin_, place_ + " " + fault);
}

void Field::require(bool ok, const std::string& fault) const {
  if (!ok) refuse(fault);
}

Field Field::at(const char* key) const {
  require(value_->is_object(), "is not an object");
  const auto found = value_->find(key);
  require(found != value_->end(), fmt::format("has no \"{}\"", key));
  return {*found, place_.empty() ? key : place_ + "." + key, *origin_};
}

std::optional<Field> Field::find(const char* key) const {
  require(value_->is_object(), "is not an object");
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return Field(*found, place_.empty() ? key : place_ + "." + key, *origin_);
}

std::vector<Field> Field::items() const {
  require(value_->is_array(), "is not a list");
  std::vector<Field> items;
  for (std::size_t i = 0; i < value_->size(); ++i)
    items.emplace_back((*value_)[i], fmt::format("{}[{}]", place_, i), *origin_);
  return items;
}

std::vector<std::pair<std::string, Field>> Field::members() const {
  require(value_->is_object(), "is not an object");
  std::vector<std::pair<std::string, Field>> members;
  for (auto member = value_->begin(); member != value_->end(); ++member) {
    members.emplace_back(member.key(),
                         Field(member.value(), place_ + "." + member.key(), *origin_));
  }
  return members;
}

std::string Field::text() const {
  require(value_->is_string(), "is not a string");
  return value_->get<std::string>();
}

bool Field::flag() const {
  require(value_->is_boolean(), "is neither true nor false");
  return value_->get<bool>();
}

bool Field::flag(const char* key, bool otherwise) const {
  const auto member = find(key);
  return member ? member->flag() : otherwise;
}

std::int64_t Field::count() const {
  require(value_->is_number_unsigned() && value_->get<std::uint64_t>() <= 0x7FFFFFFF,
          "is not a whole number from 0 to 2147483647");
  return value_->get<std::int64_t>();
}

char32_t Field::character() const {
  const std::string one = text();
  require(!one.empty() && decode(one, 0).length == one.size(), "is not one character");
  return decode(one, 0).code;
}

}  // namespace rollcall::text::json_tokenizer
