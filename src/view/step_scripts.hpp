// The files of one step: its groups and rollouts with text and numbers, and their tokens in parts.
#pragma once

#include "io/archive.hpp"
#include "text/tokenizer/tokenizer.hpp"
#include "view/archive_index.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::view {

/// One step of the archive, with other values that are known about it.
struct StepContent {
  StepKey key;
  std::vector<std::string> component_names{};
  std::vector<io::ArchivedGroup> groups{};
  std::vector<std::vector<double>> advantages{};  ///< [groups] values for the policy tokens, one
                                                  ///< rollout after another; empty if not known
  std::string no_advantages{};                 ///< why advantages are not known; empty if they are
  std::vector<std::optional<Visit>> before{};  ///< [groups] the prompt's last visit in an earlier
                                               ///< step
  std::map<std::string, std::map<int, double>> bins{};    ///< values of the difficulty bins in this
                                                          ///< step, by name and bin
  std::vector<std::pair<std::string, double>> numbers{};  ///< metrics of the step, from
                                                          ///< metrics.jsonl
};

/// Divides the groups of a step into parts by their token counts. The tokens of a part [first, end)
/// make one file, and a part ends with the group that fills it.
std::vector<std::pair<std::size_t, std::size_t>> parts_of(const StepLine& step);

std::string step_json(const StepContent& step, const StepLine& line);
std::string tokens_json(const StepContent& step, std::pair<std::size_t, std::size_t> part,
                        const std::shared_ptr<const text::Tokenizer>& tokenizer);

}  // namespace rollcall::view
