// Machines with one arm each, one of which pays more often than the others, and the policy's view
// of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::task {

/// The probability that the best machine pays, and the probability that each other machine pays.
inline constexpr double kBestPays = 0.75, kOthersPay = 0.25;

struct Bandit {
  std::vector<std::string> arms{};     ///< names, at least two
  std::int64_t pulls = 0;              ///< pulls in total
  std::int64_t best = 0;               ///< index of the arm that pays more often
  std::vector<std::int64_t> pulled{};  ///< by arm
  std::vector<std::int64_t> paid{};    ///< by arm
  std::int64_t left() const;           ///< pulls that are left
  bool operator==(const Bandit&) const = default;
};

/// As JSON: the state has all members; the reference has `arms` and `pulls`.
std::string text_of(const Bandit& bandit);
std::string reference_of(const Bandit& bandit);
/// Nothing if the text is not a state with at most 64 machines and 4096 pulls.
std::optional<Bandit> read_bandit(std::string_view state);
/// The machines before the first pull; `best` is the first one.
std::optional<Bandit> read_bandit_reference(std::string_view reference);
/// The policy's view: each machine's numbers of payments and pulls, and the number of pulls left,
/// "ba 2/3 ko 0/1 4>".
std::string view_of(const Bandit& bandit);

}  // namespace rollcall::task
