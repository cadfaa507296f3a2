// Forms with fields in a different order from the values to be entered.
#include "task/worlds/forms.hpp"

#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace rollcall::task {
namespace {

using nlohmann::json;

constexpr std::size_t kMostFields = 32, kLongestWord = 16;
constexpr std::array<const char*, 12> kFields{"age",  "city",  "date",  "email", "name", "phone",
                                              "room", "seats", "state", "time",  "type", "zip"};
constexpr const char* kRules =
    "Fill in a form. You see what is wished for, and then the fields of the form with what is in them. Say one action a turn and nothing else: fill[field=value] writes a value into a "
    "field, and click[send] sends the form, which ends your task. Enter all that is wished for, and send the form.\n";

bool read_words(const json& object, const char* name, bool may_be_empty,
                std::vector<std::string>& words) {
  if (!object.contains(name) || !object[name].is_array()) return false;
  for (const json& word : object[name]) {
    if (!word.is_string()) return false;
    words.push_back(word.get<std::string>());
    if (!is_form_word(words.back()) && !(may_be_empty && words.back().empty())) return false;
  }
  return true;
}

/// A word of two syllables, or a number of two digits.
std::string draw_value(Draws& draws) {
  constexpr std::string_view kConsonants = "bdfgklmnprst", kVowels = "aeiou";
  if (draws.chance(3)) return fmt::format("{}", draws.between(10, 99));
  std::string value;
  for (int syllable = 0; syllable < 2; ++syllable) {
    value += draws.one_of(kConsonants);
    value += draws.one_of(kVowels);
  }
  return value;
}

/// Level n: n fields.
std::optional<Item> draw_form(const TaskSection& section, std::int64_t level, Draws& draws) {
  std::vector<std::string> fields(kFields.begin(), kFields.end());
  draws.shuffle(fields);
  fields.resize(std::size_t(level));
  Form form{fields};
  for (std::int64_t i = 0; i < level; ++i) form.wanted.push_back(draw_value(draws));
  form.filled.resize(fields.size());
  Item item{view_of(form), text_of(form),
            fmt::format("fill[{}={}]", form.fields.front(), form.wanted.front())};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question") item.text = kRules + item.text;
  return item;
}

}  // namespace

std::string text_of(const Form& form) {
  return json{{"fields", form.fields}, {"filled", form.filled}, {"wanted", form.wanted}}.dump();
}

std::optional<Form> read_form(std::string_view state) {
  std::string fault;
  const json object = parse_foreign<json>(state, fault);
  Form form;
  if (!fault.empty() || !read_words(object, "fields", false, form.fields) ||
      !read_words(object, "wanted", false, form.wanted) ||
      !read_words(object, "filled", true, form.filled))
    return std::nullopt;
  auto sorted = form.fields;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t fields = sorted.size();
  if (fields == 0 || fields > kMostFields || form.wanted.size() != fields ||
      form.filled.size() != fields ||
      std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return std::nullopt;
  return form;
}

bool is_form_word(std::string_view text) {
  return !text.empty() && text.size() <= kLongestWord &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

std::string view_of(const Form& form) {
  std::map<std::string, std::string> wishes;
  for (std::size_t i = 0; i < form.fields.size(); ++i) wishes[form.fields[i]] = form.wanted[i];
  std::string seen;
  for (const auto& [field, value] : wishes)
    seen += fmt::format("{}{}={}", seen.empty() ? "" : " ", field, value);
  seen += ":";
  for (std::size_t i = 0; i < form.fields.size(); ++i)
    seen += fmt::format(" {}={}", form.fields[i], form.filled[i]);
  return seen + ">";
}

PromptSet make_forms(const TaskSection& section, std::uint64_t seed) {
  check_wordings("forms", section.wording, {"plain", "question"});
  return generate(
      {"forms", 1, 12,
       [&](std::int64_t level, Draws& draws) { return draw_form(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
