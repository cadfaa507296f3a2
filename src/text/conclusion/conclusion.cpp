// Finds the clause of a sentence that is its conclusion, and the value in it. The last equals sign,
// verb or formula decides, and circumstances after the value do not count.
#include "text/conclusion/conclusion.hpp"

#include "text/conclusion/announcement_words.hpp"
#include "text/conclusion/denial.hpp"
#include "text/conclusion/last_value.hpp"
#include "text/conclusion/only_value.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

constexpr int kMostCircumstances = 8;  // places in a sentence where a circumstance may begin

const AnnouncementWords& words() {
  static const AnnouncementWords& all = announcement_words();
  return all;
}

/// Whether a whole sentence in brackets is a remark, "(There would be 84.)", and not a value.
bool is_aside(const Tokens& t, const Sentence& s) {
  return t.is(s.begin, Kind::open) && !is_value(t, s.begin) &&
         (t.is(s.end - 1, Kind::close) || t.is(s.end + 1, Kind::close));
}

/// Whether a value begins here. "Max has won" begins with a name, but "max 5" with a function.
bool begins_value(const Tokens& t, std::size_t at) {
  return is_value(t, at) && !(words().functions.begins(t, at) && t.is(at + 1, Kind::word) &&
                              t.word(at + 1).size() > 2);
}

/// The token of the value that a sentence states about the number of things that it begins with, as
/// in "4 tickets cost $64" and "15 pugs need 180/15 = 12 minutes"; 0 if it states none.
std::size_t said_of(const Tokens& t, std::size_t at, const Candidate& first, std::size_t end) {
  const std::size_t number = skip_marks(t, at);
  const bool counts = (t.is(number, Kind::number) || words().numbers.begins(t, number)) &&
                      t.is(number + 1, Kind::word);
  if (!counts || first.text.find('=') != std::string::npos || words().reasons.begins(t, first.end))
    return 0;
  if (const std::size_t equal = last_equals(t, at, end); equal > first.end) return equal;
  for (std::size_t i = number + 1; i < std::min(first.end, end); ++i) {
    const std::size_t value = words().verbs.after(t, i);
    const bool is_verb = value != i && t.word(i) != "to" && t.word(i) != "that" &&
                         t.word(i) != "so" && t.word(i - 1) != "to";
    if (is_verb && value < end && (t.is(value, Kind::number) || t.is(value, Kind::currency)))
      return value;
  }
  return 0;
}

/// Whether the sentence makes a statement about the value at its beginning: "42 is", "x cannot be".
bool is_subject(const Tokens& t, std::size_t at, const Candidate& first, std::size_t end) {
  const std::size_t name = skip_marks(t, at);
  const bool is_name = t.is(name, Kind::word) && t.word(name).size() == 1;
  if (is_name && (words().denials.begins(t, name + 1) || words().denials.begins(t, name + 2)))
    return true;
  const bool has_verb = t.word(first.end) == "is" || t.word(first.end) == "are" ||
                        words().denials.begins(t, first.end);
  return first.end < end && has_verb && !words().approvals.begins(t, first.end);
}

/// The beginning of a clause that a connective or a semicolon at token `i` joins to the sentence as
/// its conclusion; `i` if there is none.
std::size_t clause_begin(const Tokens& t, std::size_t i, std::size_t end) {
  if (const std::size_t after = words().connectives.after(t, i); after != i) {
    const std::string_view next = t.word(after);
    for (const std::string_view other :
         {"does", "do", "did", "is", "are", "was", "would", "could", "might", "many", "much", "far",
          "on", "called", "long", "as"})
      if (next == other) return i;
    return after < end ? after : i;
  }
  const bool is_clause = t.is(i, Kind::semicolon) && t.is(i + 1, Kind::word) &&
                         !is_value(t, i + 1) && !words().others.begins(t, i + 1) &&
                         !words().remarks.begins(t, i + 2) && !words().rivals.begins(t, i + 1);
  return is_clause ? i + 1 : i;
}

/// The value of the clause that is the sentence's conclusion: the clause after the last "so" or
/// semicolon, the one before "because", or the one after the comma in "Since ...,".
Candidate concluded_in_clause(const Tokens& t, std::size_t at, std::size_t end) {
  if (end > at + kMostProse) return {};
  int clauses_left = 2;
  for (std::size_t i = end; i-- > at + 1 && clauses_left > 0;)
    if (const std::size_t clause = clause_begin(t, i, end); clause > i && clauses_left-- > 0)
      if (Candidate found = concluded(t, clause, end); found.weight == Weight::value) return found;
  for (std::size_t i = at + 1; i < end; ++i)
    if (t.word(i) == "because" && !is_value(t, at) && last_equals(t, i, end) == 0)
      return concluded(t, at, i);
  const bool has_premise = t.word(at) == "since" || t.word(at) == "given";
  for (std::size_t i = end; has_premise && i-- > at + 1;)
    if (t.is(i, Kind::comma) && t.is_spaced(i + 1))
      if (Candidate found = concluded(t, i + 1, end); found.weight == Weight::value) return found;
  return {};
}

/// The end of the tokens before a clause about another value, such as "; the next one is 29".
std::size_t before_others(const Tokens& t, std::size_t at, std::size_t end) {
  for (std::size_t i = at + 1; i < end; ++i) {
    if (!t.is(i, Kind::semicolon) && !t.is(i, Kind::comma)) continue;
    const std::size_t next = t.word(i + 1) == "and" || t.word(i + 1) == "while" ? i + 2 : i + 1;
    if (words().others.begins(t, next)) return i;
  }
  return end;
}

/// The value in a table row, if the row has one label and one value.
Candidate last_cell(const Tokens& t, std::size_t at, std::size_t end) {
  std::size_t cells = 0, found = 0;
  for (std::size_t i = at; i < end; ++i)
    if (t.spelt(i) == "|" && is_value(t, i + 1)) found = skip_marks(t, i + 1), ++cells;
  if (cells != 1 || t.spelt(at + 1) == "|" || is_value(t, at + 1)) return {};
  while (end > found && (t.spelt(end - 1) == "|" || t.is(end - 1, Kind::mark))) --end;
  return taken(t, found, end);
}

/// An answer such as "all real numbers except $x = 3$", which begins after the last "is".
Candidate with_exceptions(const Tokens& t, std::size_t at, std::size_t end) {
  if (end > at + kMostProse) return {};
  std::size_t exception = at;
  while (exception < end && !words().exceptions.begins(t, exception)) ++exception;
  if (exception >= end || exception == at) return {};
  std::size_t from = at;
  for (std::size_t i = at; i < exception; ++i)
    if (t.word(i) == "is" || t.word(i) == "are" || t.is(i, Kind::colon)) from = i + 1;
  const std::string_view first = t.word(from);
  if (from >= exception || (first != "all" && first != "every" && first != "any")) return {};
  Candidate whole = taken(t, from, end);
  if (whole.weight == Weight::text) whole.weight = Weight::value;
  return whole;
}

/// Whether a name is said to equal something: x = 3, $x=3$.
bool names_value(const Tokens& t, std::size_t at) {
  at = skip_marks(t, at);
  if (t.is(at, Kind::word)) return t.word(at).size() <= 2 && t.is(at + 1, Kind::equals);
  if (!t.is(at, Kind::formula)) return false;
  const std::string_view inner = t.text.substr(t[at].inner, t[at].last - t[at].inner);
  return inner.find('=') != std::string_view::npos;
}

/// Whether a circumstance goes from token `i` to the end of the sentence, without another clause.
/// After "at" and "for" it must be a name that equals something.
bool is_circumstance(const Tokens& t, std::size_t i, std::size_t end) {
  const bool is_named =
      (t.word(i) != "at" && t.word(i) != "for") || names_value(t, words().leads.after(t, i + 1));
  for (; i < end; ++i) {
    if (t.is(i, Kind::comma) && !is_value(t, i + 1)) return false;
    if (t.is(i, Kind::semicolon) || t.is(i, Kind::arrow) || t.word(i) == "so" ||
        t.word(i) == "then" || words().answers.begins(t, i))
      return false;
  }
  return is_named;
}

/// The end of the tokens before a circumstance, which says when the value holds: "42 at x = 3",
/// "42, attained when n is 7". Another clause with its own conclusion is not a circumstance: "5
/// when he came, so he has 42".
std::size_t before_circumstances(const Tokens& t, std::size_t at, std::size_t end) {
  int looked_at = 0;
  for (std::size_t i = at + 1; i < end && looked_at <= kMostCircumstances; ++i) {
    if (!words().circumstances.begins(t, i) || ++looked_at > kMostCircumstances ||
        !is_circumstance(t, i, end))
      continue;
    const std::size_t value = std::max(last_equals(t, at, i), last_verb(t, at, i));
    if (value > at && t.spelt(value) != "0" && t.spelt(value) != "$0$") return i;
  }
  return end;
}

}  // namespace

std::size_t sentence_begin(const Tokens& t, std::size_t at) {
  const std::size_t least = at > kMostSentence ? at - kMostSentence : 0;
  while (at > least && !t.is(at - 1, Kind::line) && !(t.is(at - 1, Kind::stop) && t.is_spaced(at)))
    --at;
  return at;
}

std::vector<Sentence> last_sentences(const Tokens& t, std::size_t from, std::size_t limit) {
  std::vector<Sentence> all;
  std::size_t end = t.size();
  while (end > from && all.size() < limit) {
    if (t.is(end - 1, Kind::line) || t.is(end - 1, Kind::stop)) {
      --end;
      continue;
    }
    const std::size_t begin = std::max(from, sentence_begin(t, end - 1));
    all.push_back({begin, std::min(sentence_end(t, begin), end)});
    end = begin;
  }
  if (!std::all_of(all.begin(), all.end(), [&](const Sentence& s) { return is_aside(t, s); }))
    std::erase_if(all, [&](const Sentence& s) { return is_aside(t, s); });
  return all;
}

Candidate concluded(const Tokens& t, std::size_t at, std::size_t end) {
  bool concludes = false;
  for (std::size_t before = t.size() + 1; before != at;) {
    before = at;
    while (at < end && (t.is(at, Kind::comma) || t.is(at, Kind::bullet) || t.is(at, Kind::mark) ||
                        t.is(at, Kind::ornament) || t.is(at, Kind::colon) || t.is(at, Kind::arrow)))
      ++at;
    if (const std::size_t next = words().concluding.after(t, at); next != at)
      at = next, concludes = true;
  }
  if (at >= end || words().premises.begins(t, at)) return {};
  if (t.spelt(at) == "|") return last_cell(t, at, end);
  if (Candidate part = concluded_in_clause(t, at, end); part.weight == Weight::value) return part;
  end = before_others(t, at, end);
  if (t.is(at, Kind::equals)) ++at;  // as in "= 5"
  if (begins_value(t, at) && !is_sum(t, at, end)) {
    Candidate first = taken(t, at, end);
    if (const std::size_t later = said_of(t, at, first, end); later > at)
      return taken(t, later, end);
    if (!is_subject(t, at, first, end)) return first;
  }
  if (Candidate whole = with_exceptions(t, at, end); whole.weight == Weight::value) return whole;
  end = before_circumstances(t, at, end);
  if (const std::size_t from = last_value(t, at, end); from > at)
    return denies(t, at, from) ? Candidate{} : taken(t, from, end);
  if (begins_value(t, at) && !concludes) return {};
  return only_value(t, at, end, concludes);
}

}  // namespace rollcall::text
