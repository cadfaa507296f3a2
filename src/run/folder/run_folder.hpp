// The run folder: its layout, how it is opened by a start, and how references to runs and
// checkpoints are resolved.
#pragma once

#include "base/files/nfs_visibility.hpp"
#include "core/run_config.hpp"
#include "run/folder/job_request.hpp"
#include "text/chat/prompt_format.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

// RUN/config.toml        every setting with its value
// RUN/checkpoints/NAME/  model, optimizer, the coordinator's state
// RUN/shards/            published rollouts that are not packed yet
// RUN/archive/           packed rollouts, with manifest.json
// RUN/metrics.jsonl      the numbers of every step; also in RUN/tensorboard/
// RUN/result.json        the outcome; also as a page in RUN/report.html
// RUN/status.json        what the run is doing
// RUN/set_aside/         shards that a crash left unfinished
// RUN/tokenizer/         text files of the model folder with which the run began, with the template
//                        and the end tokens that the run uses
// RUN/stop               create it to stop the run at its next safe point
// RUN/watch              what each rank does at the moment, for a run that does not get on
// RUN/failure            why the last start failed; the next start removes it

/// Makes run.dir with the folders above it. Throws EnvironmentError when it cannot be made or
/// written to, because another start would fail again. `kind` chooses the words of the message.
void make_run_folder(const std::filesystem::path& run_dir, JobKind kind = JobKind::train);

/// Throws the same error as make_run_folder() where that can be seen without making anything: the
/// nearest folder that is there must be one, on a file system that may be written to.
void require_place(const std::filesystem::path& run_dir, JobKind kind = JobKind::train);

/// On the ranks that did not make the folder: returns as soon as the run file that rank 0 wrote is
/// visible here. Throws EnvironmentError after `longest_s`.
void await_run_folder(const std::filesystem::path& run_dir, double longest_s = kLateName_s);

/// Throws EnvironmentError when the folder holds a run or checkpoints of one. `note`: a sentence
/// that says how the command came to this folder; may be empty.
void require_no_run(const std::filesystem::path& run_dir, const std::string& note = {});

/// For a new run: throws EnvironmentError where its folder is the working directory and holds
/// something else, among which the files of the run would lie.
void require_folder_of_its_own(const std::filesystem::path& run_dir);

/// Prepares the folder of a run, which must exist: compares the settings with those of an earlier
/// start (run/folder/recorded_settings.hpp) and writes config.toml. `checkpoint`: the one that the
/// run continues from; empty where there is none. Throws EnvironmentError when the folder holds a
/// run and `resume` is false, and ConfigError when a setting that fixes the result has changed.
/// Returns whether it found settings of an earlier start.
bool open_run_folder(const RunConfig& config, bool resume, const std::string& checkpoint = {});

/// The "RUN" in "RUN", "RUN@STEP" or "RUN@NAME". A folder whose own name has an @ is taken as a
/// whole.
std::filesystem::path run_of(const std::string& reference);

/// The run folder to which "RUN", "RUN@STEP", "RUN@NAME" or the folder of a checkpoint belongs;
/// empty where it has no config.toml.
std::filesystem::path run_with(const std::string& reference);

/// The folder of a checkpoint: "RUN" is the newest one, "RUN@STEP" the newest of that train step,
/// "RUN@NAME" the one of that name. The folder of a model or of an adapter is returned as it is.
/// Where there is a manifest, configuration and weights are compared with it. Throws InputError with
/// the checkpoints that there are, and StorageError naming a damaged file.
std::filesystem::path checkpoint_folder(const std::string& reference);
/// The folder that the first weights of a run come from; empty: they are drawn at random.
std::filesystem::path weights_source(const RunConfig& config);

/// The folder of the text files with which a run begins (run.init_from, else model.path); empty
/// where there are none. Throws InputError where there is no such folder.
std::filesystem::path text_source(const RunConfig& config);

/// Copies the text files of a model folder (tokenizer, chat template, generation settings, license)
/// to RUN/tokenizer, so that a run stays complete when the model folder is gone. What the run
/// itself uses replaces them: a template that a path names, and end tokens that only config.json
/// names. Does nothing where there is nothing to keep. Files of an earlier start are replaced.
void keep_text_files(const std::filesystem::path& source, const text::PromptFormat& format,
                     const std::filesystem::path& run_dir);

/// Settings that name the run's own copy in place of a path in its run file: text.template. To be
/// applied before any other assignment.
std::vector<std::string> kept_settings(const std::filesystem::path& run_dir);

/// The folder of the text files of "RUN", "RUN@STEP", "RUN@NAME", the folder of a checkpoint or a
/// model folder: RUN/tokenizer, else the folder from which the run began, else the model folder
/// itself. For an adapter without a tokenizer it is that of its base. Empty where there are none (a
/// run with a built-in tokenizer), and for an empty reference. Throws InputError where the run had
/// such a folder and it is gone.
std::filesystem::path text_folder(const std::string& reference);

/// Replaces the text files of one folder by those of another; an empty path means no files. A
/// license stays until there is another one.
void copy_text_files(const std::filesystem::path& from, const std::filesystem::path& to);

/// The settings of a run folder. Throws InputError when the folder holds no run.
RunConfig read_run_folder(const std::filesystem::path& run_dir);

}  // namespace rollcall::run
