// Decides from the words around a word whether it is a verdict.
#include "reward/verdict_words.hpp"

#include "text/answer/answer_text.hpp"
#include "text/answer/answer_tokens.hpp"
#include "text/answer/plain_latex.hpp"
#include "text/conclusion/announcement_words.hpp"

#include <algorithm>

namespace rollcall::reward {
namespace {

using text::Kind;
using text::Phrases;
using text::Tokens;

constexpr std::size_t kClause = 7;  // words before a verdict that may reverse it

struct Words {
  Phrases denials{"not",         "never",        "cannot",   "hardly",       "neither",
                  "nor",         "without",      "far from", "nowhere near", "no longer",
                  "fails to be", "anything but", "barely",   "scarcely",     "by no means"};
  Phrases no_denials{"not only", "not just", "not merely", "not simply", "not to mention"};
  Phrases qualified{"partly", "partially", "almost",  "nearly",  "mostly",       "somewhat",
                    "half",   "close to",  "largely", "roughly", "approximately"};
  Phrases supposed{"if",        "whether", "would be", "could be", "might be", "may be",  "to be",
                   "should be", "must be", "were",     "unless",   "suppose",  "assuming"};
  Phrases reported{"claims",       "claim",     "says",    "pretends", "asks",   "say",
                   "reply",        "write",     "writes",  "wrote",    "output", "answer with",
                   "respond with", "instructs", "demands", "wants me"};
  Phrases names{"answer", "answers",   "value",  "result", "solution", "response",
                "option", "choice",    "number", "one",    "index",    "approach",
                "method", "reasoning", "steps",  "form",   "format",   "final"};
  Phrases verbs{"is",  "are", "was", "would", "should", "must",
                "has", "to",  "for", "of",    "and",    "but"};
  Phrases of_no{"error",       "errors",        "mistake",      "mistakes",   "problem",
                "problems",    "issue",         "issues",       "difference", "differences",
                "doubt",       "reason",        "way",          "answer",     "reference",
                "one",         "longer",        "matter",       "need",       "contradiction",
                "discrepancy", "discrepancies", "disagreement", "final",      "further",
                "explanation", "other",         "step",         "steps",      "flaw",
                "flaws"};
};
const Words& words() {
  static const Words all;
  return all;
}

bool is_denial(const Tokens& t, std::size_t i) {
  const std::string_view word = t.word(i);
  return (words().denials.begins(t, i) && !words().no_denials.begins(t, i)) ||
         word.ends_with("n't") || word.ends_with("n’t");
}

std::size_t behind_marks(const Tokens& t, std::size_t i) {
  while (t.is(i, Kind::mark)) ++i;
  return i;
}

class Reader {
 public:
  Reader(std::string_view said, bool finished, std::string_view good, std::string_view bad)
      : t_(said), finished_(finished), good_(good), bad_(bad) {}

  std::optional<double> first() const {
    for (std::size_t i = 0; i < t_.size(); ++i) {
      const std::string_view word = t_.word(i);
      if (word != good_ && word != bad_) continue;
      const std::size_t next = behind_marks(t_, i + 1);
      if (!is_known(i) || !is_known(next) || (t_.is(next, Kind::word) && !is_known(next + 1)))
        return std::nullopt;
      if (const std::size_t echo = behind_echo(i, next); echo > i) {
        if (echo >= t_.size() && !finished_) return std::nullopt;
        i = echo - 1;
        continue;
      }
      if (names_something(i, next) || (t_.is(next, Kind::stop) && t_.spelt(next) == "?")) continue;
      bool turned = false, supposed = false, reported = false;
      look_back(i, turned, supposed, reported);
      if (!supposed && (!reported || turned)) return (word == good_) != turned ? 1.0 : 0.0;
    }
    return std::nullopt;
  }

 private:
  /// Whether the word at `i` can no longer change: a word at the very end of the text so far may
  /// continue.
  bool is_known(std::size_t i) const {
    return finished_ || i + 1 < t_.size() ||
           (i < t_.size() && !t_.is(i, Kind::word) && !t_.is(i, Kind::number));
  }

  /// The position after an echo, "yes or no" or "yes/no"; `i` if there is none.
  std::size_t behind_echo(std::size_t i, std::size_t next) const {
    const std::string_view word = t_.word(next);
    std::size_t other = next;
    if (t_.is(other, Kind::comma)) other = behind_marks(t_, other + 1);
    if (word != "or" && word != "and" && word != "nor" && t_.spelt(next) != "/" &&
        t_.spelt(next) != "|" && t_.word(other) != "or")
      return i;
    other = behind_marks(t_, other + 1);
    if (other >= t_.size() && !finished_) return t_.size();
    return t_.word(other) != t_.word(i) && (t_.word(other) == good_ || t_.word(other) == bad_)
               ? other + 1
               : i;
  }

  bool names_something(std::size_t i, std::size_t next) const {
    if (t_.word(i) == "no") return words().of_no.begins(t_, next);
    if (t_.word(i) == "yes" || !words().names.begins(t_, next)) return false;
    const std::size_t verb = behind_marks(t_, next + 1);
    return t_.is(verb, Kind::colon) || t_.is(verb, Kind::equals) || t_.is(verb, Kind::open) ||
           t_.is(verb, Kind::word);
  }

  void look_back(std::size_t at, bool& turned, bool& supposed, bool& reported) const {
    for (std::size_t i = at, seen = 0; i-- > 0 && seen < kClause;) {
      if (t_.is(i, Kind::mark) || t_.is(i, Kind::quote)) continue;
      if (!t_.is(i, Kind::word)) return;  // another clause
      ++seen;
      if (t_.word(i) == "but" || t_.word(i) == "so" || t_.word(i) == "therefore" ||
          t_.word(i) == "because")
        return;
      supposed = supposed || words().supposed.begins(t_, i);
      reported = reported || words().reported.begins(t_, i);
      if (is_denial(t_, i)) turned = !turned;
      if (seen <= 2 && words().qualified.begins(t_, i) && t_.word(at) == good_) turned = true;
    }
  }

  Tokens t_;
  bool finished_;
  std::string_view good_, bad_;
};

}  // namespace

std::string unquoted(std::string_view said, bool finished) {
  const Tokens t(said);
  std::size_t first = 0, last = t.size();
  const auto is_quote = [&](std::size_t i) {
    return t.is(i, Kind::quote) || (t.is(i, Kind::mark) && t.spelt(i).starts_with('`'));
  };
  while (first < last && (t.is(first, Kind::line) || (t.is(first, Kind::mark) && !is_quote(first))))
    ++first;
  while (last > first && (t.is(last - 1, Kind::line) || t.is(last - 1, Kind::stop) ||
                          (t.is(last - 1, Kind::mark) && !is_quote(last - 1))))
    --last;
  const auto quotes = std::count_if(t.all.begin(), t.all.end(), [&](const text::Token& token) {
    return is_quote(std::size_t(&token - t.all.data()));
  });
  // all of the text is in quotation marks
  if (quotes == 0 || (quotes == 2 && last > first + 1 && is_quote(first) && is_quote(last - 1)))
    return std::string(said);
  std::string kept;
  std::size_t from = 0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (!is_quote(i)) continue;
    std::size_t close = i + 1;
    while (close < t.size() && !is_quote(close) &&
           !(t.is(close, Kind::line) && !t.spelt(i).starts_with("```")))
      ++close;
    // The quotation is not closed yet, so its text is left out.
    if (close >= t.size() && !finished)
      return kept + std::string(said.substr(from, t[i].begin - from));
    if (!is_quote(close)) continue;
    kept += std::string(said.substr(from, t[i].begin - from)) + " _ ";
    from = t[close].end, i = close;
  }
  return kept + std::string(said.substr(from));
}

std::optional<double> first_verdict_word(std::string_view said, bool finished,
                                         std::string_view good, std::string_view bad) {
  const std::string plain = text::plain_latex(unquoted(said, finished));
  return Reader(plain, finished, good, bad).first();
}

}  // namespace rollcall::reward
