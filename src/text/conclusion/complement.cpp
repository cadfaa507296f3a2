// Looks for the words, for phrases that lead into them, and for phrases that may follow them.
#include "text/conclusion/complement.hpp"

#include "text/conclusion/announcement_words.hpp"
#include "text/conclusion/conclusion.hpp"

#include <algorithm>

namespace rollcall::text {
namespace {

constexpr std::size_t kMostSentences = 4;  // number of last sentences that are looked at
constexpr std::size_t kMostWords = 20;     // words in an answer; longer ones are not looked for

std::string_view low(const Tokens& t, std::size_t i) {
  return std::string_view(t.low).substr(t[i].begin, t[i].end - t[i].begin);
}

/// The token after `words`, which begin at token `at`; `at` if they do not begin there.
std::size_t after(const Tokens& t, std::size_t at, std::size_t end, const Tokens& words) {
  std::size_t next = at;
  for (std::size_t n = 0; n < words.size(); ++n, ++next) {
    while (n > 0 && t.is(next, Kind::mark)) ++next;
    if (next >= end || low(t, next) != low(words, n)) return at;
  }
  return next;
}

/// Whether a verb, an article or a preposition leads from the subject to token `at`, or the words
/// themselves begin with a verb ("does not exist").
bool is_led(const Tokens& t, std::size_t begin, std::size_t at, const Tokens& words) {
  for (const std::string_view verb : {"does", "do", "is", "are", "has", "can", "cannot", "diverges",
                                      "converges", "exists", "increases", "decreases"})
    if (words.word(0) == verb) return at > begin && t.is(at - 1, Kind::word);
  const auto skip = [&] {
    while (at > begin && (t.is(at - 1, Kind::mark) || t.is(at - 1, Kind::quote))) --at;
  };
  skip();
  if (at > begin && (t.word(at - 1) == "a" || t.word(at - 1) == "an" || t.word(at - 1) == "the"))
    --at, skip();
  if (at == begin) return false;
  if (t.is(at - 1, Kind::colon)) return true;
  return announcement_words().complements.after(t, at - 1) == at;
}

/// The beginning of the clause that ends at token `at`: at "but", or after "however", a semicolon,
/// a colon, or ", so".
std::size_t clause_begin(const Tokens& t, std::size_t begin, std::size_t at) {
  for (std::size_t i = at; i-- > begin;) {
    const bool turns = t.word(i) == "but" || t.word(i) == "however" || t.is(i, Kind::semicolon) ||
                       (t.is(i, Kind::colon) && i + 1 < at);
    if (turns ||
        (i > begin && t.is(i - 1, Kind::comma) && announcement_words().connectives.begins(t, i)))
      return i + (t.word(i) == "but" ? 0 : 1);
  }
  return begin;
}

bool holds(const Tokens& t, std::size_t at, std::size_t end, const Phrases& phrases) {
  for (; at < end; ++at)
    if (phrases.begins(t, at)) return true;
  return false;
}

/// Whether the sentence may end at token `at`, because only a remark follows that offers no other
/// answer.
bool may_end(const Tokens& t, std::size_t at, std::size_t end) {
  const auto& words = announcement_words();
  while (at < end && (t.is(at, Kind::mark) || t.is(at, Kind::quote) || t.is(at, Kind::ornament) ||
                      t.is(at, Kind::close)))
    ++at;
  if (at >= end) return true;
  if (holds(t, at, end, words.second_thoughts) || holds(t, at, end, words.rivalry) ||
      holds(t, at, end, words.rivals))
    return false;
  const bool is_parted = t.is(at, Kind::comma) || t.is(at, Kind::dash) || t.is(at, Kind::open) ||
                         t.is(at, Kind::semicolon);
  return words.reasons.begins(t, is_parted ? at + 1 : at) || t.is(at, Kind::open) ||
         t.is(at, Kind::semicolon);
}

bool closes(const Tokens& t, const Sentence& s, const Tokens& words) {
  for (std::size_t at = s.end; at-- > s.begin + 1;) {
    const std::size_t end = after(t, at, s.end, words);
    if (end == at || !may_end(t, end, s.end)) continue;
    const std::size_t begin = clause_begin(t, s.begin, at);
    const auto& known = announcement_words();
    return is_led(t, begin, at, words) && !holds(t, begin, at, known.denials) &&
           !holds(t, begin, at, known.hedged);
  }
  return false;
}

}  // namespace

std::optional<std::size_t> closing_sentence(std::string_view said, std::string_view words) {
  const Tokens t(said), wanted(words);
  if (wanted.size() == 0 || wanted.size() > kMostWords) return std::nullopt;
  auto sentences = last_sentences(t, 0, kMostSentences);
  std::erase_if(sentences, [&](const Sentence& s) {
    return announcement_words().premises.begins(t, s.begin);
  });
  for (std::size_t n = 0; n < sentences.size(); ++n)
    if (t.spelt(sentences[n].end) != "?" && closes(t, sentences[n], wanted)) return n;
  return std::nullopt;
}

}  // namespace rollcall::text
