// Judges continuations of a text. The answer must be a prefix of the following sentences, and long
// enough to be informative.
#include "reward/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

namespace rollcall::reward {
namespace {

using Words = std::vector<std::string>;

void add_words(Words& words, const std::string& text) {
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
}

struct Following {
  Words words;
  /// words that an answer must have: half of those in the sentence that is asked for
  std::size_t least = 0;
  bool masked = false;
};

Following read_following(const Json& reference) {
  Following following;
  for (const Json& sentence : reference.at("next")) {
    add_words(following.words, sentence.get<std::string>());
    if (following.least == 0) following.least = (following.words.size() + 1) / 2;
  }
  following.masked = reference.at("masked").get<bool>();
  check_reference(following.least > 0, "the sentence asked for is empty");
  return following;
}

std::string_view bare(std::string_view word) {
  while (!word.empty() && std::string_view(".!?,;:").find(word.back()) != std::string_view::npos)
    word.remove_suffix(1);
  return word;
}

/// Index of the first word that differs from the following text; the number of words if none does.
/// The last word may lack its punctuation.
std::size_t first_difference(const Words& answer, const Words& following) {
  for (std::size_t i = 0; i < answer.size(); ++i) {
    const bool last = i + 1 == answer.size();
    if (i >= following.size() || (answer[i] != following[i] &&
                                  !(last && !answer[i].empty() && answer[i] == bare(following[i]))))
      return i;
  }
  return answer.size();
}

/// 1 - edit distance in words to the nearest prefix that is long enough, divided by the longer
/// length of the two. 0 if the answer has more than twice the words of the following text, since it
/// would get less than a half in any case, and an answer may be as long as a book.
double closeness(const Words& answer, const Following& following) {
  const Words& words = following.words;
  if (answer.size() > 2 * words.size()) return 0.0;
  std::vector<std::size_t> row(words.size() + 1);  // distance from the answer so far to each prefix
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < answer.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 1; j <= words.size(); ++j) {
      const std::size_t replaced = diagonal + (answer[i] == words[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  double best = 0.0;
  for (std::size_t j = following.least; j <= words.size(); ++j)
    best = std::max(best, 1.0 - double(row[j]) / double(std::max(answer.size(), j)));
  return best;
}

}  // namespace

Score judge_continuation(const Prompt& prompt, const Response& response) {
  const auto following = read_reference(
      prompt, R"({"next": ["It rains.", "We stay."], "masked": false})", read_following);
  const auto text = complete_answer(response);
  if (!text)
    return score_of({0.0, 0.0, 0.0, double(following.masked)}, {},
                    "no answer, or one that the token limit may have cut");
  Words answer;
  add_words(answer, std::string(*text));
  const std::size_t differs = first_difference(answer, following.words);
  const bool correct = differs == answer.size() && answer.size() >= following.least;
  const std::string reason = differs < answer.size()
                                 ? fmt::format("word {} is not what follows", differs + 1)
                                 : "shorter than half a sentence";
  return score_of({double(correct), double(!answer.empty()),
                   correct ? 1.0 : closeness(answer, following), double(following.masked)},
                  std::string(*text), reason);
}

}  // namespace rollcall::reward
