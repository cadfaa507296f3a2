// Recomputes the advantage of every token with the run's own objective, if the archive holds
// everything that it needs.
#pragma once

#include "core/run_config.hpp"
#include "io/archive.hpp"
#include "method/method.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::view {

class Advantages {
 public:
  /// Without a run file, no advantages are computed.
  explicit Advantages(const std::optional<RunConfig>& config);
  /// Why no advantages are computed, as one sentence; empty if they are.
  const std::string& why_not() const { return why_not_; }
  bool needs_greedy() const { return needs_greedy_; }
  /// [groups] One value per policy token, with the rollouts of a group one after another; empty if
  /// the step cannot be computed. `greedy` are the rewards of the step's greedy answers.
  std::vector<std::vector<double>> of(const std::vector<io::ArchivedGroup>& groups,
                                      const std::vector<std::string>& component_names,
                                      const std::map<PromptId, double>& greedy) const;

 private:
  void find_obstacle();

  std::optional<RunConfig> config_;
  std::unique_ptr<const method::Objective> objective_;
  bool needs_greedy_ = false;
  std::string why_not_;
};

}  // namespace rollcall::view
