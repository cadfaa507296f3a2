// Token by token, with a row of the tables for each way in which an answer ends.
#include "text/conclusion/candidate.hpp"

#include "text/answer/answer_text.hpp"
#include "text/conclusion/further_answers.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

constexpr std::size_t kMostTokens = 300;  // of an answer
constexpr std::size_t kMostSkipped = 8;   // words before the value of an announcement: "the ordered
                                          // pair (3, 5)"
constexpr int kMostLeads = 12;            // phrases that lead in, one behind the other
constexpr std::size_t kMostBracket = 40;  // tokens within brackets

const AnnouncementWords& words() {
  static const AnnouncementWords& all = announcement_words();
  return all;
}

class Taker {
 public:
  Taker(const Tokens& tokens, std::size_t at, std::size_t limit)
      : t_(tokens), limit_(std::min(limit, at + kMostTokens)) {
    found_.begin = at_ = at;
    while (at > 0 && t_.is(at - 1, Kind::mark)) --at;
    quoted_ = at > 0 && opens_quotation(at - 1);
  }

  Candidate run() {
    found_.weight = is_value(t_, at_) ? Weight::value : Weight::text;
    while (at_ < std::min(limit_, t_.size()) && !ended_) step();
    found_.end = at_;
    // a last stop may be a decimal point
    found_.ended = at_ + 1 < t_.size() || t_.is(at_, Kind::line);
    tidy();
    if (found_.text.empty()) found_.weight = Weight::none;
    return std::move(found_);
  }

 private:
  bool begun() const { return !found_.text.empty(); }
  void end() { ended_ = true; }
  void put(std::string_view text, bool spaced) {
    joined_ = false;
    if (begun() && spaced && found_.text.back() != ' ') found_.text += ' ';
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool wide = text.substr(i, 2) == "\xEF\xBC" && i + 2 < text.size() &&
                        static_cast<unsigned char>(text[i + 2]) >=
                            0x81;  // U+FF01 to U+FF3F are ASCII, only wider
      found_.text += wide ? char(static_cast<unsigned char>(text[i + 2]) - 0x60) : text[i];
      i += wide ? 2 : 0;
    }
    ++at_;
  }
  void join(std::string_view mark, std::size_t next) {
    while (found_.text.ends_with(' ') || found_.text.ends_with(',')) found_.text.pop_back();
    found_.text += mark;
    at_ = next, joined_ = true;
  }
  /// Before the value of a further piece: hedging words and articles.
  std::size_t next_piece(std::size_t at) const {
    int hedges = 0;
    for (std::size_t before = t_.size() + 1; before != at && hedges < kMostLeads; ++hedges) {
      before = at;
      at = words().hedges.behind(t_, skip_marks(t_, at));
      if (t_.is(at, Kind::comma)) ++at;
    }
    return at;
  }
  /// "and 7 is its factor": a clause of its own.
  bool is_subject(std::size_t piece) const {
    if (!t_.is(piece, Kind::number) && !t_.is(piece, Kind::formula)) return false;
    for (const std::string_view verb :
         {"is", "are", "was", "were", "has", "have", "divides", "will", "can"})
      if (t_.word(piece + 1) == verb) return true;
    return false;
  }
  bool is_name() const {  // what was taken so far is the name of a value: x, AB, f(2)
    const std::string_view name = found_.text;
    return !name.empty() && name.size() <= 8 &&
           name.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_()0123456789 ") ==
               std::string_view::npos &&
           !(name[0] >= '0' && name[0] <= '9') && name.find(' ') == std::string_view::npos;
  }

  void step() {
    const Token& token = t_[at_];
    const std::string_view spelt = t_.spelt(at_);
    switch (token.kind) {
      case Kind::mark:
      case Kind::hashes: ++at_; break;
      case Kind::quote: quote(); break;
      case Kind::line: line(); break;
      case Kind::bullet: begun() ? end() : void(++at_); break;
      case Kind::stop: stop(spelt); break;
      case Kind::comma: comma(); break;
      case Kind::semicolon: semicolon(); break;
      case Kind::colon: colon(); break;
      case Kind::dash: dash(spelt); break;
      case Kind::open: open(); break;
      case Kind::close:
        depth_ == 0 ? end() : void(--depth_), ended_ ? void() : put(spelt, false);
        break;
      case Kind::equals: equals(spelt); break;
      case Kind::arrow:
        !begun() ? void(++at_) : is_value(t_, at_ + 1) ? put(spelt, token.spaced) : end();
        break;
      case Kind::ornament: begun() ? end() : void(++at_); break;
      case Kind::formula: formula(token); break;
      case Kind::word: word(); break;
      default:
        spelt == "|" && begun() && token.spaced&& t_.is_spaced(at_ + 1) ? end()
                                                                        : put(spelt, token.spaced);
        break;  // a table's bar
    }
  }

  /// The single quotation mark that the sign of a prime closes.
  bool opens_quotation(std::size_t at) const {
    return t_.spelt(at) == "\xE2\x80\x98" || t_.spelt(at) == "\xE2\x80\x9A";
  }
  void quote() {
    const bool closing = t_.spelt(at_) == "\xE2\x80\x99";
    if (closing && !t_.is_spaced(at_) && begun() && !quoted_) return put("'", false);  // a prime
    quoted_ = opens_quotation(at_);
    ++at_;
  }

  void line() {
    const std::size_t next = at_ + 1;
    if (!begun() || depth_ > 0) {
      at_ = next;
    } else if (t_.is(next, Kind::bullet) && listed_) {
      join(", ", next + 1);
    } else {
      end();
    }
  }

  void stop(std::string_view spelt) {
    const bool spaced = t_.is_spaced(at_ + 1) || t_.is(at_ + 1, Kind::line) || at_ + 1 >= t_.size();
    const bool joined = !spaced && (t_.is(at_ + 1, Kind::number) || t_.is(at_ + 1, Kind::stop));
    // .5
    if (spelt == "." && joined && t_.is(at_ + 1, Kind::number)) return put(spelt, t_[at_].spaced);
    // 0.333...
    if (spelt == "." && joined && found_.text.find('.') != std::string::npos)
      return put(spelt, false);
    if (spelt == "." && begun() && at_ > 0 && t_.is(at_ - 1, Kind::stop) &&
        found_.text.ends_with(".."))
      return put(spelt, false);
    // p.m.
    if (spelt == "." && !spaced && t_.is(at_ + 1, Kind::word) && at_ > 0 &&
        t_.is(at_ - 1, Kind::word))
      return put(spelt, false);
    if (spelt == "." && is_short_form()) return put(spelt, false);
    if (spelt == "!" && begun() &&
        (t_.is(at_ + 1, Kind::equals) || t_.is(at_ + 1, Kind::sign) ||
         t_.is(at_ + 1, Kind::close) || t_.spelt(at_ + 1) == "."))
      return put(spelt, false);  // a factorial; more of these marks are emphasis
    begun() ? end() : void(++at_);
  }
  bool is_short_form() const {
    for (const std::string_view form : {"p.m", "a.m", "P.M", "A.M", "sq", "approx", "cu"})
      if (found_.text.ends_with(form)) return true;
    return false;
  }

  void comma() {
    const std::size_t next = skip_marks(t_, at_ + 1),
                      piece = t_.is(next, Kind::line) ? next + 1 : next;
    const std::string_view word = t_.word(piece);
    if (depth_ > 0 || !t_.is_spaced(at_ + 1)) {
      if (depth_ == 0 && !is_value(t_, piece)) return end();
      return depth_ > 0 ? put(t_.spelt(at_), false) : join(",", at_ + 1);
    }
    if (word == "and" || word == "or") return void(at_ = piece);  // decided there
    if (found_.weight == Weight::text && t_.is(piece, Kind::word) &&
        !words().remarks.begins(t_, piece))
      return put(",", false);
    if (!words().remarks.begins(t_, piece) && is_value(t_, piece)) return join(", ", piece);
    end();
  }

  void semicolon() {
    if (depth_ > 0) return put(t_.spelt(at_), false);
    const std::size_t next = skip_marks(t_, at_ + 1);
    is_value(t_, next) && !words().remarks.begins(t_, next) ? join(", ", next) : end();
  }

  void colon() {
    if (!begun()) return void(++at_);
    const bool ratio = t_.is(at_ - 1, Kind::number) && is_value(t_, at_ + 1),
               choice = found_.text.size() <= 3 &&
                        found_.text.find_first_of("ABCDEFGHIJ") != std::string::npos;
    ratio || choice || depth_ > 0 ? put(t_.spelt(at_), t_[at_].spaced) : end();
  }

  void dash(std::string_view spelt) {
    // em, bar, en
    const bool long_one =
        spelt == "\xE2\x80\x94" || spelt == "\xE2\x80\x95" || spelt == "\xE2\x80\x93";
    const bool spaced = t_.is_spaced(at_ + 1), parted = t_[at_].spaced && spaced;
    if (!begun() && parted && !is_value(t_, at_)) return void(++at_);
    if (t_.is(at_ + 1, Kind::dash)) return begun() ? end() : void(at_ += 2);
    const bool operand = is_value(t_, at_ + 1) &&
                         !(parted && t_.is(at_ + 1, Kind::word) && t_.word(at_ + 1).size() > 1);
    const bool range = long_one && !t_[at_].spaced && !spaced && operand;
    const bool choice = parted && !long_one && found_.text.size() <= 3 &&
                        found_.text.find_first_of("ABCDEFGHIJ") != std::string::npos;
    if (begun() && long_one && !range) return end();
    if (!begun() || operand || range || choice || (!t_[at_].spaced && !spaced))
      return put(spelt, t_[at_].spaced);
    end();
  }

  /// A bracket behind a value that says something about it ends the answer; "(3, 5)" and "f(x)" do
  /// not.
  bool opens_remark() const {
    if (!begun() || !t_[at_].spaced || depth_ > 0 || joined_) return false;
    if (t_.is(at_ - 1, Kind::formula)) return true;
    std::size_t i = at_ + 1;
    for (int depth = 1; i < std::min(t_.size(), at_ + kMostBracket) && depth > 0; ++i) {
      depth += t_.is(i, Kind::open) ? 1 : t_.is(i, Kind::close) ? -1 : 0;
      if (t_.is(i, Kind::equals) || t_.is(i, Kind::formula) || t_.is(i, Kind::line) ||
          t_.spelt(i) == "×")
        return true;
      if (t_.is(i, Kind::word) && t_.word(i).size() > 1 && !words().functions.begins(t_, i) &&
          i + 1 < t_.size() && found_.weight == Weight::value)
        return true;
    }
    // 42 dollars (6 * 7)
    return found_.weight == Weight::value && at_ > 0 && t_.is(at_ - 1, Kind::word) &&
           t_.word(at_ - 1).size() > 1;
  }
  void open() {
    if (!opens_remark()) return ++depth_, put(t_.spelt(at_), t_[at_].spaced);
    std::size_t close = at_ + 1;
    for (int depth = 1; close < std::min(t_.size(), at_ + kMostBracket); ++close) {
      depth += t_.is(close, Kind::open) ? 1 : t_.is(close, Kind::close) ? -1 : 0;
      if (depth == 0) break;
    }
    const std::string_view word = t_.word(skip_marks(t_, close + 1));
    const bool goes_on = t_.is(close, Kind::close) &&
                         (word == "or" || word == "and" || t_.is(close + 1, Kind::comma));
    goes_on ? void(at_ = close + 1) : end();
  }

  void equals(std::string_view spelt) {
    if (!begun()) return void(++at_);
    if (spelt == "=") return put(spelt, t_[at_].spaced);
    is_name() ? put("=", true) : end();  // x is about 42; but of 1/3, about 0.33, the exact value
                                         // counts
  }

  void formula(const Token& token) {
    std::string_view inner = trim(t_.text.substr(token.inner, token.last - token.inner));
    for (const std::string_view about : {"\\approx", "\\sim", "\\simeq", "≈", "="})
      if (!begun() && inner.starts_with(about)) inner = trim(inner.substr(about.size()));
    while (inner.ends_with('.') || inner.ends_with(','))
      inner = trim(inner.substr(0, inner.size() - 1));
    if (begun() && at_ > 0 && t_.is(at_ - 1, Kind::line)) return end();
    put(inner, token.spaced);
  }

  void word() {
    const std::string_view word = t_.word(at_);
    const bool conjunction = word == "and" || word == "or" || word == "und" || word == "oder" ||
                             word == "ou" || word == "et";
    if (!begun()) return put(t_.spelt(at_), false);
    if (depth_ > 0) return put(t_.spelt(at_), t_[at_].spaced);
    if (!words().remarks.begins(t_, at_) && conjunction) {
      const std::size_t piece = next_piece(at_ + 1);
      if (is_subject(piece)) return end();
      if (is_value(t_, piece))
        return join(word == "or" || word == "oder" || word == "ou" ? " or " : " and ", piece);
      // "Paris or London" is no answer of one place
      return found_.weight == Weight::value ? end() : put(t_.spelt(at_), t_[at_].spaced);
    }
    const std::size_t equal = words().equals.behind(t_, at_);
    if (const std::size_t value = words().leads.behind(t_, equal);
        equal != at_ && is_name() && is_value(t_, value)) {
      found_.text += " = ", at_ = value;
      return;
    }
    // "no solution for any x" is one answer
    const auto& ends = found_.weight == Weight::text ? words().reasons : words().remarks;
    // "does not exist"
    const bool denial = found_.weight == Weight::text && word == "not";
    if (!denial && (words().second_thoughts.begins(t_, at_) || ends.begins(t_, at_))) return end();
    if (word == "equals" || word == "equal") return end();
    if (ends_count()) return end();
    if (is_rate()) return put("per", true);
    if (const std::size_t hyphen = word.find('-'); hyphen != std::string_view::npos &&
                                                   at_ == found_.begin + 1 &&
                                                   t_.is(at_ - 1, Kind::number)) {
      std::string noun(t_.spelt(at_));  // 22 push-ups
      std::replace(noun.begin(), noun.end(), '-', ' ');
      return put(noun, true);
    }
    // a script without spaces: です
    if (static_cast<unsigned char>(word[0]) >= 0xE3 && found_.weight == Weight::value) return end();
    put(t_.spelt(at_), t_[at_].spaced);
  }

  /// Whether what is counted or paid ends here: "328 pages | in 240 minutes", "4 more scoops than
  /// Oli".
  bool ends_count() const {
    if (found_.weight != Weight::value || depth_ > 0) return false;
    const bool is_paid = found_.text.find_first_of("$%") != std::string::npos;
    const bool is_noun = t_.is(at_ - 1, Kind::word) && t_.word(at_ - 1).size() > 1 &&
                         at_ - 1 > found_.begin && !words().numbers.begins(t_, at_ - 1);
    const std::string_view word = t_.word(at_);
    if (words().comparatives.begins(t_, at_) && !words().operations.begins(t_, at_ - 1) &&
        (is_noun || t_.is(at_ - 1, Kind::number) || t_.is(at_ - 1, Kind::mark) ||
         t_.is(at_ - 1, Kind::formula)))
      return !compares_with_number();
    // 6 teams of 5
    if (word == "of" && is_noun && t_.word(at_ - 1) != "out" && t_.is(at_ + 1, Kind::number))
      return !words().operations.begins(t_, at_ - 1);
    if ((!is_noun && !is_paid) || is_rate() || !words().asides.begins(t_, at_)) return false;
    return word != "to" || !is_value(t_, at_ + 1);
  }
  bool compares_with_number() const {
    for (std::size_t i = at_; i < std::min(sentence_end(t_, at_), at_ + kMostSkipped); ++i)
      if (t_.word(i) == "than") return is_value(t_, i + 1);
    return false;
  }
  /// "a year", "each month": the word before the period.
  bool is_rate() const {
    const std::string_view word = t_.word(at_),
                           before = at_ > 0 ? t_.word(at_ - 1) : std::string_view();
    if (before == "of" || before == "once" ||
        (at_ > 0 &&
         (words().numbers.begins(t_, at_ - 1) || words().operations.begins(t_, at_ - 1))))
      return false;
    return (word == "a" || word == "an" || word == "each" || word == "every") &&
           words().periods.begins(t_, at_ + 1) && begun();
  }

  void tidy() {
    std::string_view text = trim(found_.text);
    while (!text.empty() && std::string_view(",;:").find(text.back()) != std::string_view::npos)
      text = trim(text.substr(0, text.size() - 1));
    found_.text = std::string(text);
  }

 public:
  void set_listed() { listed_ = true; }

 private:
  const Tokens& t_;
  std::size_t at_ = 0, limit_;
  Candidate found_;
  int depth_ = 0;
  bool ended_ = false, listed_ = false, joined_ = false, quoted_ = false;
};

}  // namespace

Candidate taken(const Tokens& tokens, std::size_t at, std::size_t limit) {
  Taker taker(tokens, at, limit);
  if (at > 0 && tokens.is(at - 1, Kind::bullet)) taker.set_listed();
  Candidate found = taker.run();
  for (int more = 0; found.weight == Weight::value && more < 4; ++more) {
    const std::size_t next = second_thought(tokens, found.end, limit);
    if (next >= tokens.size()) break;
    const Candidate other = Taker(tokens, next, limit).run();
    if (other.weight != Weight::value || other.text == found.text) break;
    found.text += " or " + other.text, found.end = other.end, found.ended = other.ended;
  }
  if (const std::size_t next =
          found.weight == Weight::value ? rival(tokens, found.end, limit) : tokens.size();
      next < tokens.size()) {
    const Candidate other = Taker(tokens, next, limit).run();
    if (other.weight == Weight::value && other.text != found.text)
      found.text += " or " + other.text;
  }
  return found;
}

namespace {

/// "substituted into", "shown in": what was done to the answer.
bool is_done(const Tokens& t, std::size_t at) {
  if (t.word(at).size() < 4 || !t.word(at).ends_with("ed")) return false;
  for (const std::string_view next :
       {"by", "in", "into", "with", "from", "using", "to", "above", "below", "on", "at", "as",
        "out", "through", "via", "here", "for"})
    if (t.word(at + 1) == next) return true;
  return false;
}

/// A number that compares the answer with something: "3 more than 39", "90% sure".
bool says_how(const Tokens& t, std::size_t at) {
  std::size_t i = skip_marks(t, at);
  if (!t.is(i, Kind::number)) return false;
  for (++i; t.is(i, Kind::sign) && t.spelt(i) == "%"; ++i) continue;
  return words().comparisons.begins(t, i) ||
         words().comparisons.begins(t, i + (t.is(i, Kind::word) ? 1 : 0));
}

}  // namespace

Candidate announced_at(const Tokens& t, std::size_t at, std::size_t limit) {
  std::size_t lines = 0;
  int leads = 0;
  for (std::size_t before = t.size() + 1; before != at && at < limit && leads < kMostLeads;
       ++leads) {
    before = at;
    while (t.is(at, Kind::mark) || t.is(at, Kind::quote) || t.is(at, Kind::ornament) ||
           t.is(at, Kind::colon) || t.is(at, Kind::bullet) || t.is(at, Kind::hashes) ||
           t.is(at, Kind::arrow) || t.is(at, Kind::equals) || t.is(at, Kind::comma) ||
           (t.is(at, Kind::line) && ++lines <= 4) || (t.is(at, Kind::sign) && t.spelt(at) == "~"))
      ++at;
    const bool article =
        t.spelt(at) == "A" ||
        (t.spelt(at) == "a" &&
         !(t.is_spaced(at + 1) && (t.is(at + 1, Kind::word) || t.is(at + 1, Kind::number))));
    if (is_value(t, at) && (article || !words().leads.begins(t, at))) break;
    const bool bracket = t.is(at, Kind::open);  // (approximately) 42
    const std::size_t behind = words().leads.behind(t, bracket ? at + 1 : at);
    if (!bracket) at = behind;
    else if (behind > at + 1 && t.is(behind, Kind::close)) at = behind + 1;
  }
  if (at >= limit || at >= t.size()) return {};
  if (words().about.begins(t, at) || is_done(t, at)) return {};
  if (is_value(t, at)) return says_how(t, at) ? Candidate{} : taken(t, at, limit);
  if (!t.is(at, Kind::word)) return {};
  const std::size_t denied = words().denials.behind(t, at);
  if (denied != at && denied < t.size() && !t.is(denied, Kind::stop)) {  // not 41 but 42
    for (std::size_t i = denied; i < std::min(sentence_end(t, at), limit); ++i)
      if (t.word(i) == "but" || t.word(i) == "rather")
        return is_value(t, words().leads.behind(t, i + 1))
                   ? taken(t, words().leads.behind(t, i + 1), limit)
                   : Candidate{};
    return {};
  }
  // the ordered pair (3, 5)
  for (std::size_t i = at; i < std::min(at + kMostSkipped, limit); ++i) {
    const bool plain =
        t.is(i, Kind::word) && !words().meaningful.begins(t, i) && !words().remarks.begins(t, i);
    if (i > at && (t.is(i, Kind::number) || t.is(i, Kind::formula) || t.is(i, Kind::command) ||
                   (t.is(i, Kind::open) && is_value(t, i))))
      return taken(t, i, limit);
    if (i > at && t.word(i).size() == 1 && t.spelt(i)[0] >= 'A' && t.spelt(i)[0] <= 'Z' &&
        is_value(t, i))
      return taken(t, i, limit);
    if (!plain && !t.is(i, Kind::mark)) break;
  }
  return taken(t, at, limit);
}

}  // namespace rollcall::text
