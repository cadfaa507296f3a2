// Goes backwards from a value over the words that lead into it, to the verb and the words before
// the verb.
#include "text/conclusion/denial.hpp"

#include "text/conclusion/announcement_words.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

constexpr std::size_t kMostDenied = 12;  // tokens between a denial and the value that it denies

const AnnouncementWords& words() {
  static const AnnouncementWords& all = announcement_words();
  return all;
}

/// Whether token `i` is part of one of the phrases, which must lie within the tokens [at, end).
bool is_within(const Tokens& t, const Phrases& phrases, std::size_t i, std::size_t at,
               std::size_t end) {
  constexpr std::size_t kLongest = 3;  // words before the last one of a phrase
  for (std::size_t begin = std::max(at, i > kLongest ? i - kLongest : 0); begin <= i; ++begin)
    if (const std::size_t after = phrases.after(t, begin); after > i && after <= end) return true;
  return false;
}

/// Whether the words before the verb at token `verb` deny it, as in "cannot be" or "never reaches".
bool is_denied_verb(const Tokens& t, std::size_t at, std::size_t verb) {
  for (std::size_t i = verb; i-- > at;) {
    if (is_within(t, words().denials, i, at, verb)) return true;
    if (!t.is(i, Kind::mark) && !words().auxiliaries.begins(t, i)) return false;
  }
  return false;
}

}  // namespace

bool denies(const Tokens& t, std::size_t at, std::size_t end) {
  const std::size_t least = std::max(at, end > kMostDenied ? end - kMostDenied : 0);
  for (std::size_t i = end; i-- > least;) {
    if (is_within(t, words().denials, i, least, end) || is_within(t, words().bounds, i, least, end))
      return true;
    if (words().verbs.begins(t, i) && words().verbs.after(t, i) <= end && t.word(i) != "to" &&
        t.word(i) != "that")
      return is_denied_verb(t, least, i);
    const bool leads = t.is(i, Kind::mark) || t.is(i, Kind::quote) || t.is(i, Kind::currency) ||
                       words().leads.begins(t, i) || words().auxiliaries.begins(t, i);
    if (!leads) return false;
  }
  return false;
}

bool is_contrast(const Tokens& t, std::size_t at) {
  if (at < 2 || t.word(at - 1) != "not") return false;
  return t.is(at - 2, Kind::comma) || t.word(at - 2) == "and";
}

}  // namespace rollcall::text
