// One run as pages: its index, the files that are made of it, and one archive file in memory at a
// time.
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
  /// `key` names the run in file names ("run-1"). Throws InputError when there is no run,
  /// StorageError for damaged files.
  ViewedRun(std::filesystem::path run, std::string key);
  const std::string& key() const { return key_; }
  /// Looks for what is new.
  void refresh();
  std::vector<std::string> files();
  /// The value in one of these files, as JSON; nothing when there is none of this name. May be
  /// called by several threads.
  std::optional<std::string> make(const std::string& name);
  std::string summary();  ///< for runs.js: name, folder, how much there is

 private:
  /// A step as it was read; what takes computing is added when somebody asks for it.
  struct Loaded {
    StepContent content;
    std::map<PromptId, double> greedy{};  ///< rewards of the step's greedy answers, where the
                                          ///< objective wants them
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
  std::mutex reading_;  ///< of the index and of archive files
  ArchiveIndex index_;
  std::map<std::uint64_t, report::MetricRow> metrics_;  ///< of training steps
  std::vector<report::MetricRow> validations_;
  std::list<std::shared_ptr<Steps>> loaded_;  ///< the last two files: threads may work at the
                                              ///< border of one
};

}  // namespace rollcall::view
