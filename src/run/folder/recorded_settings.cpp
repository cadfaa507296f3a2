// Compares settings key by key, as text in TOML.
#include "run/folder/recorded_settings.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/files/file.hpp"
#include "base/text/joined.hpp"
#include "core/run_record.hpp"
#include "core/settings_text.hpp"
#include "io/checkpoint.hpp"
#include "io/checkpoint_settings.hpp"
#include "run/folder/branch_leftovers.hpp"
#include "task/answer_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

namespace rollcall::run {
namespace fs = std::filesystem;
namespace {

constexpr const char *kNumerics = "run.numerics", *kSteps = "train.steps";

/// The first position of `mark` outside a quoted string.
std::size_t find_outside_quotes(const std::string& line, std::string_view mark) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!quoted && line.compare(i, mark.size(), mark) == 0) return i;
    if (line[i] == '"') quoted = !quoted;
    else if (quoted && line[i] == '\\') ++i;
  }
  return std::string::npos;
}

/// The values by key in a text that ConfigSchema has written.
std::map<std::string, std::string> flatten(const std::string& toml) {
  std::map<std::string, std::string> values;
  std::istringstream lines(toml);
  for (std::string line, section; std::getline(lines, line);) {
    if (line.starts_with('[')) section = line.substr(1, line.find(']') - 1);
    const auto equals = find_outside_quotes(line, " = ");
    if (equals == std::string::npos || line.starts_with('#')) continue;
    const auto comment = find_outside_quotes(line, "  # ");
    values[section + "." + line.substr(0, equals)] =
        line.substr(equals + 3, comment == std::string::npos ? comment : comment - equals - 3);
  }
  return values;
}

/// The changed keys that a resume may not change under the settings `now`.
std::vector<ChangedKey> refused_keys(const RunConfig& before, const RunConfig& now) {
  auto keys = changed_keys(before, now);
  std::erase_if(keys, [&](const ChangedKey& c) {
    // The numerics of the checkpoint itself are compared in opening.cpp.
    return may_change(c.key) || (c.key == kNumerics && now.run.allow_numerics_change);
  });
  return keys;
}

/// Schedulers with a row that sets `knob` now. In builds before scheduler.hears it did not, so such
/// a scheduler draws differently today unless the run file gives the knob.
constexpr struct {
  std::string_view policy;
  const char* knob;
} kChangedPolicies[] = {{"wgrpo", "pairs_only"}};

std::string names_of(const std::vector<ChangedKey>& keys) {
  std::vector<std::string> names;
  for (const auto& c : keys) names.push_back(c.key);
  return fmt::format("{}", joined(names, ", "));
}

void tell_other_steps(const RunConfig& earlier, const RunConfig& now) {
  const std::int64_t before = earlier.train.steps, steps = now.train.steps;
  const OptimizerSection& optimizer = earlier.train.optimizer;
  if (before != 0 && optimizer.lr_schedule != "constant" && optimizer.min_lr_ratio < 1.0)
    log_warning(
        "train.steps goes from {} to {}: the decay of train.lr now ends there, so the run matches a run of neither number alone",
        before, steps);
}

}  // namespace

std::vector<ChangedKey> changed_keys(const RunConfig& before, const RunConfig& now) {
  const auto old_values = flatten(settings_text(before)), new_values = flatten(settings_text(now));
  std::map<std::string, std::string> all = old_values;  // a knob that is no longer given has
                                                        // changed too
  all.insert(new_values.begin(), new_values.end());
  const auto value_in = [](const auto& values, const std::string& key) {
    return values.contains(key) ? values.at(key) : std::string("unset");
  };
  std::vector<ChangedKey> changed;
  for (const auto& [key, any] : all)
    if (ChangedKey c{key, value_in(old_values, key), value_in(new_values, key)};
        c.before != c.now && key != "run.dir")
      changed.push_back(std::move(c));
  return changed;
}

bool may_change(const std::string& key) {
  // Sections and keys that say where the run is, how long it lasts and how closely it is watched.
  // The folder of judge.model may move, but its content may not change; the same holds for the mask
  // of gradient_mask (check_same_data).
  static constexpr std::array kFree{"run.dir",
                                    "run.layout",
                                    "run.threads",
                                    "run.memory_limit",
                                    "run.log_level",
                                    "run.deadline_s",
                                    "run.watch_s",
                                    "run.comm",
                                    "run.wall_time_s",
                                    kSteps,
                                    "eval.",
                                    "checkpoint.",
                                    "archive.",
                                    "train.max_bad_steps",
                                    "reward.processes",
                                    "environment.processes",
                                    "judge.ranks",
                                    "judge.model",
                                    "gradient_mask.",
                                    "run.allow_numerics_change"};
  return std::any_of(kFree.begin(), kFree.end(),
                     [&](const char* prefix) { return key.starts_with(prefix); });
}

std::optional<RecordedSettings> recorded_settings(const fs::path& run_dir,
                                                  const std::string& checkpoint) {
  const fs::path own = run_dir / "config.toml",
                 manifest = run_dir / "checkpoints" / checkpoint / "manifest.json";
  const std::string text =
      checkpoint.empty() ? std::string() : io::settings_of_checkpoint(manifest.parent_path());
  if (!text.empty())
    return RecordedSettings{
        "checkpoint " + checkpoint,
        read_settings(text, fmt::format("the settings in {}", manifest.string())),
        precedes_hears(text)};
  if (!fs::exists(own)) return std::nullopt;
  return RecordedSettings{"config.toml", read_run_config(own), precedes_hears(read_file(own))};
}

std::optional<RecordedSettings> recorded_settings(const fs::path& run_dir) {
  std::vector<std::string> damaged;
  const auto names = io::list_checkpoints(run_dir, &damaged);
  return recorded_settings(run_dir, names.empty() ? std::string() : names.back());
}

std::vector<ChangedKey> edited_keys(const fs::path& run_dir, const RunConfig& recorded) {
  if (!fs::exists(run_dir / "config.toml")) return {};
  // an emptied record says nothing, and a start writes it anew
  if (read_file(run_dir / "config.toml").find_first_not_of(" \t\r\n") == std::string::npos)
    return {};
  return refused_keys(recorded, read_run_config(run_dir / "config.toml"));
}

RunConfig as_begun(RunConfig config, const RecordedSettings& recorded) {
  // With micro-batches of a different size gradients would be rounded differently.
  if (config.train.micro_batch_tokens == 0)
    config.train.micro_batch_tokens = recorded.config.train.micro_batch_tokens;
  if (config.task.validation_prompts < 0)
    config.task.validation_prompts = recorded.config.task.validation_prompts;
  // Earlier builds recorded the fields that they read by default, which now follow from the rows.
  const auto take_field = [&](std::string TaskSection::Fields::*field) {
    auto& given = config.task.fields.*field;
    if (given.empty()) given = recorded.config.task.fields.*field;
  };
  take_field(&TaskSection::Fields::prompt), take_field(&TaskSection::Fields::answer);
  // Without this, different rows of the file would be held out.
  if (recorded.config.task.split == "by_row") config.task.split = recorded.config.task.split;
  if (!recorded.precedes_hears) return config;
  require<ConfigError>(
      !recorded.config.task.shuffle_rewards,
      fmt::format(
          "the run in {} permutes rewards (task.shuffle_rewards), and an earlier build began it",
          config.run.dir),
      "that build let the scheduler hear the verdicts as they were, which this one does not, and a resumed run must equal the uninterrupted one",
      "finish it with the build that began it, or start it again with --set run.dir=NEW");
  const auto* const changed =
      std::find_if(std::begin(kChangedPolicies), std::end(kChangedPolicies), [&](const auto& row) {
        const auto& knobs = config.scheduler.knobs;
        return row.policy == config.scheduler.policy &&
               std::none_of(knobs.begin(), knobs.end(),
                            [&](const auto& knob) { return knob.first == row.knob; });
      });
  require<ConfigError>(
      changed == std::end(kChangedPolicies),
      fmt::format("the run in {} draws its prompts by {}, and an earlier build began it",
                  config.run.dir, config.scheduler.policy),
      "that build drew others, and a resumed run must equal the uninterrupted one",
      "finish it with the build that began it, or start it again with --set run.dir=NEW");
  config.scheduler.hears = recorded.config.scheduler.hears;
  return config;
}

RunConfig as_resolved(RunConfig config, const RecordedSettings& recorded) {
  config = as_begun(std::move(config), recorded);
  (void)task::settle_answers(config.task, config.reward);
  return with_recorded_texts(std::move(config), recorded);
}

RunConfig with_recorded_texts(RunConfig config, const RecordedSettings& recorded) {
  const auto take = [](std::string& given, std::string_view open, const std::string& before) {
    if (given == open) given = before;
  };
  take(config.text.tokenizer, "auto", recorded.config.text.tokenizer);
  take(config.text.chat_template, "auto", recorded.config.text.chat_template);
  take(config.task.answer_marker, "auto", recorded.config.task.answer_marker);
  if (config.reward.command.empty())
    take(config.reward.verifier, "", recorded.config.reward.verifier);
  return config;
}

bool holds_run(const fs::path& run_dir) {
  if (!fs::is_directory(run_dir))
    return false;  // a file in its place is refused when the folder is made
  if (holds_record(run_dir)) return true;
  std::vector<std::string> damaged;
  const bool any = !io::list_checkpoints(run_dir, &damaged).empty() || !damaged.empty();
  return any && !is_unfinished_branch(run_dir);
}

void check_steps(const RunConfig& config, std::int64_t done) {
  require<ConfigError>(
      done <= config.train.steps,
      fmt::format("train.steps is {}, but the run in {} has done {}", config.train.steps,
                  config.run.dir, done),
      "steps cannot be undone",
      "ask for at least as many, or start a new run with --set run.dir=... and --init-from RUN@STEP");
}

void check_same_settings(const RunConfig& config, const std::string& checkpoint) {
  if (const auto recorded = recorded_settings(config.run.dir, checkpoint))
    check_same_settings(config, *recorded);
}

void check_same_settings(const RunConfig& config, const RecordedSettings& recorded) {
  const fs::path dir = config.run.dir;
  const auto refused = refused_keys(recorded.config, config);
  if (refused.empty()) return;
  std::string problem;
  for (const auto& c : refused)
    problem += problem.empty() ? fmt::format("{} is {}, but the run in {} was started with {}",
                                             c.key, c.now, dir.string(), c.before)
                               : fmt::format("; {} is {} and was {}", c.key, c.now, c.before);
  if (recorded.place != "config.toml") problem += fmt::format(", as {} records", recorded.place);
  if (const auto edited = edited_keys(dir, recorded.config); !edited.empty())
    problem +=
        fmt::format("; {} was edited since ({})", (dir / "config.toml").string(), names_of(edited));
  const bool numerics = std::any_of(refused.begin(), refused.end(),
                                    [](const ChangedKey& c) { return c.key == kNumerics; });
  throw ConfigError(error_message(
      problem, "a resumed run must equal the uninterrupted one",
      fmt::format(
          "set {} back{}, or branch off: rollcall train --from RUN --set run.dir=NEW --set ...",
          refused.size() == 1 ? "it" : "them",
          numerics ? ", allow the change by run.allow_numerics_change=true" : "")));
}

void tell_changes(const RunConfig& config, const std::string& checkpoint) {
  const fs::path dir = config.run.dir;
  const auto recorded = recorded_settings(dir, checkpoint);
  if (!recorded) return;
  for (const auto& c : changed_keys(recorded->config, config)) {
    if (c.key == kSteps) tell_other_steps(recorded->config, config);
    log_info("{} is {} from here on; it was {}", c.key, c.now, c.before);
  }
  for (const auto& c : edited_keys(dir, recorded->config))
    log_warning(
        "{} was edited: it said {} = {} where {} says {}; it is written again with the settings of "
        "this start",
        (dir / "config.toml").string(), c.key, c.now, recorded->place, c.before);
}

}  // namespace rollcall::run
