// Matches within a limit on work. PCRE2 calls a function between all items of a pattern, which
// counts them. PCRE2's own limits apply only to each starting point separately.
#include "text/answer/answer_pattern.hpp"

#include "base/errors/error.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <fmt/format.h>

#include <cstdint>

namespace rollcall::text {
namespace {

// Items of the pattern that may be tried on one response. They take about 20 ms, and a sensible
// pattern needs a thousandth of that.
constexpr std::int64_t kMostItems = 1'000'000;
constexpr std::uint32_t kMostBacktracks = 100'000;  // backtracking steps per starting point
constexpr std::uint32_t kMostHeap_KiB = 16 * 1024;

int count_item(pcre2_callout_block*, void* left) {
  return --*static_cast<std::int64_t*>(left) < 0 ? PCRE2_ERROR_CALLOUT : 0;
}

template <auto release>
struct Release {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};
using MatchContext = std::unique_ptr<pcre2_match_context, Release<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Release<pcre2_match_data_free>>;

}  // namespace

struct AnswerPattern::Compiled {
  std::unique_ptr<pcre2_code, Release<pcre2_code_free>> code;
};

AnswerPattern::AnswerPattern(const std::string& pattern) : compiled_(std::make_unique<Compiled>()) {
  int error = 0;
  PCRE2_SIZE at = 0;
  const std::uint32_t options =
      PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_AUTO_CALLOUT | PCRE2_NEVER_BACKSLASH_C;
  compiled_->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                      options, &error, &at, nullptr));
  if (compiled_->code) return;
  PCRE2_UCHAR message[256] = {};
  pcre2_get_error_message(error, message, sizeof message);
  throw ConfigError(error_message(
      fmt::format("task.extract: the regular expression {} fails at byte {}: {}", pattern, at,
                  reinterpret_cast<char*>(message)),
      "answers could not be found", "correct it; the syntax is that of PCRE2 (man pcre2pattern)"));
}

AnswerPattern::~AnswerPattern() = default;

std::optional<AnswerPattern::Match> AnswerPattern::last_match(std::string_view response) const {
  const MatchContext context(pcre2_match_context_create(nullptr));
  const MatchData data(pcre2_match_data_create_from_pattern(compiled_->code.get(), nullptr));
  std::int64_t left = kMostItems;
  pcre2_set_match_limit(context.get(), kMostBacktracks);
  pcre2_set_heap_limit(context.get(), kMostHeap_KiB);
  pcre2_set_callout(context.get(), count_item, &left);
  std::optional<Match> last;
  for (std::size_t from = 0; from <= response.size();) {
    const int groups =
        pcre2_match(compiled_->code.get(), reinterpret_cast<PCRE2_SPTR>(response.data()),
                    response.size(), from, 0, data.get(), context.get());
    if (groups == PCRE2_ERROR_NOMATCH) return last;
    if (groups < 0) return std::nullopt;  // a limit was reached, so the last match is unknown
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
    const bool grouped = groups > 1 && ends[2] != PCRE2_UNSET;
    const std::size_t begin = grouped ? ends[2] : ends[0], end = grouped ? ends[3] : ends[1];
    last = Match{response.substr(begin, end - std::min(begin, end)), ends[1]};
    from = ends[1] > from ? ends[1] : from + 1;
    // The next match may begin only where a whole character begins.
    while (from < response.size() && (static_cast<unsigned char>(response[from]) & 0xC0) == 0x80)
      ++from;
  }
  return last;
}

}  // namespace rollcall::text
