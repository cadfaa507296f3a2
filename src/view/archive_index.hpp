// What a run holds, in numbers: its steps, the groups of each, and the visits to every prompt. It
// can be brought up to date while the run is writing.
#pragma once

#include "core/policy_sums.hpp"
#include "io/source.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::view {

/// A training step, or an evaluation after that step.
struct StepKey {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  auto operator<=>(const StepKey&) const = default;
};

/// What identifies a prompt: its number and its text, because a resumed run may have other prompts
/// under the same numbers.
struct PromptKey {
  Purpose purpose = Purpose::train;
  std::uint64_t prompt = 0, text_hash = 0;
  auto operator<=>(const PromptKey&) const = default;
};
PromptKey prompt_key(const io::ArchivedGroup& group);

struct GroupLine {
  PromptKey prompt;
  std::uint32_t rollouts = 0, correct = 0;
  std::uint64_t tokens = 0;  ///< tokens of all turns after the prompt; the prompt itself is counted
                             ///< once per group
};

struct StepLine {
  std::vector<GroupLine> groups{};  ///< in the order of the archive
  std::uint64_t rollouts = 0, correct = 0, cut = 0;
  double reward = 0.0;  ///< the sum over rollouts
  PolicySums policy{};
};
double pass_rate(const StepLine& step);  ///< The fraction of a prompt's rollouts that are correct,
                                         ///< averaged over prompts.

struct Visit {
  std::uint64_t step = 0;
  std::uint32_t rollouts = 0, correct = 0;
};

struct PromptLine {
  std::string text, reference;  ///< the beginning of each
  std::string row;              ///< name of its row in task.file; empty if it has none
  std::int32_t level = 0;
  std::vector<Visit> visits{};  ///< by step; several draws within one step are one visit
};

class ArchiveIndex {
 public:
  explicit ArchiveIndex(std::filesystem::path run) : run_(std::move(run)) {}

  /// Reads what is new since the last call, and removes steps that are gone. Returns whether
  /// anything has changed. Throws what io::each_group throws.
  bool refresh();
  const std::map<StepKey, StepLine>& steps() const { return steps_; }
  const std::map<PromptKey, PromptLine>& prompts() const { return prompts_; }
  /// First and last step of the file that holds this step; reading it reads all of them.
  std::pair<std::uint64_t, std::uint64_t> file_of(const StepKey& key) const;
  /// The last visit to the prompt before this step.
  std::optional<Visit> visit_before(const PromptKey& prompt, std::uint64_t step) const;

 private:
  struct Part {
    Purpose purpose = Purpose::train;
    std::uint64_t first = 0, last = 0;
    std::string identity{};  ///< changes whenever the files do
    auto operator<=>(const Part&) const = default;
  };
  std::vector<Part> parts_of(const io::Source& source) const;
  void read(const Part& part);
  void forget(const Part& part);
  void add(const io::ArchivedGroup& group);
  void count_visits();

  std::filesystem::path run_;
  std::vector<Part> parts_;
  std::map<StepKey, StepLine> steps_;
  std::map<PromptKey, PromptLine> prompts_;
};

}  // namespace rollcall::view
