// What is written to a verifier's command and what it answers: JSON, one object a line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

/// One response to judge. `id` names its rollout, so that a verdict finds its place whatever the
/// order.
struct Sample {
  std::string id;  ///< "train/12/347/0/3": purpose, step, prompt, draw, sample
  std::string prompt, response, answer;
  std::string extra{};  ///< JSON object, the other fields of the row that asked; empty: none
};

/// A verdict as the command gave it.
struct Reply {
  double score = 0.0;
  bool correct = false;
  std::vector<double> components{};  ///< in the order of reward.components
  bool undecided = false;  ///< the command says itself that it cannot tell; the rest is zero
  std::string reason{};
  bool ended = false;  ///< beside undecided: the command was judging, and that ended on this answer
};

struct Answered {
  std::string id{};
  Reply reply{};
  std::string fault{};  ///< what is wrong with the line; empty: nothing
};

inline constexpr std::size_t kLongestReply = std::size_t{1} << 20U;  ///< bytes of a line
inline constexpr std::size_t kLongestReason = 500;  ///< bytes that are kept of a reason

/// With its newline. Bytes that are no UTF-8 become U+FFFD.
std::string to_line(const Sample& sample);
/// Any bytes are safe; never throws.
Answered parse_reply(std::string_view line, const std::vector<std::string>& components);

/// Cuts a stream of bytes into lines and holds no more than one of the longest.
class Lines {
 public:
  void add(std::string_view bytes) { rest_.append(bytes); }
  std::optional<std::string> next();
  bool too_long() const {
    return rest_.size() > kLongestReply && rest_.find('\n') == std::string::npos;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string rest_;
};

}  // namespace rollcall::reward
