// A user's regular expression for answers. PCRE2 matches it within limits, so that no pattern and
// no response can hang a run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall::text {

/// A compiled pattern. It does not change, so that threads may share it.
class AnswerPattern {
 public:
  /// Throws ConfigError, which says what is wrong and at which character.
  explicit AnswerPattern(const std::string& pattern);
  ~AnswerPattern();
  AnswerPattern(const AnswerPattern&) = delete;
  AnswerPattern& operator=(const AnswerPattern&) = delete;

  struct Match {
    std::string_view text;  ///< the pattern's first group if it matched, else the whole match
    std::size_t end = 0;    ///< the end of the whole match, in bytes
  };
  /// The last match. Nothing if there is none, if matching took more work than allowed, or if the
  /// response is not valid UTF-8.
  std::optional<Match> last_match(std::string_view response) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace rollcall::text
