// The run folder: what lies where, and what a second start in the same folder may change.
#pragma once

#include "base/nfs_visibility.hpp"
#include "core/run_config.hpp"
#include "run/folder/job_request.hpp"
#include "text/chat/prompt_format.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

// RUN/config.toml        every setting with its value     RUN/metrics.jsonl, RUN/tensorboard/
// numbers per step
// RUN/checkpoints/NAME/  model, optimizer, coordinator     RUN/result.json, RUN/report.html
// the outcome
// RUN/shards/            published, not yet packed         RUN/archive/
// packed rollouts with manifest.json
// RUN/set_aside/         shards a crash left unfinished    RUN/status.json
// what the run is doing
// RUN/tokenizer/         the text files of the model folder that the run began from, with the
// template and the end tokens that it uses
// RUN/stop               create it to stop the run at its next safe point
// RUN/watch              what each rank does at the moment: why a run gets no further
// RUN/failure            why the last start failed; gone with the next one

/// mkdir -p for run.dir. Throws EnvironmentError when it cannot be made or written to: another
/// start would fail again.
void make_run_folder(const std::filesystem::path& run_dir, JobKind kind = JobKind::train);

/// On the ranks that did not make it: returns when the run file that rank 0 wrote can be seen here.
/// Throws EnvironmentError.
void await_run_folder(const std::filesystem::path& run_dir, double longest_s = kLateName_s);

/// Throws EnvironmentError when the folder holds a run, or checkpoints of one. `note`: what is said
/// of
/// how the command came to this folder; may be empty.
void require_no_run(const std::filesystem::path& run_dir, const std::string& note = {});

/// Prepares the folder of a run, which must exist: compares the settings with those of an earlier
/// start (run/folder/recorded_settings.hpp), writes config.toml.
/// `checkpoint`: what the run goes on from; empty where there is none. Throws EnvironmentError when
/// the folder holds a run and `resume` is false, ConfigError when a setting that fixes the result
/// has changed. Returns whether the settings of an earlier start were found.
bool open_run_folder(const RunConfig& config, bool resume, const std::string& checkpoint = {});

/// "RUN" of "RUN", "RUN@STEP" or "RUN@NAME"; a folder whose own name holds an @ is taken whole.
std::filesystem::path run_of(const std::string& reference);

/// The run that "RUN", "RUN@STEP", "RUN@NAME" or the folder of a checkpoint belongs to; empty where
/// it is none with a config.toml.
std::filesystem::path run_with(const std::string& reference);

/// Folder of a checkpoint named "RUN", "RUN@STEP" or "RUN@NAME" (newest, newest of that train step,
/// by name); a plain model folder is returned as it is. Where there is a manifest, configuration
/// and weights are compared with it. Throws InputError listing what there is, StorageError naming a
/// damaged file.
std::filesystem::path checkpoint_folder(const std::string& reference);
/// Folder that a run's first weights come from; empty: they are drawn.
std::filesystem::path weights_source(const RunConfig& config);

/// Where the text files of what a run begins from are (run.init_from, else model.path); empty where
/// there are none. Throws InputError where there is no such folder.
std::filesystem::path text_source(const RunConfig& config);

/// Copies what a model folder says of text (tokenizer, chat template, generation settings, license)
/// to RUN/tokenizer, so that a run stays complete when the folder it began from is gone. What the
/// run uses goes over it: a template that a path names, and end tokens that only config.json names.
/// Does nothing where there is nothing to keep; what an earlier start left is replaced.
void keep_text_files(const std::filesystem::path& source, const text::PromptFormat& format,
                     const std::filesystem::path& run_dir);

/// Settings that put what a run keeps in place of what its run file names by a path: text.template.
/// To be set before anybody's own.
std::vector<std::string> kept_settings(const std::filesystem::path& run_dir);

/// Where the text files of "RUN", "RUN@STEP", "RUN@NAME", the folder of a checkpoint or a model
/// folder are: RUN/tokenizer, else the folder that the run began from, else the model folder
/// itself. Empty where there is none (a run with a built-in tokenizer), and for an empty reference.
/// Throws InputError where the run has one and it is gone.
std::filesystem::path text_folder(const std::string& reference);

/// Makes the text files of one folder those of another; an empty path has none. A license stays
/// until there is another.
void copy_text_files(const std::filesystem::path& from, const std::filesystem::path& to);

/// The run file of a run folder. Throws InputError when it is none.
RunConfig read_run_folder(const std::filesystem::path& run_dir);

}  // namespace rollcall::run
