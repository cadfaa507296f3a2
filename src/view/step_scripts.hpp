// The files of one step: its groups and rollouts with texts and numbers, and the tokens of them in
// parts.
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

/// One step as the archive holds it, with what is known of it besides.
struct StepContent {
  StepKey key;
  std::vector<std::string> component_names{};
  std::vector<io::ArchivedGroup> groups{};
  std::vector<std::vector<double>> advantages{};  ///< [groups] policy tokens one after the other;
                                                  ///< empty: not known
  std::string no_advantages{};                    ///< why; empty where they are known
  std::vector<std::optional<Visit>> before{};  ///< [groups] the prompt's last visit in an earlier
                                               ///< step
  std::map<std::string, std::map<int, double>> bins{};  ///< numbers of the difficulty bins in this
                                                        ///< step, by name and bin
  std::vector<std::pair<std::string, double>> numbers{};  ///< of the step, from metrics.jsonl
};

/// The stretches of groups whose tokens are a file, from the tokens of each group: every one ends
/// with the group that fills it.
std::vector<std::pair<std::size_t, std::size_t>> parts_of(const StepLine& step);

std::string step_json(const StepContent& step, const StepLine& line);
std::string tokens_json(const StepContent& step, std::pair<std::size_t, std::size_t> part,
                        const std::shared_ptr<const text::Tokenizer>& tokenizer);

}  // namespace rollcall::view
