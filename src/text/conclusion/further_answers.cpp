// Finds further answers by the tables of words for second thoughts, rivals and hedges.
#include "text/conclusion/further_answers.hpp"

#include "text/conclusion/announcement_words.hpp"
#include "text/tokenizer/token_values.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

constexpr std::size_t kMostTokens = 40;  // tokens in which a further answer is looked for
constexpr int kMostHedges = 12;          // consecutive phrases before its value

const AnnouncementWords& words() {
  static const AnnouncementWords& all = announcement_words();
  return all;
}

/// Whether a number, a price, a formula or a capital letter begins here, which may be another
/// answer.
bool is_other(const Tokens& t, std::size_t at) {
  const bool is_letter = t.is(at, Kind::word) && t.spelt(at).size() == 1 && t.spelt(at)[0] >= 'A' &&
                         t.spelt(at)[0] <= 'Z';
  return (t.is(at, Kind::number) || t.is(at, Kind::currency) || t.is(at, Kind::formula) ||
          is_letter) &&
         is_value(t, at);
}

/// Whether the words after the value at token `at` make it an answer as well: "19 also works", or
/// "19 if she eats 2" if the first answer has a condition, too.
bool is_rival(const Tokens& t, std::size_t at, std::size_t end, bool has_condition) {
  constexpr std::size_t kMostNoun = 6;
  for (std::size_t i = at + 1; i < std::min(end, at + kMostNoun); ++i) {
    const std::size_t after = words().rivalry.after(t, i);
    if (after != i) return t.word(after) != "out";
    if (has_condition && (t.word(i) == "if" || t.word(i) == "when")) return true;
    if (t.is(i, Kind::number) && !t.is(i - 1, Kind::sign)) return false;
    if (!t.is(i, Kind::word) && !t.is(i, Kind::mark) && !t.is(i, Kind::number) &&
        !t.is(i, Kind::sign) && !t.is(i, Kind::quote))
      return false;
  }
  return false;
}

}  // namespace

std::size_t second_thought(const Tokens& t, std::size_t from, std::size_t limit) {
  const std::size_t end = std::min({sentence_end(t, from), limit, t.size(), from + kMostTokens});
  const auto piece = [&](std::size_t at) {
    int hedges = 0;
    for (std::size_t before = t.size() + 1; before != at && hedges < kMostHedges; ++hedges)
      before = at, at = words().hedges.after(t, skip_marks(t, t.is(at, Kind::comma) ? at + 1 : at));
    return is_value(t, at) ? at : t.size();
  };
  const bool reason =
      words().reasons.begins(t, t.is(from, Kind::comma) ? skip_marks(t, from + 1) : from);
  for (std::size_t at = from; at < end && !reason; ++at)
    if (const std::size_t after = words().second_thoughts.after(t, at);
        after != at && piece(after) < t.size())
      return piece(after);
  std::size_t next = end;
  while (t.is(next, Kind::stop) || t.is(next, Kind::line)) ++next;
  const std::size_t after = words().second_thoughts.after(t, skip_marks(t, next));
  return next < limit && after != skip_marks(t, next) ? piece(after) : t.size();
}

std::size_t rival(const Tokens& t, std::size_t from, std::size_t limit) {
  const std::size_t end = std::min(sentence_end(t, from), limit);
  std::size_t next = end;
  while (t.is(next, Kind::stop) || t.is(next, Kind::line)) ++next;
  const std::size_t last =
      std::min({next < limit ? sentence_end(t, next) : end, limit, from + 2 * kMostTokens});
  const bool has_condition = t.word(from) == "if" || t.word(from) == "when";
  for (std::size_t i = from; i < last; ++i) {
    if (const std::size_t after = words().rivals.after(t, i); after != i) {
      std::size_t value = skip_marks(t, after);
      while (t.word(value) == "then" || t.is(value, Kind::comma)) ++value;
      if (is_other(t, value)) return value;
    }
    const bool begins = is_other(t, i) && !(i > 0 && t.is(i - 1, Kind::sign)) &&
                        !(i > 0 && t.is(i - 1, Kind::currency));
    if (begins && is_rival(t, i, last, has_condition && i < end)) return i;
  }
  return t.size();
}

}  // namespace rollcall::text
