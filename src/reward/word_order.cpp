// Judges words in alphabetical order, separated by spaces, commas or line breaks.
#include "base/text/joined.hpp"
#include "reward/graders.hpp"
#include "reward/reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rollcall::reward {
namespace {

std::vector<std::string> parted(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n,;";
  std::vector<std::string> words;
  for (std::size_t begin = text.find_first_not_of(kBetween); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBetween, end);
  }
  return words;
}

bool same_words(std::vector<std::string> a, std::vector<std::string> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

}  // namespace

Score judge_word_order(const Prompt& prompt, const Response& response) {
  const auto wanted = parted(prompt.answer);
  require<InputError>(!wanted.empty(), "a reference has no words", "responses could not be judged",
                      "it should be like \"apple fig pear\"");
  const auto text = complete_answer(response);
  if (!text) return no_answer(3);
  const auto given = parted(*text);
  std::size_t placed = 0;
  for (std::size_t i = 0; i < std::min(wanted.size(), given.size()); ++i)
    placed += wanted[i] == given[i] ? 1 : 0;
  const bool correct = given == wanted, format = correct || same_words(given, wanted);
  return score_of(
      {double(correct), double(format), share(placed, std::max(wanted.size(), given.size()))},
      fmt::format("{}", joined(given, " ")),
      format ? "the words are out of order" : "these are not the words");
}

}  // namespace rollcall::reward
