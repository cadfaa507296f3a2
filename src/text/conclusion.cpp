// What stands last decides: an equals sign, a verb or a formula.
#include "text/conclusion.hpp"

#include "text/announcement_words.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

constexpr int kMostLeads = 12;  // phrases that lead into a value, one behind the other

const AnnouncementWords& words() {
  static const AnnouncementWords& all = announcement_words();
  return all;
}

class Conclusion {
 public:
  explicit Conclusion(const Tokens& tokens) : t_(tokens) {}

  Candidate of(std::size_t at, std::size_t end) const {
    bool concludes = false;
    for (std::size_t before = t_.size() + 1; before != at;) {
      before = at;
      while (at < end && (t_.is(at, Kind::comma) || t_.is(at, Kind::bullet) || t_.is(at, Kind::mark) || t_.is(at, Kind::ornament) || t_.is(at, Kind::colon) ||
                          t_.is(at, Kind::arrow)))
        ++at;
      if (const std::size_t next = words().concluding.behind(t_, at); next != at) at = next, concludes = true;
    }
    if (at >= end || words().premises.begins(t_, at)) return {};
    if (t_.is(at, Kind::equals)) ++at;  // "= 5"
    if (is_value(t_, at) && !is_sum(at, end)) {
      Candidate first = taken(t_, at, end);
      const bool is_subject = t_.word(first.end) == "is" || t_.word(first.end) == "are" || words().denials.begins(t_, first.end);
      if (!is_subject || words().approvals.begins(t_, first.end)) return first;
    }
    const std::size_t from = std::max(last_equals(at, end), std::max(last_verb(at, end), last_formula(at, end)));
    if (from > at) return taken(t_, from, end);
    return concludes ? only_number(at, end) : Candidate{};
  }

 private:
  /// Arithmetic before an equals sign: what counts is behind the last one.
  bool is_sum(std::size_t at, std::size_t end) const {
    std::size_t numbers = 0;
    for (; at < end && !t_.is(at, Kind::equals); ++at) {
      if (t_.is(at, Kind::word) && (t_.word(at).size() > 1 || numbers > 0)) return numbers > 0 && last_equals(at, end) > 0;
      if (t_.is(at, Kind::formula) || t_.is(at, Kind::command) || t_.is(at, Kind::word)) return false;
      numbers += t_.is(at, Kind::number) ? 1 : 0;
    }
    return at < end && numbers > 0;
  }

  std::size_t last_equals(std::size_t at, std::size_t end) const {
    for (std::size_t i = end; i-- > at;) {
      if (!t_.is(i, Kind::equals) || !is_value(t_, i + 1)) continue;
      std::size_t name = i;  // x = 3 or x = 5: from the first name on
      while (name > at && is_named(name, at)) name -= 1;
      return name < i ? first_named(at, name) : i + 1;
    }
    return 0;
  }
  /// Whether a name of one letter stands before the equals sign at `i`.
  bool is_named(std::size_t i, std::size_t at) const {
    return i > at && t_.is(i, Kind::equals) && t_.is(i - 1, Kind::word) && t_.spelt(i - 1).size() <= 2 && is_value(t_, i - 1);
  }
  std::size_t first_named(std::size_t at, std::size_t name) const {
    for (std::size_t i = name; i-- > at + 1;) {
      if (t_.is(i, Kind::equals) && is_named(i, at)) name = i - 1;
      else if (!(t_.is(i, Kind::number) || t_.is(i, Kind::comma) || t_.is(i, Kind::dash) || t_.is(i, Kind::sign) || t_.is(i, Kind::word) ||
                 t_.is(i, Kind::command)))
        break;
      if (t_.is(i, Kind::word) && t_.word(i).size() > 2 && t_.word(i) != "and") break;
    }
    return name;
  }

  std::size_t last_verb(std::size_t at, std::size_t end) const {
    for (std::size_t i = end; i-- > at;) {
      const std::size_t behind = t_.is(i, Kind::arrow) || t_.is(i, Kind::colon) ? i + 1 : words().verbs.behind(t_, i);
      if (behind == i || behind >= end) continue;
      std::size_t value = behind;
      int leads = 0;
      for (std::size_t before = t_.size() + 1; before != value && leads < kMostLeads; ++leads)
        before = value, value = words().leads.behind(t_, skip_marks(t_, t_.is(value, Kind::comma) ? value + 1 : value));
      const bool denied = words().denials.begins(t_, behind) || (i > at && words().denials.begins(t_, i - 1));  // "cannot be 42"
      if (value < end && is_value(t_, value) && !denied) return value;
    }
    return 0;
  }

  /// The last formula, and those before it in one list with it.
  std::size_t last_formula(std::size_t at, std::size_t end) const {
    std::size_t first = 0;
    for (std::size_t i = end; i-- > at;) {
      if (t_.is(i, Kind::formula)) first = i;
      else if (first == 0 || t_.is(i, Kind::comma) || t_.is(i, Kind::semicolon) || t_.is(i, Kind::mark) || t_.word(i) == "or" || t_.word(i) == "and" ||
               t_.word(i) == "maybe" || t_.word(i) == "perhaps" || t_.word(i) == "possibly")
        continue;
      else break;
    }
    return first;
  }

  Candidate only_number(std::size_t at, std::size_t end) const {
    std::size_t count = 0, found = at;
    for (std::size_t i = at; i < end; ++i)
      if (t_.is(i, Kind::number)) found = i, ++count;
    if (count != 1) return {};
    if (found > at && t_.is(found - 1, Kind::currency)) --found;
    if (found > at && !t_.is_spaced(found) && (t_.is(found - 1, Kind::dash) || t_.is(found - 1, Kind::sign))) --found;
    return taken(t_, found, end);
  }

  const Tokens& t_;
};

}  // namespace

std::size_t sentence_begin(const Tokens& t, std::size_t at) {
  const std::size_t least = at > kMostSentence ? at - kMostSentence : 0;
  while (at > least && !t.is(at - 1, Kind::line) && !(t.is(at - 1, Kind::stop) && t.is_spaced(at))) --at;
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
  return all;
}

Candidate concluded(const Tokens& tokens, std::size_t at, std::size_t end) { return Conclusion(tokens).of(at, end); }

}  // namespace rollcall::text
