// The messages between Rollcall and a verifier's command: JSON, one object per line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

/// One response to judge. `id` names its rollout, so that verdicts may arrive in any order.
struct Sample {
  std::string id;  ///< "train/12/347/0/3": purpose, step, prompt, draw, sample
  std::string prompt, response, answer;
  /// JSON object: the prompt's row with its id or line; empty if it has no row
  std::string extra{};
};

/// A verdict from the command.
struct Reply {
  double score = 0.0;
  bool correct = false;
  std::vector<double> components{};  ///< in the order of reward.components
  bool undecided = false;  ///< The command says that it cannot decide; the numbers are zero.
  std::string reason{};
  /// If undecided: the command was judging this answer, and the judging ended abnormally on it.
  bool ended = false;
  /// The command itself failed on this answer. A run does not begin after such a reply.
  bool failed = false;
  std::string extracted{};  ///< the answer in the response, for majority votes; empty if not given
};

struct Answered {
  std::string id{};
  Reply reply{};
  std::string fault{};  ///< the fault of the line; empty if it is usable
};

inline constexpr std::size_t kLongestReply = std::size_t{1} << 20U;  ///< bytes of a line
inline constexpr std::size_t kLongestReason = 500;  ///< bytes of a reason that are kept

/// The sample's line with its newline. Bytes that are not UTF-8 become U+FFFD.
std::string to_line(const Sample& sample);
/// Reads a line from the command. Any bytes are safe; never throws.
Answered parse_reply(std::string_view line, const std::vector<std::string>& components);

/// Cuts a stream of bytes into lines, and holds at most one line of the maximum length.
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
