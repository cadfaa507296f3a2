// Judges who is a knight and who a knave: "A is a knight, B is a knave", or KN, one letter per
// person.
#include "reward/reference.hpp"
#include "text/conclusion/prose.hpp"

#include <algorithm>

namespace rollcall::reward {
namespace {

constexpr std::size_t kMostPeople = 10;  // A to J, so that K and N are not names of people

/// "KNK": the kinds of A, B, C.
std::string read_kinds(const std::string& reference) {
  const bool good = !reference.empty() && reference.size() <= kMostPeople &&
                    reference.find_first_not_of("KN") == std::string::npos;
  require<InputError>(
      good, "the reference " + reference.substr(0, 200) + " does not name knights and knaves",
      "responses could not be judged",
      "it should be like KNK, a letter for each of A to J at most");
  return reference;
}

/// Words that may be in the answer. Other words, such as "not", may not.
constexpr const char* kBetween[] = {"is",        "are",   "a",     "and", "so",   "thus",
                                    "therefore", "hence", "while", "but", "both", "also"};

std::optional<char> kind_of(const std::string& word) {
  if (word == "knight" || word == "knights") return 'K';
  if (word == "knave" || word == "knaves") return 'N';
  return std::nullopt;
}

/// One letter per person, in order; nothing unless each person is named once.
std::optional<std::string> kinds_named(std::string_view text, std::size_t people) {
  const auto words = text::words(text);
  if (words.size() == 1 && words[0].size() == people &&
      text::upper(words[0]).find_first_not_of("KN") == std::string::npos)
    return text::upper(words[0]);
  std::string kinds(people, ' ');
  std::vector<std::size_t> waiting;  // named, but their kind is yet to come: A and B are knights
  for (const auto word : words) {
    const std::string low = text::lower(word);
    if (word.size() == 1 && word[0] >= 'A' && std::size_t(word[0] - 'A') < people) {
      waiting.push_back(std::size_t(word[0] - 'A'));
    } else if (const auto kind = kind_of(low)) {
      if (waiting.empty()) return std::nullopt;
      for (const std::size_t person : waiting) {
        if (kinds[person] != ' ' && kinds[person] != *kind) return std::nullopt;
        kinds[person] = *kind;
      }
      waiting.clear();
    } else if (std::find(std::begin(kBetween), std::end(kBetween), low) == std::end(kBetween)) {
      return std::nullopt;
    }
  }
  return waiting.empty() && kinds.find(' ') == std::string::npos ? std::optional(kinds)
                                                                 : std::nullopt;
}

}  // namespace

Score judge_knights_knaves(const Prompt& prompt, const Response& response) {
  const std::string wanted = read_kinds(prompt.answer);
  const auto text = complete_answer(response);
  if (!text) return no_answer(3);
  const auto given = kinds_named(*text, wanted.size());
  if (!given)
    return score_of({0, 0, 0}, {}, "it does not call each person a knight or a knave, once");
  std::size_t right = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) right += wanted[i] == (*given)[i] ? 1 : 0;
  return score_of({double(right == wanted.size()), 1.0, share(right, wanted.size())}, *given,
                  "someone is called the wrong thing");
}

}  // namespace rollcall::reward
