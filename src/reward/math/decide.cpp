// Reads both texts in each way they can be read, and compares.
#include "reward/math/decide.hpp"

#include "reward/math/comparison.hpp"
#include "text/answer_text.hpp"

#include <array>

namespace rollcall::reward::math {
namespace {

/// Without white space, dollars and a closing period; what is left equal is equal.
std::string bare(std::string_view text) {
  std::string kept;
  for (const char c : text)
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '$') kept += c;
  while (kept.ends_with('.')) kept.pop_back();
  return kept;
}

struct Texts {
  std::string_view reference, answer;
};

/// One reading of both. `may_differ`: some spelling has another one.
Verdict compare_reading(const Texts& texts, const Reading& reading, std::array<bool, 2>& may_differ, std::int64_t& work) {
  const auto parsed = [&](std::string_view text) {
    Parsed one = parse_answer(text, reading);
    may_differ[0] |= one.has_thousands, may_differ[1] |= one.has_plain_logarithm;
    return std::move(one.root);
  };
  const Node reference = [&] {
    try {
      return parsed(texts.reference);
    } catch (const NoVerdict& e) {
      throw NoVerdict(e.cause == NoVerdict::Cause::unreadable ? NoVerdict::Cause::unsupported : e.cause, std::string("the reference: ") + e.what());
    }
  }();
  const Node answer = parsed(texts.answer);
  Comparison comparison;
  try {
    Verdict verdict = comparison.compare(reference, answer);
    work += comparison.work();
    return verdict;
  } catch (const NoVerdict&) {
    work += comparison.work();
    throw;
  }
}

/// What an answer without a verdict counts as.
Verdict without_verdict(const NoVerdict& e) {
  const bool is_wrong = e.cause == NoVerdict::Cause::unreadable;
  return {is_wrong ? Answer::different : Answer::undecided, e.what()};
}

}  // namespace

Decision decide(std::string_view reference, std::string_view answer) {
  Decision decision;
  if (bare(answer).empty() && !bare(reference).empty()) return {{Answer::different, "an empty answer"}, 0};
  if (bare(reference) == bare(answer)) return {{Answer::equal, "the same text"}, 0};
  if (reference.size() > kLongestAnswer || answer.size() > kLongestAnswer) return {{Answer::undecided, "an answer longer than is read"}, 0};
  std::optional<Verdict> first;
  std::array<bool, 2> may_differ{};
  for (const Reading& reading : {Reading{true, false}, Reading{true, true}, Reading{false, false}}) {
    if (first && !(reading.decimal_logarithm ? may_differ[1] : may_differ[0])) continue;
    Verdict verdict;
    try {
      verdict = compare_reading({reference, answer}, reading, may_differ, decision.work);
    } catch (const NoVerdict& e) {
      verdict = without_verdict(e);
    }
    if (verdict.answer == Answer::equal) first = verdict;
    if (!first) first = std::move(verdict);
    if (first->answer == Answer::equal) break;
  }
  decision.verdict = *first;
  return decision;
}

}  // namespace rollcall::reward::math
