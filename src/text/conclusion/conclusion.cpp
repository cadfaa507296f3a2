// What comes last decides, before circumstances: an equals sign, a verb or a formula.
#include "text/conclusion/conclusion.hpp"

#include "text/conclusion/announcement_words.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

constexpr int kMostLeads = 12;           // phrases that lead into a value, one behind the other
constexpr std::size_t kMostDenied = 12;  // tokens between a denial and the value that it denies
constexpr std::size_t kMostProse = 120;  // tokens of a sentence whose clauses are looked at
constexpr int kMostCircumstances = 8;    // of a sentence that are looked at

const AnnouncementWords& words() {
  static const AnnouncementWords& all = announcement_words();
  return all;
}

/// Whether one of the phrases holds token `i`, from `at` on and before `end`.
bool is_within(const Tokens& t, const Phrases& phrases, std::size_t i, std::size_t at,
               std::size_t end) {
  constexpr std::size_t kLongest = 3;  // words before the last one of a phrase
  for (std::size_t begin = std::max(at, i > kLongest ? i - kLongest : 0); begin <= i; ++begin)
    if (const std::size_t behind = phrases.behind(t, begin); behind > i && behind <= end)
      return true;
  return false;
}

/// "cannot be", "never reaches": whether what precedes the verb at `verb` denies it.
bool is_denied_verb(const Tokens& t, std::size_t at, std::size_t verb) {
  for (std::size_t i = verb; i-- > at;) {
    if (is_within(t, words().denials, i, at, verb)) return true;
    if (!t.is(i, Kind::mark) && !words().auxiliaries.begins(t, i)) return false;
  }
  return false;
}

/// "So x = 42, not 43.": another value, which is said not to be the answer.
bool is_contrast(const Tokens& t, std::size_t at) {
  if (at < 2 || t.word(at - 1) != "not") return false;
  return t.is(at - 2, Kind::comma) || t.word(at - 2) == "and";
}

/// "(There would be 84.)": a remark, and no value in brackets.
bool is_aside(const Tokens& t, const Sentence& s) {
  return t.is(s.begin, Kind::open) && !is_value(t, s.begin) &&
         (t.is(s.end - 1, Kind::close) || t.is(s.end + 1, Kind::close));
}

class Conclusion {
 public:
  explicit Conclusion(const Tokens& tokens) : t_(tokens) {}

  Candidate of(std::size_t at, std::size_t end) const {
    bool concludes = false;
    for (std::size_t before = t_.size() + 1; before != at;) {
      before = at;
      while (at < end &&
             (t_.is(at, Kind::comma) || t_.is(at, Kind::bullet) || t_.is(at, Kind::mark) ||
              t_.is(at, Kind::ornament) || t_.is(at, Kind::colon) || t_.is(at, Kind::arrow)))
        ++at;
      if (const std::size_t next = words().concluding.behind(t_, at); next != at)
        at = next, concludes = true;
    }
    if (at >= end || words().premises.begins(t_, at)) return {};
    if (t_.spelt(at) == "|") return last_cell(at, end);
    if (Candidate part = of_clause(at, end); part.weight == Weight::value) return part;
    end = before_others(at, end);
    if (t_.is(at, Kind::equals)) ++at;  // "= 5"
    if (begins_value(at) && !is_sum(at, end)) {
      Candidate first = taken(t_, at, end);
      if (const std::size_t later = said_of(at, first, end); later > at)
        return taken(t_, later, end);
      if (!is_subject(at, first, end)) return first;
    }
    if (Candidate whole = with_exceptions(at, end); whole.weight == Weight::value) return whole;
    end = before_circumstances(at, end);
    if (const std::size_t from = last_value(at, end); from > at)
      return denies(t_, at, from) ? Candidate{} : taken(t_, from, end);
    return only_value(at, end, concludes);
  }

 private:
  /// "Max has won" begins with a name, "max 5" with a function.
  bool begins_value(std::size_t at) const {
    return is_value(t_, at) && !(words().functions.begins(t_, at) && t_.is(at + 1, Kind::word) &&
                                 t_.word(at + 1).size() > 2);
  }
  /// Where a sentence that begins with a number of things comes to another value: "4 tickets cost
  /// $64", "15 pugs need 180/15 = 12 minutes"; 0: it does not.
  std::size_t said_of(std::size_t at, const Candidate& first, std::size_t end) const {
    const std::size_t number = skip_marks(t_, at);
    const bool counts = (t_.is(number, Kind::number) || words().numbers.begins(t_, number)) &&
                        t_.is(number + 1, Kind::word);
    if (!counts || first.text.find('=') != std::string::npos ||
        words().reasons.begins(t_, first.end))
      return 0;
    if (const std::size_t equal = last_equals(at, end); equal > first.end) return equal;
    for (std::size_t i = number + 1; i < std::min(first.end, end); ++i) {
      const std::size_t value = words().verbs.behind(t_, i);
      const bool is_verb = value != i && t_.word(i) != "to" && t_.word(i) != "that" &&
                           t_.word(i) != "so" && t_.word(i - 1) != "to";
      if (is_verb && value < end && (t_.is(value, Kind::number) || t_.is(value, Kind::currency)))
        return value;
    }
    return 0;
  }
  /// Whether something is said of the value at the beginning: "42 is", "x cannot be".
  bool is_subject(std::size_t at, const Candidate& first, std::size_t end) const {
    const std::size_t name = skip_marks(t_, at);
    const bool is_name = t_.is(name, Kind::word) && t_.word(name).size() == 1;
    if (is_name && (words().denials.begins(t_, name + 1) || words().denials.begins(t_, name + 2)))
      return true;
    const bool is_told = t_.word(first.end) == "is" || t_.word(first.end) == "are" ||
                         words().denials.begins(t_, first.end);
    return first.end < end && is_told && !words().approvals.begins(t_, first.end);
  }

  /// What the clause of the sentence comes to that is its conclusion: behind the last "so" or
  /// semicolon, before "because", behind the comma of "Since ...,".
  Candidate of_clause(std::size_t at, std::size_t end) const {
    if (end > at + kMostProse) return {};
    int clauses_left = 2;
    for (std::size_t i = end; i-- > at + 1 && clauses_left > 0;)
      if (const std::size_t clause = clause_begin(i, end); clause > i && clauses_left-- > 0)
        if (Candidate found = of(clause, end); found.weight == Weight::value) return found;
    for (std::size_t i = at + 1; i < end; ++i)
      if (t_.word(i) == "because" && !is_value(t_, at) && last_equals(i, end) == 0)
        return of(at, i);
    const bool has_premise = t_.word(at) == "since" || t_.word(at) == "given";
    for (std::size_t i = end; has_premise && i-- > at + 1;)
      if (t_.is(i, Kind::comma) && t_.is_spaced(i + 1))
        if (Candidate found = of(i + 1, end); found.weight == Weight::value) return found;
    return {};
  }
  /// Where a clause begins that is joined at `i` and that the sentence comes to; `i`: none.
  std::size_t clause_begin(std::size_t i, std::size_t end) const {
    if (const std::size_t behind = words().connectives.behind(t_, i); behind != i) {
      const std::string_view next = t_.word(behind);
      for (const std::string_view other :
           {"does", "do", "did", "is", "are", "was", "would", "could", "might", "many", "much",
            "far", "on", "called", "long", "as"})
        if (next == other) return i;
      return behind < end ? behind : i;
    }
    const bool is_clause = t_.is(i, Kind::semicolon) && t_.is(i + 1, Kind::word) &&
                           !is_value(t_, i + 1) && !words().others.begins(t_, i + 1) &&
                           !words().remarks.begins(t_, i + 2) && !words().rivals.begins(t_, i + 1);
    return is_clause ? i + 1 : i;
  }
  /// Without a clause about another value: "; the next one is 29".
  std::size_t before_others(std::size_t at, std::size_t end) const {
    for (std::size_t i = at + 1; i < end; ++i) {
      if (!t_.is(i, Kind::semicolon) && !t_.is(i, Kind::comma)) continue;
      const std::size_t next = t_.word(i + 1) == "and" || t_.word(i + 1) == "while" ? i + 2 : i + 1;
      if (words().others.begins(t_, next)) return i;
    }
    return end;
  }
  /// The one value in a row of a table that a label leads into.
  Candidate last_cell(std::size_t at, std::size_t end) const {
    std::size_t cells = 0, found = 0;
    for (std::size_t i = at; i < end; ++i)
      if (t_.spelt(i) == "|" && is_value(t_, i + 1)) found = skip_marks(t_, i + 1), ++cells;
    if (cells != 1 || t_.spelt(at + 1) == "|" || is_value(t_, at + 1)) return {};
    while (end > found && (t_.spelt(end - 1) == "|" || t_.is(end - 1, Kind::mark))) --end;
    return taken(t_, found, end);
  }
  /// "all real numbers except $x = 3$", from the last "is" on.
  Candidate with_exceptions(std::size_t at, std::size_t end) const {
    if (end > at + kMostProse) return {};
    std::size_t exception = at;
    while (exception < end && !words().exceptions.begins(t_, exception)) ++exception;
    if (exception >= end || exception == at) return {};
    std::size_t from = at;
    for (std::size_t i = at; i < exception; ++i)
      if (t_.word(i) == "is" || t_.word(i) == "are" || t_.is(i, Kind::colon)) from = i + 1;
    const std::string_view first = t_.word(from);
    if (from >= exception || (first != "all" && first != "every" && first != "any")) return {};
    Candidate whole = taken(t_, from, end);
    if (whole.weight == Weight::text) whole.weight = Weight::value;
    return whole;
  }

  std::size_t last_value(std::size_t at, std::size_t end) const {
    return std::max(last_equals(at, end), std::max(last_verb(at, end), last_formula(at, end)));
  }

  /// Where what comes behind a value says when it holds: "42 at x = 3", "42, attained when n is 7".
  /// A further clause with a conclusion of its own is none: "5 when he came, so he has 42".
  std::size_t before_circumstances(std::size_t at, std::size_t end) const {
    int looked_at = 0;
    for (std::size_t i = at + 1; i < end && looked_at <= kMostCircumstances; ++i) {
      if (!words().circumstances.begins(t_, i) || ++looked_at > kMostCircumstances ||
          !is_circumstance(i, end))
        continue;
      const std::size_t value = std::max(last_equals(at, i), last_verb(at, i));
      if (value > at && t_.spelt(value) != "0" && t_.spelt(value) != "$0$") return i;
    }
    return end;
  }
  /// To the end of the sentence without another clause; behind "at" and "for" only with a name that
  /// equals something.
  bool is_circumstance(std::size_t i, std::size_t end) const {
    const bool is_named =
        (t_.word(i) != "at" && t_.word(i) != "for") || names_value(words().leads.behind(t_, i + 1));
    for (; i < end; ++i) {
      if (t_.is(i, Kind::comma) && !is_value(t_, i + 1)) return false;
      if (t_.is(i, Kind::semicolon) || t_.is(i, Kind::arrow) || t_.word(i) == "so" ||
          t_.word(i) == "then" || words().answers.begins(t_, i))
        return false;
    }
    return is_named;
  }
  /// x = 3, $x=3$
  bool names_value(std::size_t at) const {
    at = skip_marks(t_, at);
    if (t_.is(at, Kind::word)) return t_.word(at).size() <= 2 && t_.is(at + 1, Kind::equals);
    if (!t_.is(at, Kind::formula)) return false;
    const std::string_view inner = t_.text.substr(t_[at].inner, t_[at].last - t_[at].inner);
    return inner.find('=') != std::string_view::npos;
  }

  /// Arithmetic before an equals sign: what counts is behind the last one.
  bool is_sum(std::size_t at, std::size_t end) const {
    std::size_t numbers = 0;
    const std::size_t begin = at;
    for (; at < end && !(t_.is(at, Kind::equals) && !rounds(at, begin)); ++at) {
      if (t_.is(at, Kind::word) && (t_.word(at).size() > 1 || numbers > 0))
        return numbers > 0 && last_equals(at, end) > 0;
      if (t_.is(at, Kind::formula) || t_.is(at, Kind::command) || t_.is(at, Kind::word))
        return false;
      numbers += t_.is(at, Kind::number) ? 1 : 0;
    }
    return at < end && numbers > 0;
  }

  std::size_t last_equals(std::size_t at, std::size_t end) const {
    for (std::size_t i = end; i-- > at;) {
      if (!t_.is(i, Kind::equals) || !is_value(t_, i + 1) || rounds(i, at)) continue;
      std::size_t name = i;  // x = 3 or x = 5: from the first name on
      while (name > at && is_named(name, at)) name -= 1;
      return name < i ? first_named(at, name) : i + 1;
    }
    return 0;
  }
  /// Whether the sign at `i` only rounds the exact value before it: "5√2 ≈ 7.07", "1/3 ≈ 0.333".
  bool rounds(std::size_t i, std::size_t at) const {
    if (t_.spelt(i) == "=" || i == at) return false;
    if (t_.is(i - 1, Kind::formula)) return t_[i - 1].last - t_[i - 1].inner > 2;
    bool is_exact = false;
    int words_left = 2;  // of a unit
    for (std::size_t n = i; n-- > at && (t_.is(n, Kind::number) || t_.is(n, Kind::sign) ||
                                         t_.is(n, Kind::command) || t_.is(n, Kind::open) ||
                                         t_.is(n, Kind::close) || t_.spelt(n).starts_with("π") ||
                                         (t_.is(n, Kind::word) && words_left-- > 0));) {
      const std::string_view spelt = t_.spelt(n);
      is_exact = is_exact || spelt == "√" || spelt.starts_with("π") || t_.is(n, Kind::command) ||
                 (spelt == "/" && !t_[n].spaced && n + 2 == i);
    }
    return is_exact;
  }
  /// Whether a name of one letter stands before the equals sign at `i`.
  bool is_named(std::size_t i, std::size_t at) const {
    return i > at && t_.is(i, Kind::equals) && t_.is(i - 1, Kind::word) &&
           t_.spelt(i - 1).size() <= 2 && is_value(t_, i - 1);
  }
  std::size_t first_named(std::size_t at, std::size_t name) const {
    for (std::size_t i = name; i-- > at + 1;) {
      if (t_.is(i, Kind::equals) && is_named(i, at)) name = i - 1;
      else if (!(t_.is(i, Kind::number) || t_.is(i, Kind::comma) || t_.is(i, Kind::dash) ||
                 t_.is(i, Kind::sign) || t_.is(i, Kind::word) || t_.is(i, Kind::command)))
        break;
      if (t_.is(i, Kind::word) && t_.word(i).size() > 2 && t_.word(i) != "and") break;
    }
    return name;
  }

  std::size_t last_verb(std::size_t at, std::size_t end) const {
    for (std::size_t i = end; i-- > at;) {
      if (t_.word(i) == "to" && is_between(i, at)) continue;
      const std::size_t behind =
          is_sign_of_result(i) || tells_time(i) ? i + 1 : words().verbs.behind(t_, i);
      if (behind == i || behind >= end) continue;
      const std::size_t value = behind_leads(behind);
      if (value < end && is_value(t_, value)) return value;
    }
    return 0;
  }
  /// "3 to 5", which is one value; "from 3 to 5" ends in one.
  bool is_between(std::size_t i, std::size_t at) const {
    std::size_t before = i;
    while (before > at && t_.is(before - 1, Kind::mark)) --before;
    if (before == at || !(t_.is(before - 1, Kind::number) || t_.is(before - 1, Kind::formula)) ||
        !is_value(t_, i + 1))
      return false;
    for (std::size_t n = before; n-- > at;)
      if (t_.word(n) == "from") return false;
    return true;
  }
  /// A colon or an arrow, but none within a value: 3:4, 2:15 p.m., A → B.
  bool is_sign_of_result(std::size_t i) const {
    const auto is_node = [&](std::size_t at) {
      return t_.is(at, Kind::word) && t_.spelt(at).size() == 1;
    };
    const auto is_part = [&](std::size_t at) { return t_.is(at, Kind::number) || is_node(at); };
    if (t_.is(i, Kind::arrow)) return i == 0 || !(is_node(i - 1) && is_node(i + 1));
    return t_.is(i, Kind::colon) &&
           !(i > 0 && is_part(i - 1) && is_part(i + 1) && t_.is_spaced(i) == t_.is_spaced(i + 1));
  }
  /// "at 4:45"
  bool tells_time(std::size_t i) const {
    return t_.word(i) == "at" && t_.is(i + 1, Kind::number) && t_.is(i + 2, Kind::colon) &&
           t_.is(i + 3, Kind::number) && !t_.is_spaced(i + 2);
  }
  std::size_t behind_leads(std::size_t at) const {
    int leads = 0;
    for (std::size_t before = t_.size() + 1; before != at && leads < kMostLeads; ++leads) {
      before = at, at = skip_marks(t_, t_.is(at, Kind::comma) ? at + 1 : at);
      if (t_.spelt(at) == "A" && is_value(t_, at)) break;  // a name, no article
      at = words().leads.behind(t_, at);
    }
    return at;
  }

  /// The last formula, and those before it in one list with it.
  std::size_t last_formula(std::size_t at, std::size_t end) const {
    std::size_t first = 0;
    for (std::size_t i = end; i-- > at;) {
      const bool is_formula = t_.is(i, Kind::formula);
      if (is_formula && denies(t_, at, i) && !is_contrast(t_, i)) return first;
      if (is_formula && is_contrast(t_, i)) continue;
      if (is_formula) first = i;
      else if (first == 0 || t_.is(i, Kind::comma) || t_.is(i, Kind::semicolon) ||
               t_.is(i, Kind::mark) || t_.word(i) == "or" || t_.word(i) == "and" ||
               t_.word(i) == "maybe" || t_.word(i) == "perhaps" || t_.word(i) == "possibly" ||
               (t_.word(i) == "to" && is_between(i, at)))
        continue;
      else break;
    }
    return first;
  }

  /// The only value of a sentence that says it with whatever verb; "in 8 hours" and "for 50
  /// minutes"
  /// are circumstances beside another one.
  Candidate only_value(std::size_t at, std::size_t end, bool concludes) const {
    if (end > at + kMostProse || t_.spelt(end) == "?" || (begins_value(at) && !concludes))
      return {};
    for (std::size_t i = at; i < end; ++i)
      if (words().denials.begins(t_, i) || (!concludes && words().unreal.begins(t_, i)) ||
          words().rivalry.begins(t_, i) || words().answers.begins(t_, i))
        return {};
    std::size_t count = 0, linked = 0;
    Candidate found, other;
    for (std::size_t i = at; i < end;) {
      const bool is_number =
          (t_.is(i, Kind::number) || t_.is(i, Kind::currency) || t_.is(i, Kind::formula)) &&
          is_value(t_, i);
      if (t_.is(i, Kind::comma) && t_.word(i + 1) == "which" && count + linked > 0) break;
      if (!is_number) {
        ++i;
        continue;
      }
      Candidate one = taken(t_, with_sign(i, at), end);
      const std::size_t before = before_value(i, at);
      if (!led_by(words().settings, before, at)) {
        if (led_by(words().bounds, before, at) || t_.is(i + 1, Kind::colon)) return {};
        // July 4
        if (before > at && words().meaningful.begins(t_, before - 1) &&
            !led_by(words().links, before, at))
          return {};
        for (std::size_t n = before; n > at && n + 4 > before; --n)
          if (words().operations.begins(t_, n - 1)) return {};
        if (!concludes && i < at + 2) return {};  // "about 42" says nothing of anything
        const bool is_link = led_by(words().links, before, at);
        ++(is_link ? linked : count);
        (is_link ? other : found) = one;
      }
      i = std::max(one.end, i + 1);
    }
    if (count == 1) return found;
    return count == 0 && linked == 1 ? other : Candidate{};
  }
  /// Where the sign before a number stands: -5, √5.
  std::size_t with_sign(std::size_t i, std::size_t at) const {
    return i > at && !t_.is_spaced(i) && (t_.is(i - 1, Kind::dash) || t_.is(i - 1, Kind::sign)) &&
                   is_value(t_, i - 1)
               ? i - 1
               : i;
  }
  std::size_t before_value(std::size_t i, std::size_t at) const {
    while (i > at && (t_.is(i - 1, Kind::mark) || t_.is(i - 1, Kind::quote) ||
                      t_.word(i - 1) == "the" || t_.word(i - 1) == "about"))
      --i;
    return i;
  }
  /// Whether one of the phrases, all of them short, ends before token `i`.
  bool led_by(const Phrases& phrases, std::size_t i, std::size_t at) const {
    for (std::size_t n = 1; n <= 2 && i >= at + n; ++n)
      if (phrases.behind(t_, i - n) == i && phrases.begins(t_, i - n)) return true;
    return false;
  }

  const Tokens& t_;
};

}  // namespace

/// From the value backwards over what leads into it, to the verb and what stands before that.
bool denies(const Tokens& t, std::size_t at, std::size_t end) {
  const std::size_t least = std::max(at, end > kMostDenied ? end - kMostDenied : 0);
  for (std::size_t i = end; i-- > least;) {
    if (is_within(t, words().denials, i, least, end) || is_within(t, words().bounds, i, least, end))
      return true;
    if (words().verbs.begins(t, i) && words().verbs.behind(t, i) <= end && t.word(i) != "to" &&
        t.word(i) != "that")
      return is_denied_verb(t, least, i);
    const bool leads = t.is(i, Kind::mark) || t.is(i, Kind::quote) || t.is(i, Kind::currency) ||
                       words().leads.begins(t, i) || words().auxiliaries.begins(t, i);
    if (!leads) return false;
  }
  return false;
}

std::size_t sentence_begin(const Tokens& t, std::size_t at) {
  const std::size_t least = at > kMostSentence ? at - kMostSentence : 0;
  while (at > least && !t.is(at - 1, Kind::line) && !(t.is(at - 1, Kind::stop) && t.is_spaced(at)))
    --at;
  return at;
}

std::vector<Sentence> last_sentences(const Tokens& t, std::size_t from, std::size_t most) {
  std::vector<Sentence> all;
  std::size_t end = t.size();
  while (end > from && all.size() < most) {
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

Candidate concluded(const Tokens& tokens, std::size_t at, std::size_t end) {
  return Conclusion(tokens).of(at, end);
}

}  // namespace rollcall::text
