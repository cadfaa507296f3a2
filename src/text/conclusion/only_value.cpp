// Counts the values in a sentence, judging by the phrases before them.
#include "text/conclusion/only_value.hpp"

#include "text/conclusion/announcement_words.hpp"
#include "text/conclusion/conclusion.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

const AnnouncementWords& words() {
  static const AnnouncementWords& all = announcement_words();
  return all;
}

/// The sign that belongs to the number at token `i`, as in -5 and √5; `i` if there is none.
std::size_t with_sign(const Tokens& t, std::size_t i, std::size_t at) {
  return i > at && !t.is_spaced(i) && (t.is(i - 1, Kind::dash) || t.is(i - 1, Kind::sign)) &&
                 is_value(t, i - 1)
             ? i - 1
             : i;
}

/// The first of the marks, quotation marks and small words before the value at token `i`.
std::size_t before_value(const Tokens& t, std::size_t i, std::size_t at) {
  while (i > at && (t.is(i - 1, Kind::mark) || t.is(i - 1, Kind::quote) || t.word(i - 1) == "the" ||
                    t.word(i - 1) == "about"))
    --i;
  return i;
}

/// Whether one of the phrases ends before token `i`. They have at most two tokens.
bool led_by(const Tokens& t, const Phrases& phrases, std::size_t i, std::size_t at) {
  for (std::size_t n = 1; n <= 2 && i >= at + n; ++n)
    if (phrases.after(t, i - n) == i && phrases.begins(t, i - n)) return true;
  return false;
}

}  // namespace

Candidate only_value(const Tokens& t, std::size_t at, std::size_t end, bool concludes) {
  if (end > at + kMostProse || t.spelt(end) == "?") return {};
  for (std::size_t i = at; i < end; ++i)
    if (words().denials.begins(t, i) || (!concludes && words().unreal.begins(t, i)) ||
        words().rivalry.begins(t, i) || words().answers.begins(t, i))
      return {};
  std::size_t count = 0, linked = 0;
  Candidate found, other;
  for (std::size_t i = at; i < end;) {
    const bool is_number =
        (t.is(i, Kind::number) || t.is(i, Kind::currency) || t.is(i, Kind::formula)) &&
        is_value(t, i);
    if (t.is(i, Kind::comma) && t.word(i + 1) == "which" && count + linked > 0) break;
    if (!is_number) {
      ++i;
      continue;
    }
    Candidate one = taken(t, with_sign(t, i, at), end);
    const std::size_t before = before_value(t, i, at);
    if (!led_by(t, words().settings, before, at)) {
      if (led_by(t, words().bounds, before, at) || t.is(i + 1, Kind::colon)) return {};
      // The word before belongs to the number, as in "July 4".
      if (before > at && words().meaningful.begins(t, before - 1) &&
          !led_by(t, words().links, before, at))
        return {};
      for (std::size_t n = before; n > at && n + 4 > before; --n)
        if (words().operations.begins(t, n - 1)) return {};
      if (!concludes && i < at + 2) return {};  // "about 42" does not name the thing that is 42
      const bool is_link = led_by(t, words().links, before, at);
      ++(is_link ? linked : count);
      (is_link ? other : found) = one;
    }
    i = std::max(one.end, i + 1);
  }
  if (count == 1) return found;
  return count == 0 && linked == 1 ? other : Candidate{};
}

}  // namespace rollcall::text
