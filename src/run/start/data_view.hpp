// Shows the data on which a run would train, without its weights: the rows of its files as prompts,
// counted, measured and checked.
#pragma once

#include "core/run_config.hpp"
#include "task/rows/file_task.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

/// A prompt for people to read.
struct DataExample {
  std::string split, level, domain;
  std::string shown;   ///< as the policy sees it
  std::string answer;  ///< the reference
};

struct PromptLengths {
  std::size_t median = 0, p99 = 0, max = 0;  ///< tokens
};

struct DataView {
  std::string layout;    ///< the layout of all files, or the different ones, separated by commas
  std::string verifier;  ///< the verifier that judges, or "command"
  task::RowTally tally;
  std::size_t rows = 0, usable = 0, train = 0, validation = 0, heldout = 0;
  std::size_t duplicates = 0;  ///< questions of task.file that task.heldout_file asks too
  std::size_t unreadable = 0;  ///< references that the verifier cannot read
  std::vector<std::string> unreadable_examples;  ///< FILE:LINE and why
  std::map<std::int32_t, std::size_t> levels;    ///< training prompts by level
  std::map<std::string, std::size_t> domains;    ///< training prompts by domain
  std::optional<PromptLengths> prompt_tokens;    ///< only if a model is named
  std::vector<std::string> warnings;             ///< texts_told(); only if a model is named
  std::vector<DataExample> examples;             ///< at most ten, spread over the training prompts
};

/// Reads the files and the text files of the model, if the settings name one. Throws ConfigError,
/// InputError, as a start of the run would.
DataView view_data(RunConfig config);

/// The view as one JSON object on one line, and as text for people.
std::string to_json(const DataView& view);
std::string to_text(const DataView& view);

}  // namespace rollcall::run
