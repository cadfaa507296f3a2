// Looks from the end backwards for the last announcement of a value, or else of words, and then for
// words that take it back.
#include "text/conclusion/announcement.hpp"

#include "text/conclusion/candidate.hpp"
#include "text/conclusion/conclusion.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

constexpr std::size_t kMostFiller = 14;     // tokens between "the answer" and "is"
constexpr std::size_t kMostBefore = 8;      // words before "answer" that may name its owner
constexpr std::size_t kMostSubject = 6;     // words in which the speaker is looked for
constexpr int kMostLeads = 12;              // consecutive phrases that lead into a value
constexpr std::size_t kMostName = 4;        // words of an answer that is a name
constexpr std::size_t kMostNouns = 1000;    // mentions of an answer that are looked at
constexpr std::size_t kMostPieces = 20;     // announcements that together are one answer
constexpr std::size_t kMostSentences = 12;  // sentences in which a conclusion is looked for

const AnnouncementWords& words() {
  static const AnnouncementWords& all = announcement_words();
  return all;
}

bool ends_with(std::string_view word, std::string_view tail) {
  return word.size() > tail.size() && word.ends_with(tail);
}

class Announcements {
 public:
  explicit Announcements(const Tokens& tokens) : t_(tokens) {
    for (std::size_t i = 0; i + 1 < t_.size() && !asks_; ++i)
      asks_ = t_.is(i + 1, Kind::colon) && (t_.word(i) == "q" || t_.word(i) == "question") &&
              begins_line(i);
  }

  std::optional<Candidate> last() const {
    std::optional<Candidate> said, result, remote;
    std::size_t seen = 0;
    for (std::size_t at = t_.size(); at-- > 0 && seen < kMostNouns;) {
      const bool answers = words().answers.begins(t_, at),
                 results = words().results.begins(t_, at) || words().options.begins(t_, at);
      if (!answers && !results && !t_.is(at, Kind::hashes) && !names_answer(at)) continue;
      Candidate found = at_noun(at);
      ++seen;
      if (found.weight == Weight::none) continue;
      const bool is_value = found.weight == Weight::value, is_certain = !results && !is_remote(at);
      if (is_value && is_certain) return with_alternatives(std::move(found), at);
      auto& kept = !is_value ? said : results ? result : remote;
      if (!kept) kept = std::move(found);
    }
    return remote ? remote : result ? result : said;
  }

 private:
  /// Whether a word means "answer is": "answer's", "A" before a colon, or a word in a script
  /// without spaces.
  bool names_answer(std::size_t at) const {
    const std::string_view word = t_.word(at);
    // "A:" begins an answer in a text with "Q: ...".
    if (word == "a" && asks_ && t_.is(at + 1, Kind::colon) && begins_line(at)) return true;
    return word == "answer's" || word == "answer’s" ||
           (!word.empty() && static_cast<unsigned char>(word[0]) >= 0xE3 &&
            words().whole.begins(t_, at));
  }

  Candidate at_noun(std::size_t at) const {
    if (t_.is(at, Kind::hashes)) return hashes(at);
    if (names_answer(at)) return supposed(at) ? Candidate{} : value_or_line(at + 1);
    if (words().options.begins(t_, at) && is_value(t_, at + 1)) return option(at + 1);
    std::size_t after = std::max({words().answers.after(t_, at), words().results.after(t_, at),
                                  words().options.after(t_, at)});
    // "answer(s)" is one noun.
    if (t_.is(after, Kind::open) && t_.word(after + 1) == "s" && t_.is(after + 2, Kind::close))
      after += 3;
    while (t_.is(after, Kind::mark) || t_.is(after, Kind::ornament)) ++after;
    if (Candidate inverted = before(at, after); inverted.weight != Weight::none) return inverted;
    if (supposed(at)) return {};
    return forward(at, after);
  }

  /// The answer "B" of "Option B", if nothing follows it or it is said to be right.
  Candidate option(std::size_t at) const {
    Candidate found = taken(t_, at, t_.size());
    const std::size_t begin = sentence_begin(t_, at), end = sentence_end(t_, at),
                      next = skip_marks(t_, found.end);
    for (std::size_t i = begin; i < std::min(end, begin + kMostSentence); ++i)
      if (words().denials.begins(t_, i)) return {};
    const bool closes = next >= t_.size() || t_.is(next, Kind::line) || t_.is(next, Kind::stop);
    return closes || words().approvals.begins(t_, next) ? found : Candidate{};
  }
  /// The number in an announcement such as "Answer 2:"; 0 if it has no number.
  int label(std::size_t after) const {
    return t_.is(after, Kind::number) && t_.spelt(after).size() == 1 &&
                   t_.is(after + 1, Kind::colon)
               ? t_.spelt(after)[0] - '0'
               : 0;
  }
  /// The mark that joins an announcement to the previous one; empty if the announcement is an
  /// answer by itself.
  std::string_view join(std::size_t at) const {
    if (label(words().answers.after(t_, at)) > 1) return ", ";
    std::size_t first = at;
    while (first > 0 && at - first < kMostBefore &&
           (t_.is(first - 1, Kind::mark) || t_.is(first - 1, Kind::comma) ||
            (t_.is(first - 1, Kind::word) && words().modifiers.begins(t_, first - 1))))
      --first;
    const std::string_view word = first > 0 ? t_.word(first - 1) : std::string_view();
    for (const std::string_view other :
         {"or", "alternatively", "maybe", "perhaps", "possibly", "otherwise"})
      if (word == other) return " or ";
    // "If she eats 3, the answer is 18. If she eats 2, ..."
    const std::size_t begin = sentence_begin(t_, at);
    if (begin > 1 && t_.word(begin) == "if" && t_.word(sentence_begin(t_, begin - 1)) == "if")
      return " or ";
    return {};
  }
  /// The answer together with those announced before it, if it is only an alternative to them.
  Candidate with_alternatives(Candidate found, std::size_t at) const {
    for (std::size_t pieces = 1; pieces < kMostPieces; ++pieces) {
      const std::string_view mark = join(at);
      if (mark.empty()) break;
      Candidate before;
      const std::size_t least = at > kMostSentence ? at - kMostSentence : 0;
      while (at-- > least && before.weight != Weight::value)
        if (words().answers.begins(t_, at)) before = at_noun(at);
      ++at;
      if (before.weight != Weight::value) break;
      found.text = before.text.ends_with(found.text) ? before.text
                                                     : before.text + std::string(mark) + found.text;
    }
    return found;
  }

  Candidate hashes(std::size_t at) const {
    const std::size_t next = skip_marks(t_, at + 1);
    return is_value(t_, next) ? taken(t_, next, t_.size()) : announced_line(next);
  }
  /// The answer in words after ####. A heading is not an answer.
  Candidate announced_line(std::size_t at) const {
    if (!t_.is(at, Kind::word) || words().answers.begins(t_, at) ||
        words().modifiers.begins(t_, at) || sentence_end(t_, at) > at + kMostBefore)
      return {};
    return taken(t_, at, t_.size());
  }

  bool begins_line(std::size_t at) const {
    for (std::size_t words_left = 4; at > 0; --at) {
      if (t_.is(at - 1, Kind::line)) return true;
      const bool plain =
          t_.is(at - 1, Kind::word) && words().modifiers.begins(t_, at - 1) && words_left-- > 0;
      if (!plain && !t_.is(at - 1, Kind::mark) && !t_.is(at - 1, Kind::bullet) &&
          !t_.is(at - 1, Kind::ornament) && !t_.is(at - 1, Kind::hashes) &&
          !t_.is(at - 1, Kind::quote))
        return false;
    }
    return true;
  }

  /// Whether the announcement may be about a different case or question: "the answer would be 48",
  /// "the answer was 17". It does not count if there is a plain announcement before it.
  bool is_remote(std::size_t at) const {
    const std::size_t after = skip_marks(t_, words().answers.after(t_, at));
    const std::size_t end = std::min(sentence_end(t_, after), after + kMostBefore);
    for (std::size_t i = after;
         i < end && !t_.is(i, Kind::number) && !t_.is(i, Kind::formula) && t_.word(i) != "is"; ++i)
      if (words().remote.begins(t_, i)) return true;
    return false;
  }

  /// Whether somebody other than the writer gives the answer: "might answer 32", "would say the
  /// answer is 32", but not "I would say the answer is 42".
  bool is_others(std::size_t at, bool is_verb) const {
    const Phrases& sayings = is_verb ? words().modals : words().sayings;
    if (at == 0 || !sayings.begins(t_, at - 1)) return false;
    for (std::size_t i = at - 1, least = at > kMostSubject ? at - kMostSubject : 0;
         i-- > least && !t_.is(i, Kind::stop) && !t_.is(i, Kind::line);)
      if (words().own.begins(t_, i)) return false;
    return true;
  }

  /// Whether the words before "answer" say that the answer is only supposed, asked for, wrong, or
  /// somebody else's.
  bool supposed(std::size_t at) const {
    const std::size_t least = at > kMostBefore ? at - kMostBefore : 0;
    if (is_others(at, true)) return true;
    while (at > least && (t_.is(at - 1, Kind::mark) ||
                          (t_.is(at - 1, Kind::word) && words().modifiers.begins(t_, at - 1)) ||
                          t_.word(at - 1) == "that"))
      --at;
    if (is_others(at, false)) return true;
    if (at > 0)
      // "Confidence in the answer is 90%" does not announce it.
      for (const std::string_view other : {"in", "of", "about", "behind"})
        if (t_.word(at - 1) == other && at > 1 && t_.is(at - 2, Kind::word)) return true;
    for (std::size_t i = at; i > least && i + 3 > at; --i)
      if (t_.is(i - 1, Kind::word) && words().supposed.begins(t_, i - 1) &&
          words().supposed.after(t_, i - 1) >= at)
        return true;
    return false;
  }

  /// The token after "is" or a similar word or sign at token `at`; `at` if there is none.
  std::size_t after_copula(std::size_t at) const {
    while (t_.is(at, Kind::mark) || t_.is(at, Kind::quote)) ++at;
    if (t_.is(at, Kind::colon) || t_.is(at, Kind::equals) || t_.is(at, Kind::arrow) ||
        t_.spelt(at) == "|")
      return at + 1;
    if (t_.is(at, Kind::dash) && (t_.is_spaced(at + 1) || t_.spelt(at).size() > 1)) return at + 1;
    return words().copulas.after(t_, at);
  }

  Candidate forward(std::size_t at, std::size_t after) const {
    if (label(after) > 0) return value_or_line(after + 2);
    if (const std::size_t next = after_copula(after); next != after && !t_.is(next - 1, Kind::mark))
      return value_or_line(next);
    if (words().denials.begins(t_, after)) return announced_at(t_, after, t_.size());
    if (t_.is(after, Kind::stop) && t_.spelt(after) == "?")
      return is_value(t_, after + 1) ? taken(t_, after + 1, t_.size()) : Candidate{};
    if (begins_line(at) && t_.is(after, Kind::line)) return value_or_line(after);  // a heading
    if (const std::size_t value = t_.word(after) == "of" ? after + 1 : after;
        is_value(t_, value) && !t_.is(value, Kind::word) && !t_.is(value, Kind::open)) {
      Candidate direct = taken(t_, value, t_.size());  // as in "giving the answer 42"
      // "Is the answer 42?" is a question.
      if (t_.is(direct.end, Kind::stop) && t_.spelt(direct.end) == "?") return {};
      if (direct.end >= t_.size() || t_.is(direct.end, Kind::line) || t_.is(direct.end, Kind::stop))
        return direct;
    }
    // An announcement such as "Ans 42".
    if (begins_line(at) && is_value(t_, after) && !t_.is(after, Kind::open))
      return taken(t_, after, t_.size());
    if (!words().fillers.begins(t_, after) && !t_.is(after, Kind::open) &&
        !t_.is(after, Kind::comma) && !t_.is(after, Kind::number) && !t_.is(after, Kind::formula))
      return {};
    const std::size_t end = std::min({sentence_end(t_, after), after + kMostFiller, t_.size()});
    for (std::size_t i = after + 1; i < end; ++i) {
      if (words().denials.begins(t_, i)) return announced_at(t_, i, t_.size());
      const std::size_t next = after_copula(i);
      if (next == i || t_.word(i) == "to") continue;
      Candidate found = announced_at(t_, next, t_.size());
      if (found.weight == Weight::value) return found;
    }
    return {};
  }

  /// The answer after a colon, a heading or "is", or the conclusion of the sentences there.
  Candidate value_or_line(std::size_t at) const {
    Candidate found = announced_at(t_, at, t_.size());
    if (found.weight != Weight::text) return found;
    const std::size_t end = std::min(sentence_end(t_, found.begin), found.begin + kMostSentence);
    Candidate inner = concluded(t_, found.begin, end);
    if (inner.weight == Weight::value) return inner;
    const bool is_prose = end > found.begin + kMostName || words().premises.begins(t_, found.begin);
    if (t_.is(at - 1, Kind::colon) && is_prose) inner = line_conclusion(found.begin);
    if (inner.weight == Weight::value) return inner;
    if (end > found.begin + kMostSentence / 8) return {};  // a paragraph is not an answer
    return found;
  }
  /// The value that the last sentence with a value concludes, from token `at` to the end of the
  /// line.
  Candidate line_conclusion(std::size_t at) const {
    std::vector<std::size_t> sentence_begins;
    for (std::size_t i = at;
         i < t_.size() && !t_.is(i, Kind::line) && sentence_begins.size() < kMostSentences;
         i = sentence_end(t_, i) + 1)
      sentence_begins.push_back(i);
    for (std::size_t i = sentence_begins.size(); i-- > 0;)
      if (Candidate found = concluded(t_, sentence_begins[i], sentence_end(t_, sentence_begins[i]));
          found.weight == Weight::value)
        return found;
    return {};
  }

  /// The answer before its announcement: "42 is the answer", "6 * 7 = 42, which is our answer".
  Candidate before(std::size_t at, std::size_t after) const {
    const std::string_view next = t_.word(after);
    const bool closes = after >= t_.size() || t_.is(after, Kind::stop) ||
                        t_.is(after, Kind::line) || t_.is(after, Kind::comma) ||
                        t_.is(after, Kind::ornament) || next == "to" || next == "for" ||
                        next == "of" || next == "because" || next == "since" || next == "as" ||
                        next == "here" || next == "and" || next == "we" || next == "that";
    if (!closes) return {};
    const std::size_t least = at > kMostBefore ? at - kMostBefore : 0;
    std::size_t verb = at;
    for (; verb > least; --verb) {
      const std::string_view word = t_.word(verb - 1);
      if (word == "is" || word == "are" || word == "as" || word == "be" || ends_with(word, "'s"))
        break;
      const bool modifies = t_.is(verb - 1, Kind::mark) || words().modifiers.begins(t_, verb - 1) ||
                            word == "therefore" || word == "indeed" || word == "thus" ||
                            word == "hence" || word == "clearly";
      if (!modifies) return {};
    }
    if (verb <= least) return {};
    --verb;
    std::size_t begin = sentence_begin(t_, verb);
    std::size_t end = verb;
    for (std::size_t i = verb; i > begin; --i)
      if (t_.word(i - 1) == "which" || t_.word(i - 1) == "this" || t_.word(i - 1) == "that" ||
          t_.word(i - 1) == "it" || ends_with(t_.word(verb), "'s")) {
        end = i - 1;
        break;
      }
    if (end == begin && begin > 0) {  // "This is the answer." refers to the sentence before
      end = begin - 1;
      begin = sentence_begin(t_, end);
      while (end == begin && begin > 0) end = begin - 1, begin = sentence_begin(t_, end);
    }
    return concluded(t_, begin, end);
  }

  const Tokens& t_;
  bool asks_ = false;  // the text has questions of the form "Q: ...", to which "A: ..." belongs
};

bool holds(const Tokens& t, const Sentence& s, const Phrases& phrases) {
  for (std::size_t i = s.begin; i < s.end; ++i)
    if (phrases.begins(t, i)) return true;
  return false;
}

bool holds_value(const Tokens& t, const Sentence& s) {
  for (std::size_t i = s.begin; i < s.end; ++i)
    if (t.is(i, Kind::number) || t.is(i, Kind::formula) || t.is(i, Kind::command)) return true;
  return false;
}

/// The rest of an announcement's sentence if it takes the answer back: "42 - sorry, 43", "42... no,
/// 43".
std::optional<Sentence> corrected_at_once(const Tokens& t, const Candidate& first) {
  const std::size_t end = std::min(sentence_end(t, first.end), t.size());
  for (std::size_t i = first.end; i < std::min(end, first.end + kMostFiller); ++i) {
    const bool is_break = t.is(i, Kind::dash) || t.is(i, Kind::comma) || t.is(i, Kind::semicolon) ||
                          t.is(i, Kind::open) || t.is(i, Kind::stop);
    const std::size_t next = skip_marks(t, i + 1), after = words().corrections.after(t, next);
    const bool is_parted = t.is(after, Kind::comma) || t.is(after, Kind::colon) ||
                           words().corrections.begins(t, after);
    if (is_break && after != next && (is_parted || (t.word(next) != "no" && is_value(t, after))))
      return Sentence{next, end};
  }
  return std::nullopt;
}

/// The answer after corrections in later sentences: another answer, an empty one if `first` was
/// only taken back, or `first` if nothing took it back.
Candidate corrected(const Tokens& t, const Candidate& first) {
  auto later = last_sentences(t, std::min(sentence_end(t, first.end), t.size()), kMostSentences);
  if (const auto same = corrected_at_once(t, first)) later.push_back(*same);
  const auto begins_correction = [&](const Sentence& s) {
    return words().corrections.begins(t, skip_marks(t, s.begin));
  };
  const auto from = std::find_if(later.rbegin(), later.rend(), begins_correction);
  if (from == later.rend()) return first;
  bool retracted = false;
  Candidate other;
  for (auto s = from; s != later.rend(); ++s) {
    retracted = retracted || holds(t, *s, words().retractions);
    std::size_t at = skip_marks(t, s->begin);
    const std::size_t after = words().corrections.after(t, at);
    const bool is_correction = after != at;
    int again = 0;
    for (std::size_t before = t.size() + 1; before != at && again < kMostLeads; ++again)
      before = at,
      at = words().corrections.after(t, skip_marks(t, t.is(at, Kind::comma) ? at + 1 : at));
    const bool concludes = is_correction || words().concluding.begins(t, at) ||
                           t.word(at) == "it" || t.word(at) == "it's" || retracted;
    Candidate found = concludes ? concluded(t, at, s->end) : Candidate{};
    if (found.weight == Weight::value &&
        !(is_correction && t.is(at, Kind::word) && !retracted && t.word(at) == "let"))
      other = std::move(found);
  }
  if (other.weight == Weight::value) return other;
  return retracted ? Candidate{} : first;
}

/// The value after "but" in a sentence such as "You might think that the answer is 54, but it is
/// actually 56."
Candidate turned(const Tokens& t, const Sentence& s) {
  for (std::size_t i = s.end; i-- > s.begin;)
    if (i > s.begin && (t.is(i - 1, Kind::comma) || t.is(i - 1, Kind::semicolon)) &&
        (t.word(i) == "but" || t.word(i) == "however" || t.word(i) == "yet")) {
      Candidate found = concluded(t, i + 1, s.end);
      return found.weight == Weight::value ? found : Candidate{};
    }
  return {};
}

std::optional<Announced> said(Candidate found) {
  if (found.weight == Weight::none || found.text.empty()) return std::nullopt;
  return Announced{std::move(found.text), found.ended};
}

}  // namespace

std::optional<Announced> last_announcement(const Tokens& tokens) {
  auto found = Announcements(tokens).last();
  return found ? said(corrected(tokens, *found)) : std::nullopt;
}

std::optional<Announced> last_conclusion(const Tokens& tokens) {
  for (const Sentence& s : last_sentences(tokens, 0, kMostSentences)) {
    const bool doubted = holds(tokens, s, words().supposed) || holds(tokens, s, words().denials);
    // "I doubt that the answer is 42." does not conclude.
    if (doubted && holds(tokens, s, words().answers)) return said(turned(tokens, s));
    Candidate found = concluded(tokens, s.begin, s.end);
    if (found.weight == Weight::value) return said(std::move(found));
    if (holds(tokens, s, words().doubts) ||
        (holds_value(tokens, s) && !words().premises.begins(tokens, s.begin)))
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Announced> bare_answer(const Tokens& tokens) {
  std::size_t at = 0;
  while (tokens.is(at, Kind::line) || tokens.is(at, Kind::bullet) || tokens.is(at, Kind::equals) ||
         tokens.is(at, Kind::colon) || skip_marks(tokens, at) != at)
    at = std::max(at + 1, skip_marks(tokens, at));
  // A phrase may lead into the value, as in "approximately 42".
  if (const std::size_t value = words().leads.after(tokens, at); is_value(tokens, value))
    at = value;
  if (at >= tokens.size() || (!is_value(tokens, at) && !tokens.is(at, Kind::word)))
    return std::nullopt;
  Candidate found = taken(tokens, at, tokens.size());
  // A longer text is prose.
  if (found.weight == Weight::text && sentence_end(tokens, found.end) > found.end + 1)
    return std::nullopt;
  return said(found.weight == Weight::value ? corrected(tokens, found) : std::move(found));
}

}  // namespace rollcall::text
