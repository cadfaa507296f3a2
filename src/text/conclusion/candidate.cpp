// Reads an answer token by token. Each kind of token either belongs to it or ends it, and tables of
// words say how it may end.
#include "text/conclusion/candidate.hpp"

#include "text/answer/answer_text.hpp"
#include "text/conclusion/further_answers.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

constexpr std::size_t kMostTokens = 300;  // tokens in an answer; longer answers are cut
// Words before the value of an announcement, as in "the ordered pair (3, 5)".
constexpr std::size_t kMostSkipped = 8;
constexpr int kMostLeads = 12;            // consecutive phrases that lead into an answer
constexpr std::size_t kMostBracket = 40;  // tokens within brackets

const AnnouncementWords& words() {
  static const AnnouncementWords& all = announcement_words();
  return all;
}

/// The text of an answer, to which pieces are added.
class CandidateText {
 public:
  const std::string& text() const { return text_; }
  bool is_empty() const { return text_.empty(); }
  bool is_after_mark() const { return joined_; }  ///< whether the last text came from join()

  /// Adds the text of one token, after a space if it is `spaced`.
  void put(std::string_view token, bool spaced) {
    joined_ = false;
    if (!is_empty() && spaced && text_.back() != ' ') text_ += ' ';
    for (std::size_t i = 0; i < token.size(); ++i) {
      // U+FF01 to U+FF3F are wide forms of ASCII characters.
      const bool wide = token.substr(i, 2) == "\xEF\xBC" && i + 2 < token.size() &&
                        static_cast<unsigned char>(token[i + 2]) >= 0x81;
      text_ += wide ? char(static_cast<unsigned char>(token[i + 2]) - 0x60) : token[i];
      i += wide ? 2 : 0;
    }
  }
  /// Adds a mark before another piece, in place of spaces and commas at the end.
  void join(std::string_view mark) {
    while (text_.ends_with(' ') || text_.ends_with(',')) text_.pop_back();
    text_ += mark;
    joined_ = true;
  }
  void name_value() { text_ += " = "; }  ///< what was added is a name, and its value follows

  bool is_name() const {  ///< the text is the name of a value: x, AB, f(2)
    return !text_.empty() && text_.size() <= 8 &&
           text_.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_()0123456789 ") ==
               std::string::npos &&
           !(text_[0] >= '0' && text_[0] <= '9') && text_.find(' ') == std::string::npos;
  }
  bool is_choice() const {  ///< the text is the letter of an option: A, (B)
    return text_.size() <= 3 && text_.find_first_of("ABCDEFGHIJ") != std::string::npos;
  }
  bool is_short_form() const {  ///< the text ends in an abbreviation to which a stop belongs
    for (const std::string_view form : {"p.m", "a.m", "P.M", "A.M", "sq", "approx", "cu"})
      if (text_.ends_with(form)) return true;
    return false;
  }
  /// The text without white space at its ends and without commas and colons at its end.
  std::string trimmed() const {
    std::string_view text = trim(text_);
    while (!text.empty() && std::string_view(",;:").find(text.back()) != std::string_view::npos)
      text = trim(text.substr(0, text.size() - 1));
    return std::string(text);
  }

 private:
  std::string text_;
  bool joined_ = false;
};

/// The token after hedging words and articles, which may come before another piece.
std::size_t next_piece(const Tokens& t, std::size_t at) {
  int hedges = 0;
  for (std::size_t before = t.size() + 1; before != at && hedges < kMostLeads; ++hedges) {
    before = at;
    at = words().hedges.after(t, skip_marks(t, at));
    if (t.is(at, Kind::comma)) ++at;
  }
  return at;
}

/// Whether a value begins a new clause, as in "and 7 is its factor".
bool is_subject(const Tokens& t, std::size_t piece) {
  if (!t.is(piece, Kind::number) && !t.is(piece, Kind::formula)) return false;
  for (const std::string_view verb :
       {"is", "are", "was", "were", "has", "have", "divides", "will", "can"})
    if (t.word(piece + 1) == verb) return true;
  return false;
}

/// Whether the token is a single opening quotation mark, which ’ closes although it may also be a
/// prime.
bool opens_quotation(const Tokens& t, std::size_t at) {
  return t.spelt(at) == "\xE2\x80\x98" || t.spelt(at) == "\xE2\x80\x9A";
}

/// Whether "than" follows in the sentence, with a number after it.
bool compares_with_number(const Tokens& t, std::size_t at) {
  for (std::size_t i = at; i < std::min(sentence_end(t, at), at + kMostSkipped); ++i)
    if (t.word(i) == "than") return is_value(t, i + 1);
  return false;
}

/// Whether the word at token `at` turns the words before it into a rate: "a year", "each month".
bool is_rate(const Tokens& t, std::size_t at) {
  const std::string_view word = t.word(at), before = at > 0 ? t.word(at - 1) : std::string_view();
  if (before == "of" || before == "once" ||
      (at > 0 && (words().numbers.begins(t, at - 1) || words().operations.begins(t, at - 1))))
    return false;
  return (word == "a" || word == "an" || word == "each" || word == "every") &&
         words().periods.begins(t, at + 1);
}

/// The bracket that closes the one at token `open`, or the last token that is looked at.
std::size_t closing_bracket(const Tokens& t, std::size_t open) {
  std::size_t close = open + 1;
  for (int depth = 1; close < std::min(t.size(), open + kMostBracket); ++close) {
    depth += t.is(close, Kind::open) ? 1 : t.is(close, Kind::close) ? -1 : 0;
    if (depth == 0) break;
  }
  return close;
}

/// Goes through the tokens of one answer and collects its text.
class Taker {
 public:
  /// `listed`: the answer is an item of a list, and the following items belong to it.
  Taker(const Tokens& tokens, std::size_t at, std::size_t limit, bool listed)
      : t_(tokens), limit_(std::min(limit, at + kMostTokens)), listed_(listed) {
    found_.begin = at_ = at;
    while (at > 0 && t_.is(at - 1, Kind::mark)) --at;
    quoted_ = at > 0 && opens_quotation(t_, at - 1);
  }

  Candidate run() {
    found_.weight = is_value(t_, at_) ? Weight::value : Weight::text;
    while (at_ < std::min(limit_, t_.size()) && !ended_) step();
    found_.end = at_;
    // A stop at the end of the text may be a decimal point.
    found_.ended = at_ + 1 < t_.size() || t_.is(at_, Kind::line);
    found_.text = text_.trimmed();
    if (found_.text.empty()) found_.weight = Weight::none;
    return std::move(found_);
  }

 private:
  bool begun() const { return !text_.is_empty(); }
  void end() { ended_ = true; }
  void put(std::string_view text, bool spaced) {
    text_.put(text, spaced);
    ++at_;
  }
  void join(std::string_view mark, std::size_t next) {
    text_.join(mark);
    at_ = next;
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
      default:  // a bar between spaces separates the cells of a table
        spelt == "|" && begun() && token.spaced&& t_.is_spaced(at_ + 1) ? end()
                                                                        : put(spelt, token.spaced);
        break;
    }
  }

  void quote() {
    const bool closing = t_.spelt(at_) == "\xE2\x80\x99";
    if (closing && !t_.is_spaced(at_) && begun() && !quoted_) return put("'", false);  // a prime
    quoted_ = opens_quotation(t_, at_);
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
    // a decimal point without digits before it, as in .5
    if (spelt == "." && joined && t_.is(at_ + 1, Kind::number)) return put(spelt, t_[at_].spaced);
    // the dots after digits, as in 0.333...
    if (spelt == "." && joined && text_.text().find('.') != std::string::npos)
      return put(spelt, false);
    if (spelt == "." && begun() && at_ > 0 && t_.is(at_ - 1, Kind::stop) &&
        text_.text().ends_with(".."))
      return put(spelt, false);
    // a stop within an abbreviation, as in p.m.
    if (spelt == "." && !spaced && t_.is(at_ + 1, Kind::word) && at_ > 0 &&
        t_.is(at_ - 1, Kind::word))
      return put(spelt, false);
    if (spelt == "." && text_.is_short_form()) return put(spelt, false);
    if (spelt == "!" && begun() &&
        (t_.is(at_ + 1, Kind::equals) || t_.is(at_ + 1, Kind::sign) ||
         t_.is(at_ + 1, Kind::close) || t_.spelt(at_ + 1) == "."))
      return put(spelt, false);  // a factorial; several of these marks are emphasis
    begun() ? end() : void(++at_);
  }

  void comma() {
    const std::size_t next = skip_marks(t_, at_ + 1),
                      piece = t_.is(next, Kind::line) ? next + 1 : next;
    const std::string_view word = t_.word(piece);
    if (depth_ > 0 || !t_.is_spaced(at_ + 1)) {
      if (depth_ == 0 && !is_value(t_, piece)) return end();
      return depth_ > 0 ? put(t_.spelt(at_), false) : join(",", at_ + 1);
    }
    if (word == "and" || word == "or") return void(at_ = piece);  // word() decides
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
               choice = text_.is_choice();
    ratio || choice || depth_ > 0 ? put(t_.spelt(at_), t_[at_].spaced) : end();
  }

  void dash(std::string_view spelt) {
    // the em dash, the horizontal bar and the en dash
    const bool long_one =
        spelt == "\xE2\x80\x94" || spelt == "\xE2\x80\x95" || spelt == "\xE2\x80\x93";
    const bool spaced = t_.is_spaced(at_ + 1), parted = t_[at_].spaced && spaced;
    if (!begun() && parted && !is_value(t_, at_)) return void(++at_);
    if (t_.is(at_ + 1, Kind::dash)) return begun() ? end() : void(at_ += 2);
    const bool operand = is_value(t_, at_ + 1) &&
                         !(parted && t_.is(at_ + 1, Kind::word) && t_.word(at_ + 1).size() > 1);
    const bool range = long_one && !t_[at_].spaced && !spaced && operand;
    const bool choice = parted && !long_one && text_.is_choice();
    if (begun() && long_one && !range) return end();
    if (!begun() || operand || range || choice || (!t_[at_].spaced && !spaced))
      return put(spelt, t_[at_].spaced);
    end();
  }

  /// Whether the bracket here is a remark about the value before it, which ends the answer. "(3,
  /// 5)" and "f(x)" are not remarks.
  bool opens_remark() const {
    if (!begun() || !t_[at_].spaced || depth_ > 0 || text_.is_after_mark()) return false;
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
    // A bracket after a counted noun is a remark, as in "42 dollars (6 * 7)".
    return found_.weight == Weight::value && at_ > 0 && t_.is(at_ - 1, Kind::word) &&
           t_.word(at_ - 1).size() > 1;
  }
  void open() {
    if (!opens_remark()) return ++depth_, put(t_.spelt(at_), t_[at_].spaced);
    const std::size_t close = closing_bracket(t_, at_);
    const std::string_view word = t_.word(skip_marks(t_, close + 1));
    const bool goes_on = t_.is(close, Kind::close) &&
                         (word == "or" || word == "and" || t_.is(close + 1, Kind::comma));
    goes_on ? void(at_ = close + 1) : end();
  }

  void equals(std::string_view spelt) {
    if (!begun()) return void(++at_);
    if (spelt == "=") return put(spelt, t_[at_].spaced);
    // "x ≈ 42" gives the value of x, but the exact value counts in "1/3 ≈ 0.33".
    text_.is_name() ? put("=", true) : end();
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
      const std::size_t piece = next_piece(t_, at_ + 1);
      if (is_subject(t_, piece)) return end();
      if (is_value(t_, piece))
        return join(word == "or" || word == "oder" || word == "ou" ? " or " : " and ", piece);
      // "Paris or London" does not name one place
      return found_.weight == Weight::value ? end() : put(t_.spelt(at_), t_[at_].spaced);
    }
    const std::size_t equal = words().equals.after(t_, at_);
    if (const std::size_t value = words().leads.after(t_, equal);
        equal != at_ && text_.is_name() && is_value(t_, value)) {
      text_.name_value();
      at_ = value;
      return;
    }
    // Words that end a number as a remark may belong to an answer in words: "no solution for any
    // x". Of the remarks only reasons end an answer in words.
    const auto& ends = found_.weight == Weight::text ? words().reasons : words().remarks;
    // "does not exist" is an answer in words.
    const bool denial = found_.weight == Weight::text && word == "not";
    if (!denial && (words().second_thoughts.begins(t_, at_) || ends.begins(t_, at_))) return end();
    if (word == "equals" || word == "equal") return end();
    if (ends_count()) return end();
    if (is_rate(t_, at_)) return put("per", true);
    if (const std::size_t hyphen = word.find('-'); hyphen != std::string_view::npos &&
                                                   at_ == found_.begin + 1 &&
                                                   t_.is(at_ - 1, Kind::number)) {
      std::string noun(t_.spelt(at_));  // as in "22 push-ups"
      std::replace(noun.begin(), noun.end(), '-', ' ');
      return put(noun, true);
    }
    // A word in a script without spaces, such as です, does not belong to a number.
    if (static_cast<unsigned char>(word[0]) >= 0xE3 && found_.weight == Weight::value) return end();
    put(t_.spelt(at_), t_[at_].spaced);
  }

  /// Whether the token comes after the things that are counted or paid, and so does not belong to
  /// the answer: "in" in "328 pages in 240 minutes", "than" in "4 more scoops than Oli".
  bool ends_count() const {
    if (found_.weight != Weight::value || depth_ > 0) return false;
    const bool is_paid = text_.text().find_first_of("$%") != std::string::npos;
    const bool is_noun = t_.is(at_ - 1, Kind::word) && t_.word(at_ - 1).size() > 1 &&
                         at_ - 1 > found_.begin && !words().numbers.begins(t_, at_ - 1);
    const std::string_view word = t_.word(at_);
    if (words().comparatives.begins(t_, at_) && !words().operations.begins(t_, at_ - 1) &&
        (is_noun || t_.is(at_ - 1, Kind::number) || t_.is(at_ - 1, Kind::mark) ||
         t_.is(at_ - 1, Kind::formula)))
      return !compares_with_number(t_, at_);
    // The count in "6 teams of 5" ends before "of".
    if (word == "of" && is_noun && t_.word(at_ - 1) != "out" && t_.is(at_ + 1, Kind::number))
      return !words().operations.begins(t_, at_ - 1);
    if ((!is_noun && !is_paid) || (begun() && is_rate(t_, at_)) || !words().asides.begins(t_, at_))
      return false;
    return word != "to" || !is_value(t_, at_ + 1);
  }

  const Tokens& t_;
  std::size_t at_ = 0, limit_;
  Candidate found_;
  CandidateText text_;
  int depth_ = 0;       // number of brackets that are open
  bool ended_ = false;  // whether the token at at_ does not belong to the answer
  bool listed_;
  bool quoted_ = false;  // a quotation that ’ closes is open
};

}  // namespace

Candidate taken(const Tokens& tokens, std::size_t at, std::size_t limit) {
  const bool listed = at > 0 && tokens.is(at - 1, Kind::bullet);
  Candidate found = Taker(tokens, at, limit, listed).run();
  for (int more = 0; found.weight == Weight::value && more < 4; ++more) {
    const std::size_t next = second_thought(tokens, found.end, limit);
    if (next >= tokens.size()) break;
    const Candidate other = Taker(tokens, next, limit, false).run();
    if (other.weight != Weight::value || other.text == found.text) break;
    found.text += " or " + other.text, found.end = other.end, found.ended = other.ended;
  }
  if (const std::size_t next =
          found.weight == Weight::value ? rival(tokens, found.end, limit) : tokens.size();
      next < tokens.size()) {
    const Candidate other = Taker(tokens, next, limit, false).run();
    if (other.weight == Weight::value && other.text != found.text)
      found.text += " or " + other.text;
  }
  return found;
}

namespace {

/// Whether the words describe a use of the answer: "substituted into", "shown in".
bool is_done(const Tokens& t, std::size_t at) {
  if (t.word(at).size() < 4 || !t.word(at).ends_with("ed")) return false;
  for (const std::string_view next :
       {"by", "in", "into", "with", "from", "using", "to", "above", "below", "on", "at", "as",
        "out", "through", "via", "here", "for"})
    if (t.word(at + 1) == next) return true;
  return false;
}

/// Whether the number only describes the answer: "3 more than 39", "90% sure".
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
    const bool bracket = t.is(at, Kind::open);  // as in "(approximately) 42"
    const std::size_t after = words().leads.after(t, bracket ? at + 1 : at);
    if (!bracket) at = after;
    else if (after > at + 1 && t.is(after, Kind::close)) at = after + 1;
  }
  if (at >= limit || at >= t.size()) return {};
  if (words().about.begins(t, at) || is_done(t, at)) return {};
  if (is_value(t, at)) return says_how(t, at) ? Candidate{} : taken(t, at, limit);
  if (!t.is(at, Kind::word)) return {};
  const std::size_t denied = words().denials.after(t, at);
  if (denied != at && denied < t.size() && !t.is(denied, Kind::stop)) {  // as in "not 41 but 42"
    for (std::size_t i = denied; i < std::min(sentence_end(t, at), limit); ++i)
      if (t.word(i) == "but" || t.word(i) == "rather")
        return is_value(t, words().leads.after(t, i + 1))
                   ? taken(t, words().leads.after(t, i + 1), limit)
                   : Candidate{};
    return {};
  }
  // Words may come before the value, as in "the ordered pair (3, 5)".
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
