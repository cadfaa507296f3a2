// A user's regular expression for answers: PCRE2, bounded so that no pattern and no response can
// hang a run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rollcall::text {

/// Immutable, shared by threads.
class AnswerPattern {
 public:
  explicit AnswerPattern(const std::string& pattern);  ///< throws ConfigError saying what is wrong
                                                       ///< and at which character
  ~AnswerPattern();
  AnswerPattern(const AnswerPattern&) = delete;
  AnswerPattern& operator=(const AnswerPattern&) = delete;

  struct Match {
    std::string_view text;  ///< the first group where the pattern has one that took part, else the
                            ///< whole match
    std::size_t end = 0;    ///< of the whole match, in bytes
  };
  /// The last match; none as well where matching took more than its share of work. Invalid UTF-8
  /// matches nothing, and never throws.
  std::optional<Match> last_match(std::string_view response) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace rollcall::text
