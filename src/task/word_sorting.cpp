// Sorting words alphabetically. The more words there are, the later the deciding letter comes.
#include "base/text/joined.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rollcall::task {
namespace {

/// Draws a word of alternating consonants and vowels, of two letters at level 2 and up to six at
/// 12.
std::string draw_word(std::int64_t level, Draws& draws) {
  constexpr std::string_view kConsonants = "bcdfghjklmnprstvwz", kVowels = "aeiou";
  std::string word;
  for (std::int64_t i = draws.between(2, 2 + level / 3), at = draws.below(2); i > 0; --i, ++at)
    word += draws.one_of(at % 2 == 0 ? kConsonants : kVowels);
  return word;
}

std::optional<Item> draw_word_sorting(const TaskSection& section, std::int64_t level,
                                      Draws& draws) {
  std::vector<std::string> words;
  for (std::int64_t i = 0; i < level; ++i) words.push_back(draw_word(level, draws));
  const std::string given = fmt::format("{}", joined(words, " ")),
                    listed = fmt::format("{}", joined(words, ", "));
  std::sort(words.begin(), words.end());
  const std::string sorted = fmt::format("{}", joined(words, " "));
  Item item{given + ":", sorted, sorted};
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question")
    item.text = fmt::format(
        "Sort these words by the alphabet: {}. Answer with the sorted words only, separated by spaces.",
        listed);
  return item;
}

}  // namespace

PromptSet make_word_sorting(const TaskSection& section, std::uint64_t seed) {
  check_wordings("word_sorting", section.wording, {"plain", "question"});
  return generate(
      {"word_sorting", 2, 12,
       [&](std::int64_t level, Draws& draws) { return draw_word_sorting(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
