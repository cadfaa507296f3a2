// Looks from the end of a sentence for signs and words that introduce a value.
#include "text/conclusion/last_value.hpp"

#include "text/conclusion/announcement_words.hpp"
#include "text/conclusion/denial.hpp"
#include "text/tokenizer/token_values.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

constexpr int kMostLeads = 12;  // consecutive phrases that lead into a value

const AnnouncementWords& words() {
  static const AnnouncementWords& all = announcement_words();
  return all;
}

/// Whether the sign at token `i` only rounds the exact value before it, as in "5√2 ≈ 7.07" and
/// "1/3 ≈ 0.333".
bool rounds(const Tokens& t, std::size_t i, std::size_t at) {
  if (t.spelt(i) == "=" || i == at) return false;
  if (t.is(i - 1, Kind::formula)) return t[i - 1].last - t[i - 1].inner > 2;
  bool is_exact = false;
  int words_left = 2;  // a unit has at most two words
  for (std::size_t n = i;
       n-- > at && (t.is(n, Kind::number) || t.is(n, Kind::sign) || t.is(n, Kind::command) ||
                    t.is(n, Kind::open) || t.is(n, Kind::close) || t.spelt(n).starts_with("π") ||
                    (t.is(n, Kind::word) && words_left-- > 0));) {
    const std::string_view spelt = t.spelt(n);
    is_exact = is_exact || spelt == "√" || spelt.starts_with("π") || t.is(n, Kind::command) ||
               (spelt == "/" && !t[n].spaced && n + 2 == i);
  }
  return is_exact;
}

/// Whether there is an equals sign at token `i` with a short name before it, such as x, x1 or π.
bool is_named(const Tokens& t, std::size_t i, std::size_t at) {
  return i > at && t.is(i, Kind::equals) && t.is(i - 1, Kind::word) && t.spelt(i - 1).size() <= 2 &&
         is_value(t, i - 1);
}

/// The first name of a list of named values, "x = 3 or x = 5", whose last name is at token `name`.
std::size_t first_named(const Tokens& t, std::size_t at, std::size_t name) {
  for (std::size_t i = name; i-- > at + 1;) {
    if (t.is(i, Kind::equals) && is_named(t, i, at)) name = i - 1;
    else if (!(t.is(i, Kind::number) || t.is(i, Kind::comma) || t.is(i, Kind::dash) ||
               t.is(i, Kind::sign) || t.is(i, Kind::word) || t.is(i, Kind::command)))
      break;
    if (t.is(i, Kind::word) && t.word(i).size() > 2 && t.word(i) != "and") break;
  }
  return name;
}

/// Whether "to" at token `i` is within one value, "3 to 5". After "from" it is not: "from 3 to 5"
/// says that the value 5 is reached.
bool is_between(const Tokens& t, std::size_t i, std::size_t at) {
  std::size_t before = i;
  while (before > at && t.is(before - 1, Kind::mark)) --before;
  if (before == at || !(t.is(before - 1, Kind::number) || t.is(before - 1, Kind::formula)) ||
      !is_value(t, i + 1))
    return false;
  for (std::size_t n = before; n-- > at;)
    if (t.word(n) == "from") return false;
  return true;
}

/// Whether a colon or an arrow introduces a result, unlike those within a value: 3:4, 2:15 p.m.,
/// A → B.
bool is_sign_of_result(const Tokens& t, std::size_t i) {
  const auto is_node = [&](std::size_t at) {
    return t.is(at, Kind::word) && t.spelt(at).size() == 1;
  };
  const auto is_part = [&](std::size_t at) { return t.is(at, Kind::number) || is_node(at); };
  if (t.is(i, Kind::arrow)) return i == 0 || !(is_node(i - 1) && is_node(i + 1));
  return t.is(i, Kind::colon) &&
         !(i > 0 && is_part(i - 1) && is_part(i + 1) && t.is_spaced(i) == t.is_spaced(i + 1));
}

/// Whether token `i` is "at" before a time of day, as in "at 4:45".
bool tells_time(const Tokens& t, std::size_t i) {
  return t.word(i) == "at" && t.is(i + 1, Kind::number) && t.is(i + 2, Kind::colon) &&
         t.is(i + 3, Kind::number) && !t.is_spaced(i + 2);
}

/// The last formula, or the first one of a list that ends with it.
std::size_t last_formula(const Tokens& t, std::size_t at, std::size_t end) {
  std::size_t first = 0;
  for (std::size_t i = end; i-- > at;) {
    const bool is_formula = t.is(i, Kind::formula);
    if (is_formula && denies(t, at, i) && !is_contrast(t, i)) return first;
    if (is_formula && is_contrast(t, i)) continue;
    if (is_formula) first = i;
    else if (first == 0 || t.is(i, Kind::comma) || t.is(i, Kind::semicolon) ||
             t.is(i, Kind::mark) || t.word(i) == "or" || t.word(i) == "and" ||
             t.word(i) == "maybe" || t.word(i) == "perhaps" || t.word(i) == "possibly" ||
             (t.word(i) == "to" && is_between(t, i, at)))
      continue;
    else break;
  }
  return first;
}

}  // namespace

std::size_t last_equals(const Tokens& t, std::size_t at, std::size_t end) {
  for (std::size_t i = end; i-- > at;) {
    if (!t.is(i, Kind::equals) || !is_value(t, i + 1) || rounds(t, i, at)) continue;
    std::size_t name = i;  // x = 3 or x = 5 counts from its first name on
    while (name > at && is_named(t, name, at)) name -= 1;
    return name < i ? first_named(t, at, name) : i + 1;
  }
  return 0;
}

std::size_t last_verb(const Tokens& t, std::size_t at, std::size_t end) {
  for (std::size_t i = end; i-- > at;) {
    if (t.word(i) == "to" && is_between(t, i, at)) continue;
    const std::size_t after =
        is_sign_of_result(t, i) || tells_time(t, i) ? i + 1 : words().verbs.after(t, i);
    if (after == i || after >= end) continue;
    const std::size_t value = after_leads(t, after);
    if (value < end && is_value(t, value)) return value;
  }
  return 0;
}

std::size_t last_value(const Tokens& t, std::size_t at, std::size_t end) {
  return std::max(last_equals(t, at, end),
                  std::max(last_verb(t, at, end), last_formula(t, at, end)));
}

bool is_sum(const Tokens& t, std::size_t at, std::size_t end) {
  std::size_t numbers = 0;
  const std::size_t begin = at;
  for (; at < end && !(t.is(at, Kind::equals) && !rounds(t, at, begin)); ++at) {
    if (t.is(at, Kind::word) && (t.word(at).size() > 1 || numbers > 0))
      return numbers > 0 && last_equals(t, at, end) > 0;
    if (t.is(at, Kind::formula) || t.is(at, Kind::command) || t.is(at, Kind::word)) return false;
    numbers += t.is(at, Kind::number) ? 1 : 0;
  }
  return at < end && numbers > 0;
}

std::size_t after_leads(const Tokens& t, std::size_t at) {
  int leads = 0;
  for (std::size_t before = t.size() + 1; before != at && leads < kMostLeads; ++leads) {
    before = at, at = skip_marks(t, t.is(at, Kind::comma) ? at + 1 : at);
    if (t.spelt(at) == "A" && is_value(t, at)) break;  // a name, not an article
    at = words().leads.after(t, at);
  }
  return at;
}

}  // namespace rollcall::text
