// Hashes files with the functions that hash a grader's.
#include "run/folder/submitted_files.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/errors/long_phase.hpp"
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "core/settings_text.hpp"
#include "model/tensors/adapter_folder.hpp"
#include "run/folder/grader_files.hpp"
#include "run/folder/recorded_settings.hpp"
#include "run/folder/run_folder.hpp"
#include "task/answer_source.hpp"
#include "task/rows/file_list.hpp"

#include <fmt/format.h>

#include <exception>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::run {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kMark = "# files at the submission: ";

class Files {
 public:
  void add(const fs::path& path) {
    std::error_code unknown;
    if (path.empty() || !fs::is_regular_file(path, unknown)) return;
    try {
      found_.push_back({path.string(), file_checksum64(path)});
    } catch (const Error&) {  // reported by the check of the settings
    }
  }
  /// Of a folder, the files of a model: weights, configuration, tokenizer and templates. Of an
  /// adapter also those of its base.
  void add_model(const fs::path& folder) {
    if (model::is_adapter_folder(folder)) add_model(model::base_folder(folder));
    for (const auto& entry : list_folder(folder))
      for (const std::string_view kind : {".json", ".safetensors", ".jinja", ".model"})
        if (entry.path().extension() == kind) add(entry.path());
  }
  void add_command(const std::vector<std::string>& command) {
    for (GraderFile& file : find_grader_files(command)) found_.push_back(std::move(file));
  }
  std::vector<GraderFile> take() { return std::move(found_); }

 private:
  std::vector<GraderFile> found_;
};

std::vector<GraderFile> files_of(const RunConfig& config) {
  const LongPhase phase("hashing the files that the job reads");
  Files files;
  try {
    if (!task::reads_rows(config.task)) files.add(config.task.file);
    else
      for (const task::RowFile& file : task::row_files(config.task)) files.add(file.path);
  } catch (const Error&) {  // a wrong list, which is reported when it is read
  }
  files.add(config.task.heldout_file);
  files.add(config.sft.file);
  files.add_command(config.reward.command);
  files.add_command(config.environment.command);
  files.add(config.environment.index);
  if (const fs::path given = config.text.chat_template; given.extension() == ".jinja")
    files.add(given);
  for (const std::string* model :
       {&config.run.init_from, &config.model.path, &config.judge.model, &config.reference.model,
        &config.teacher.model, &config.guide.model}) {
    if (model->empty()) continue;
    try {
      files.add_model(checkpoint_folder(*model));
    } catch (const Error&) {  // no such folder, which is reported when it is read
    }
  }
  return files.take();
}

/// The files that the record of a submission lists; empty if an earlier build wrote it.
std::vector<GraderFile> recorded(const fs::path& submitted) {
  const std::string text = read_file(submitted);
  const std::size_t at = text.find(fmt::format("\n{}", kMark));
  if (at == std::string::npos) return {};
  const std::size_t begin = at + 1 + kMark.size();
  try {
    return parse_grader_files(text.substr(begin, text.find('\n', begin) - begin));
  } catch (const std::exception&) {
    log_warning("{} does not say what its files were at the submission: the line was edited",
                submitted.string());
    return {};
  }
}

}  // namespace

std::string record_of_files(const RunConfig& config) {
  return fmt::format("{}{}\n", kMark, to_json(files_of(config)));
}

void tell_since_submission(const fs::path& run_file, const RunConfig& config) {
  if (run_file.empty() || !is_submitted(run_file) || holds_run(config.run.dir)) return;
  const std::vector<GraderFile> before = recorded(run_file);
  if (before.empty()) return;
  if (const std::string changes = changes_of(before, files_of(config)); !changes.empty())
    log_warning(
        "since the job was submitted, {}: the run reads what is there now; submit it again if that is not meant",
        changes);
}

}  // namespace rollcall::run
