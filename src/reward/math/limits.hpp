// The limits on the work for a decision about an answer. Work is counted and not timed, so a
// verdict is the same on any machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace rollcall::reward::math {

constexpr std::size_t kLongestAnswer = 16384;  ///< bytes; longer answers are compared only as text
/// Nested rules of the parser; a pair of brackets takes four.
constexpr int kDeepestNesting = 256;
constexpr std::size_t kMostNodes = 2048;  ///< nodes in one answer's tree
constexpr std::size_t kMostTerms = 2000;  ///< terms of one expanded polynomial
constexpr std::size_t kMostBits = 60000;  ///< bits of one exact number; 18,000 decimal digits
/// Products of terms, weighted by the length of their coefficients.
constexpr std::int64_t kMostWork = 400000;
/// Interval operations times their precision in 64-bit words.
constexpr std::int64_t kMostEvaluation = 600000;
constexpr std::size_t kMostItems = 64;  ///< items in a set or list that is compared without regard
                                        ///< to order

/// The reason why there is no verdict. Thrown within this folder and caught in decide().
struct NoVerdict : std::runtime_error {
  enum class Cause { unreadable, unsupported, exhausted, undefined };
  NoVerdict(Cause why, const std::string& reason) : std::runtime_error(reason), cause(why) {}
  Cause cause;
};

[[noreturn]] inline void unreadable(const std::string& reason) {
  throw NoVerdict(NoVerdict::Cause::unreadable, reason);
}
[[noreturn]] inline void unsupported(const std::string& reason) {
  throw NoVerdict(NoVerdict::Cause::unsupported, reason);
}
[[noreturn]] inline void exhausted(const std::string& reason) {
  throw NoVerdict(NoVerdict::Cause::exhausted, reason);
}
[[noreturn]] inline void undefined(const std::string& reason) {
  throw NoVerdict(NoVerdict::Cause::undefined, reason);
}

/// Counts work against a limit. spend() is called before the work is done. A refusal uses up the
/// rest of the limit, so that no work is done after it.
class Budget {
 public:
  Budget(std::int64_t limit, const char* name) : limit_(limit), name_(name) {}
  void spend(std::int64_t work) {
    const bool refused = work > limit_ - spent_;
    spent_ = refused ? limit_ : spent_ + work;
    if (refused) exhausted(std::string("more ") + name_ + " than one verdict may cost");
  }
  std::int64_t spent() const { return spent_; }

 private:
  std::int64_t limit_;
  const char* name_;
  std::int64_t spent_ = 0;
};

}  // namespace rollcall::reward::math
