// One run as pages: its index, the files made from it, and the archive files held in memory.
#pragma once

#include "core/run_config.hpp"
#include "report/metrics.hpp"
#include "text/tokenizer/tokenizer.hpp"
#include "view/advantages.hpp"
#include "view/archive_index.hpp"
#include "view/step_scripts.hpp"

#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::view {

class ViewedRun {
 public:
  /// `key` names the run in file names ("run-1"). Throws InputError if the folder is not a run,
  /// StorageError for damaged files.
  ViewedRun(std::filesystem::path run, std::string key);
  const std::string& key() const { return key_; }
  /// Reads what the run has written since the last call.
  void refresh();
  std::vector<std::string> files();
  /// The JSON value of the file with this name; nothing if there is none. Several threads may call
  /// it.
  std::optional<std::string> make(const std::string& name);
  std::string summary();  ///< the run's JSON object in data/runs.js: name, folder and sizes

 private:
  /// A step as it was read. Values that must be computed are added when they are asked for.
  struct Loaded {
    StepContent content;
    std::map<PromptId, double> greedy{};  ///< rewards of the step's greedy answers, if the
                                          ///< objective needs them
    std::once_flag completed{};
  };
  using Steps = std::map<StepKey, std::shared_ptr<Loaded>>;
  std::string steps_json();
  std::string prompts_json(Purpose purpose, std::uint64_t page);
  std::string evaluations_json() const;
  std::shared_ptr<const StepContent> content(const StepKey& key);
  std::shared_ptr<Steps> read_file(const StepKey& key);
  std::shared_ptr<Loaded> loaded(const StepKey& key);
  void complete(Loaded& step) const;
  void add_metrics(StepContent& step) const;

  std::filesystem::path run_;
  std::string key_, no_config_, no_tokenizer_;
  std::optional<RunConfig> config_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  Advantages advantages_;
  std::mutex reading_;  ///< guards the index and the archive files
  ArchiveIndex index_;
  std::map<std::uint64_t, report::MetricRow> metrics_;  ///< by training step
  std::vector<report::MetricRow> validations_;
  std::list<std::shared_ptr<Steps>> loaded_;  ///< the last two files, because threads may be
                                              ///< working on both sides of a file boundary
};

}  // namespace rollcall::view
