// Opens run folders, compares their settings, and resolves references to them.
#include "run/folder/run_folder.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "base/files/file.hpp"
#include "core/run_record.hpp"
#include "core/settings_text.hpp"
#include "io/checkpoint.hpp"
#include "model/tensors/adapter_folder.hpp"
#include "run/folder/branch_leftovers.hpp"
#include "run/folder/recorded_settings.hpp"
#include "text/tokenizer/text_files.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace rollcall::run {
namespace fs = std::filesystem;
namespace {

const std::vector<std::string> kModelFiles{"config.json", "model.safetensors"};

/// Compares the files of a checkpoint with its manifest, and returns the folder. A plain model
/// folder has no manifest.
fs::path verified(const fs::path& folder) {
  if (fs::exists(folder / "manifest.json")) io::verify_files(folder, kModelFiles);
  return folder;
}

/// Refuses a path for a run folder or a model folder if it is a file, or a folder that this process
/// may not read. The caller checks whether it exists.
void require_readable_folder(const fs::path& path) {
  std::error_code refused;
  const fs::file_status found = fs::status(path, refused);
  if (found.type() == fs::file_type::none) reading_failure("look at", path, refused.value());
  if (!fs::exists(found)) return;
  require(fs::is_directory(found), fmt::format("{} is a file", path.string()),
          "a run folder or a model folder is wanted",
          "name a run folder, or a folder with a model or an adapter");
  if (::access(path.c_str(), R_OK | X_OK) != 0) reading_failure("read", path, errno);
}

}  // namespace

namespace {

/// How a message names the folder of a job, why the job needs it, and what to do.
struct FolderWords {
  const char *named, *why, *otherwise;
};

FolderWords words_of(JobKind kind) {
  if (kind == JobKind::eval)
    return {"folder", "the rollouts and eval.json go there", "choose another folder with --out"};
  return {"run.dir", "everything a run produces goes there",
          "choose another folder with --set run.dir=..."};
}

void require_writable(const fs::path& folder, const FolderWords& words,
                      const std::string& problem) {
  // errno is read in a statement of its own, because the order in which arguments are evaluated is
  // not fixed.
  const int refused = ::access(folder.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  require<EnvironmentError>(refused == 0, fmt::format("{}: {}", problem, std::strerror(refused)),
                            words.why, words.otherwise);
}

}  // namespace

void make_run_folder(const fs::path& run_dir, JobKind kind) {
  const FolderWords words = words_of(kind);
  std::error_code ec;
  std::vector<fs::path> parents;  // parents of folders that are made: a new folder is durable only
                                  // once its name is
  for (fs::path made = fs::absolute(run_dir, ec).lexically_normal();
       !fs::exists(made, ec) && made.has_relative_path(); made = made.parent_path())
    parents.push_back(made.parent_path());
  fs::create_directories(run_dir, ec);
  require<EnvironmentError>(
      !ec || fs::is_directory(run_dir),
      fmt::format("cannot create {} {}: {}", words.named, run_dir.string(), ec.message()),
      words.why, words.otherwise);
  require_writable(run_dir, words,
                   fmt::format("cannot write to {} {}", words.named, run_dir.string()));
  for (const fs::path& parent : parents) fsync_path(parent);
}

void require_place(const fs::path& run_dir, JobKind kind) {
  const FolderWords words = words_of(kind);
  std::error_code unknown;
  const fs::path whole = fs::absolute(run_dir, unknown).lexically_normal();
  fs::path there = whole;
  while (!fs::exists(there, unknown) && there.has_relative_path()) there = there.parent_path();
  const char* const action =
      there == whole && fs::is_directory(there, unknown) ? "write to" : "create";
  const std::string problem = fmt::format("cannot {} {} {}", action, words.named, run_dir.string());
  require<EnvironmentError>(fs::is_directory(there, unknown),
                            fmt::format("{}: {}", problem, std::strerror(ENOTDIR)), words.why,
                            words.otherwise);
  require_writable(there, words, problem);
}

void await_run_folder(const fs::path& run_dir, double longest_s) {
  require<EnvironmentError>(
      file_seen_in_time(run_dir / "config.toml", longest_s),
      fmt::format("run.dir {} cannot be seen from this rank's node", run_dir.string()),
      "ranks exchange rollouts through files",
      "choose a run.dir on a file system that all nodes of the job share");
}

namespace {

/// Refuses a folder without a run that has files with the names of a run's files. They belong to
/// something else, and a run would replace them.
void require_no_files_of_a_run(const fs::path& dir) {
  if (is_unfinished_branch(dir)) return;
  for (const char* name :
       {"metrics.jsonl", "result.json", "report.html", "archive", "tensorboard"}) {
    const fs::path path = dir / name;
    const bool is_theirs =
        fs::is_directory(path)
            ? !list_folder(path).empty()
            : fs::exists(fs::symlink_status(path));  // the user may have made an empty folder or a
                                                     // link for the run
    require<EnvironmentError>(!is_theirs,
                              fmt::format("run.dir {} holds {}, and no run", dir.string(), name),
                              "a new run would replace it or add to it",
                              "choose another folder with --set run.dir=..., or move that away");
  }
}

}  // namespace

void require_folder_of_its_own(const fs::path& dir) {
  std::error_code unknown;
  if (!fs::equivalent(dir, ".", unknown) || is_unfinished_branch(dir)) return;
  for (const auto& entry : list_folder(dir)) {
    const std::string name = entry.path().filename().string();
    const bool is_of_a_start =
        is_submitted(entry.path()) || name == ".lock" || name.starts_with("slurm-");
    require<EnvironmentError>(
        is_of_a_start,
        fmt::format("run.dir {} is the working directory, which holds {}", dir.string(), name),
        "a run would put checkpoints, archive and all its other files beside it",
        "name a folder for the run alone, for example --set run.dir=runs/first");
  }
}

void require_no_run(const fs::path& dir, const std::string& note) {
  if (!fs::is_directory(dir)) return;
  const std::string said = note.empty() ? "" : fmt::format("; {}", note);
  require<EnvironmentError>(
      !fs::exists(dir / "config.toml") || holds_record(dir),
      fmt::format("run.dir {} holds a config.toml of another program", dir.string()),
      "a run would replace it by its own",
      "choose another folder with --set run.dir=..., or move that file away");
  require<EnvironmentError>(
      !fs::exists(dir / "config.toml"),
      fmt::format("run folder {} already holds a run{}", dir.string(), said),
      "a new run would mix with its rollouts",
      "add --resume to continue it, or choose another folder with --set run.dir=...");
  require<EnvironmentError>(
      list_folder(dir / "checkpoints").empty() || is_unfinished_branch(dir),
      fmt::format("run folder {} holds checkpoints but no config.toml", dir.string()),
      "a new run would mix with the files of another",
      "choose another folder with --set run.dir=..., or add --resume to continue with these settings");
  require_no_files_of_a_run(dir);
}

bool open_run_folder(const RunConfig& config, bool resume, const std::string& checkpoint) {
  const fs::path dir = config.run.dir, path = dir / "config.toml";
  if (!resume) require_no_run(dir);
  const bool earlier = recorded_settings(dir, checkpoint).has_value();
  check_same_settings(config, checkpoint);
  tell_changes(config, checkpoint);
  // failure.roll lists the ranks that waited in a call that cannot be polled (comm::TimedCall).
  for (const char* name : {"stop", "failure", "failure.roll", "watch"}) {
    std::error_code ec;
    fs::remove(dir / name, ec);
    require<StorageError>(!ec,
                          fmt::format("cannot remove {}: {}", (dir / name).string(), ec.message()),
                          "what an earlier start left behind would end or silence this one",
                          "check permissions of the run folder");
  }
  write_file_atomic(path, settings_text(config));
  return earlier;
}

namespace {

/// The reference without slashes at its end, so that "RUN/" and "RUN" name the same.
std::string without_last_slash(std::string reference) {
  while (reference.size() > 1 && reference.ends_with('/')) reference.pop_back();
  return reference;
}

/// Says of each checkpoint at the end of a run that it is of the same step as another one; empty
/// where there is none.
std::string ends_among(const std::vector<std::string>& names) {
  constexpr std::string_view kEnd = "done_";
  std::string text;
  for (const auto& name : names) {
    if (!name.starts_with(kEnd)) continue;
    const std::string other = "train_" + name.substr(kEnd.size());
    if (std::find(names.begin(), names.end(), other) != names.end())
      text +=
          fmt::format(" ({} is of the same step as {}, after the last evaluation)", name, other);
  }
  return text;
}

}  // namespace

fs::path run_of(const std::string& reference) {
  const std::string name = without_last_slash(reference);
  std::error_code unknown;  // a later read reports why it fails
  return fs::exists(name, unknown) || unknown ? name : name.substr(0, name.rfind('@'));
}

fs::path run_with(const std::string& reference) {
  const fs::path dir = run_of(reference);
  if (holds_record(dir)) return dir;
  const fs::path above = fs::absolute(dir).lexically_normal().parent_path();
  return above.filename() == "checkpoints" && holds_record(above.parent_path())
             ? above.parent_path()
             : fs::path();
}

fs::path weights_source(const RunConfig& config) {
  return config.run.init_from.empty() ? fs::path(config.model.path)
                                      : checkpoint_folder(config.run.init_from);
}

fs::path checkpoint_folder(const std::string& given) {
  const std::string reference = without_last_slash(given);
  const fs::path dir = run_of(reference);
  require_readable_folder(dir);
  const bool newest = dir.native().size() == reference.size();
  if (newest && (fs::exists(dir / "config.json") || model::is_adapter_folder(dir)))
    return verified(dir);
  const std::string wanted = newest ? "" : reference.substr(dir.native().size() + 1);
  const bool is_step =
      !wanted.empty() &&
      std::all_of(wanted.begin(), wanted.end(), [](unsigned char c) { return std::isdigit(c); });
  const std::string name = is_step ? fmt::format("train_{:0>6}", wanted) : wanted;
  const bool plain = !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
  if (plain && fs::exists(dir / "checkpoints" / name)) {  // else the errors below say what is wrong
    io::verify_files(dir / "checkpoints" / name, kModelFiles);
    return dir / "checkpoints" / name;
  }
  std::vector<std::string> others;
  const auto names = newest ? io::list_checkpoints(dir) : io::list_checkpoints(dir, &others);
  require(
      !names.empty(), fmt::format("{} holds no checkpoint and no config.json", dir.string()),
      "there are no weights to read",
      "name a run folder with a finished checkpoint, or a folder with config.json and model.safetensors, or with an adapter as PEFT saves it");
  require(
      newest, fmt::format("{} has no checkpoint {}", dir.string(), name),
      "only kept checkpoints can be used",
      suggest_name(name, names) + ends_among(names) + "; checkpoint.keep_every keeps more of them");
  return verified(dir / "checkpoints" / names.back());
}

namespace {

/// The text files of a model folder; transformers finds them by these names.
constexpr const char *kTemplate = "chat_template.jinja", *kGeneration = "generation_config.json",
                     *kLicense = "LICENSE";
constexpr std::array kTextFiles{"tokenizer.json",    "tokenizer_config.json",
                                "tokenizer.model",   "special_tokens_map.json",
                                "added_tokens.json", "vocab.json",
                                "merges.txt",        kTemplate,
                                kGeneration,         kLicense};
constexpr const char *kTextFolder = "tokenizer", *kMoreTemplates = "additional_chat_templates",
                     *kModelConfig = "config.json";

bool has_text_files(const fs::path& folder) {
  return std::any_of(kTextFiles.begin(), kTextFiles.end(),
                     [&](const char* name) { return fs::exists(folder / name); });
}

/// Whether a value of text.template names a file.
bool is_path(const std::string& chat_template) {
  return chat_template != "auto" && chat_template != "model" && chat_template != "none";
}

/// Removes a file or folder if it exists.
void remove_if_there(const fs::path& path) {
  std::error_code ec;
  fs::remove_all(path, ec);
  require<StorageError>(!ec, fmt::format("cannot remove {}: {}", path.string(), ec.message()),
                        "it belongs to another model", "check permissions of the folder");
}

void copy_more_templates(const fs::path& from, const fs::path& to) {
  remove_if_there(to);
  if (!fs::is_directory(from)) return;
  make_folder(to);
  for (const auto& entry : list_folder(from))
    if (entry.path().extension() == ".jinja")
      write_file_atomic(to / entry.path().filename(), read_file(entry.path()));
}

}  // namespace

void copy_text_files(const fs::path& from, const fs::path& to) {
  make_folder(to);
  copy_more_templates(from.empty() ? from : from / kMoreTemplates, to / kMoreTemplates);
  for (const char* name : kTextFiles) {
    if (!from.empty() && fs::exists(from / name))
      write_file_atomic(to / name, read_file(from / name));
    else if (name != kLicense) remove_if_there(to / name);
  }
}

fs::path text_source(const RunConfig& config) {
  const bool continues = !config.run.init_from.empty();
  const std::string& reference = continues ? config.run.init_from : config.model.path;
  if (!reference.empty()) require_readable_folder(run_of(reference));
  require(reference.empty() || fs::is_directory(run_of(reference)),
          fmt::format("{} is {}, but there is no such folder",
                      continues ? "run.init_from" : "model.path", reference),
          "weights, tokenizer and chat template are read from it",
          "correct the path, or copy the model there");
  std::error_code unknown;  // ignored: run.dir need not exist yet
  require<ConfigError>(
      reference.empty() || !fs::equivalent(run_of(reference), config.run.dir, unknown),
      fmt::format("{} and run.dir are the same folder, {}",
                  continues ? "run.init_from" : "model.path", config.run.dir),
      "the run's files would lie among the model's", "choose another run.dir");
  return text_folder(reference);
}

void keep_text_files(const fs::path& source, const text::PromptFormat& format,
                     const fs::path& run_dir) {
  const fs::path kept = run_dir / kTextFolder;
  const bool own_template = is_path(format.section().chat_template),
             own_tokenizer = format.section().tokenizer == "model";
  if (!own_template && source.empty()) return remove_if_there(kept);
  copy_text_files(source, kept);
  if (own_template)
    remove_if_there(kept / kMoreTemplates),
        write_file_atomic(kept / kTemplate, format.files().chat_template);
  if (const auto rows = format.files().rows)
    write_file_atomic(kept / kModelConfig, fmt::format("{{\"vocab_size\": {}}}\n", *rows));
  else remove_if_there(kept / kModelConfig);
  if (!own_tokenizer) return;
  const fs::path generation = kept / kGeneration;
  const std::string suggested = fs::exists(generation) ? read_file(generation) : std::string();
  if (const auto whole = text::with_end_tokens(suggested, format.files().end_tokens);
      whole != suggested)
    write_file_atomic(generation, whole);
}

std::vector<std::string> kept_settings(const fs::path& run_dir) {
  const fs::path kept = run_dir / kTextFolder / kTemplate;
  if (!fs::exists(kept) || !holds_record(run_dir) ||
      !is_path(read_run_folder(run_dir).text.chat_template))
    return {};
  return {"text.template=" + kept.string()};
}

fs::path text_folder(const std::string& reference) {
  if (reference.empty()) return {};
  const fs::path named = run_of(reference), dir = run_with(reference);
  if (dir.empty() && model::is_adapter_folder(named) && !text::has_tokenizer(named))
    return text_folder(model::base_folder(named).string());
  const bool of_its_own = !holds_record(named) && has_text_files(named);
  if (dir.empty() || of_its_own) return of_its_own ? named : fs::path();
  if (fs::exists(dir / kTextFolder)) return dir / kTextFolder;
  const RunConfig config = read_run_folder(dir);
  if (config.text.tokenizer == "character" || config.text.tokenizer == "byte") return {};
  if (!config.run.init_from.empty()) return text_folder(config.run.init_from);
  const fs::path source = config.model.path;
  require(source.empty() || fs::is_directory(source),
          fmt::format("{} has no {}, and the model folder {} it began from is gone", dir.string(),
                      kTextFolder, source.string()),
          "tokenizer and chat template are read from one of them",
          fmt::format("copy the model's tokenizer.json and related files into {}",
                      (dir / kTextFolder).string()));
  return text_folder(source.string());
}

RunConfig read_run_folder(const fs::path& run_dir) {
  require_record(run_dir);
  return load_run_config(run_dir / "config.toml", {});
}

}  // namespace rollcall::run
