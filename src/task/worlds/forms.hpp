// Forms to be filled in as requested, and the policy's view of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::task {

struct Form {
  std::vector<std::string> fields{};  ///< names in the order of the form, distinct
  std::vector<std::string> wanted{};  ///< value of each field
  std::vector<std::string> filled{};  ///< value of each field; empty if nothing has been entered
  bool operator==(const Form&) const = default;
};

/// JSON with all members: both the state and the reference.
std::string text_of(const Form& form);
/// Nothing if the text is not a state with at most 32 fields.
std::optional<Form> read_form(std::string_view state);
/// A name or a value: 1 to 16 lower-case letters and digits.
bool is_form_word(std::string_view text);
/// The policy's view: the wanted values, ordered by field name, and the form, "city=oslo name=ann:
/// name= city=>".
std::string view_of(const Form& form);

}  // namespace rollcall::task
