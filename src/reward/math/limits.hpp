// What deciding about an answer may cost. Everything is counted and nothing is timed, so a verdict
// is the same on any machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace rollcall::reward::math {

constexpr std::size_t kLongestAnswer = 16384;  ///< bytes; longer ones are compared as texts only
constexpr int kDeepestNesting = 256;        ///< steps of the parser within one another; a pair of
                                            ///< brackets takes four
constexpr std::size_t kMostNodes = 2048;    ///< of one answer's tree
constexpr std::size_t kMostTerms = 2000;    ///< of one expanded polynomial
constexpr std::size_t kMostBits = 60000;    ///< of one exact number; 18,000 decimal digits
constexpr std::int64_t kMostWork = 400000;  ///< products of terms, weighted by the length of their
                                            ///< coefficients
constexpr std::int64_t kMostEvaluation = 600000;  ///< interval operations times their precision in
                                                  ///< words
constexpr std::size_t kMostItems = 64;  ///< of a set or list that is compared without order

/// Why there is no verdict. Thrown within this folder and caught in decide().
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

/// Counts work against a limit. Work is asked for before it is done, and work that is refused uses
/// up what was left, so nothing is done after it.
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
