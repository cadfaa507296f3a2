// One archive file is in memory at a time. Steps are visited in order, so that each file is read
// once per pass.
#include "run/step/archived_steps.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "io/checkpoint.hpp"
#include "io/shard_name.hpp"
#include "io/source.hpp"
#include "method/columns.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/context/more_positions.hpp"
#include "run/context/run_texts.hpp"
#include "run/folder/run_folder.hpp"
#include "run/messages/actions.hpp"
#include "run/messages/purposes.hpp"
#include "run/step/group_training.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace rollcall::run {
namespace {

/// The tokens after the prompt: the text of an answer includes the prefix of a guide.
std::vector<std::int32_t> answer_ids(const Rollout& rollout) {
  std::vector<std::int32_t> ids;
  for (const auto& turn : rollout.turns)
    if (turn.role != Role::prompt) ids.insert(ids.end(), turn.tokens.begin(), turn.tokens.end());
  return ids;
}

/// Earlier builds omitted all special tokens from the text of an answer.
std::string older_text(const text::PromptFormat& format, const Rollout& rollout) {
  const auto ids = answer_ids(rollout);
  return format.tokenizer()->decode(format.answer_ends().spoken(ids));
}

/// The archive files of a run and shards of the steps that its newest checkpoint covers, because a
/// crash may have left only a part of later ones. Or a single file.
io::Source complete_source(const std::filesystem::path& path) {
  auto source = io::open_source(path);
  if (!source.is_run || source.loose.empty()) return source;
  std::set<std::uint64_t> steps;
  if (const auto names = io::list_checkpoints(source.root); !names.empty()) {
    for (const auto& file : state_of(io::StoredCheckpoint(source.root, names.back())).unpacked)
      if (file.purpose == Purpose::train) steps.insert(file.step);
  }
  for (auto* files : {&source.loose, &source.training})
    std::erase_if(*files, [&](const std::string& file) {
      return !steps.contains(io::ShardName::parse(file)->step);
    });
  return source;
}

/// The training steps that the source holds, ascending.
std::set<std::uint64_t> train_steps_of(const io::Source& source) {
  std::set<std::uint64_t> steps;
  for (const auto& entry : source.packed)
    for (auto step = entry.first_step;
         entry.purpose == purpose_name(Purpose::train) && step <= entry.last_step; ++step)
      steps.insert(step);
  for (const auto& path : source.loose)
    if (const auto name = *io::ShardName::parse(path); name.purpose == Purpose::train)
      steps.insert(name.step);
  return steps;
}

/// Settings of [sampling] that differ from those that the archive was sampled with: "sampling.top_k
/// is 5, and was 0".
std::vector<std::string> other_sampling(const SamplingParams& here, const SamplingParams& stored) {
  std::vector<std::string> others;
  const auto compare = [&](const char* name, const auto& a, const auto& b) {
    if (a != b) others.push_back(fmt::format("sampling.{} is {}, and was {}", name, a, b));
  };
  compare("temperature", here.temperature, stored.temperature),
      compare("top_k", here.top_k, stored.top_k), compare("top_p", here.top_p, stored.top_p);
  compare("max_new_tokens", here.max_new_tokens, stored.max_new_tokens),
      compare("stop", here.stop, stored.stop);
  compare("logprob", here.logprob, stored.logprob);
  return others;
}

/// The sampling settings of the archive: from the run file in its folder, if there is one,
/// otherwise from its files.
SamplingParams stored_sampling(const io::Source& source, SamplingParams here, float temperature) {
  const auto run_file = source.root / "config.toml";
  if (std::filesystem::exists(run_file)) return read_run_folder(source.root).sampling;
  if (float(here.temperature == 0.0 ? 1.0 : here.temperature) != temperature)
    here.temperature = double(temperature);
  return here;
}

}  // namespace

ArchivedSteps::ArchivedSteps(const RunConfig& config, const RunTexts& texts, std::int64_t positions,
                             bool tells)
    : config_(&config),
      texts_(&texts),
      positions_(positions),
      tells_(tells),
      prompts_(texts),
      source_(config.train.from_archive) {
  const auto source = complete_source(source_);
  for (const auto& entry : source.packed) {
    if (entry.purpose != purpose_name(Purpose::train)) continue;
    require(entry.last_step - entry.first_step < entry.groups,
            fmt::format("{}: steps {} to {} in {} groups", (source.root / entry.file.path).string(),
                        entry.first_step, entry.last_step, entry.groups),
            "every training step holds at least one group",
            "rollcall archive verify says what is wrong with it");
    last_of_[entry.first_step] = entry.last_step;
  }
  const auto steps = train_steps_of(source);
  for (const auto& path : source.loose) {
    const auto name = *io::ShardName::parse(path);
    if (name.purpose == Purpose::train) last_of_[name.step] = name.step;
  }
  steps_.assign(steps.begin(), steps.end());
  require(!steps_.empty(), fmt::format("{} holds no training step", source_.string()),
          "there is nothing to train on",
          "name a run that has trained, or one of its train_... files");
}

StepBatch ArchivedSteps::read(std::uint64_t step) {
  const std::uint64_t archived = steps_[std::size_t((step - 1) % steps_.size())];
  if (!loaded_.contains(archived)) load(archived);
  const auto batch = loaded_.find(archived);
  require<StorageError>(
      batch != loaded_.end(),
      fmt::format("{} holds no rollout of train step {}", source_.string(), archived),
      "its name and the neighbouring steps say that it should",
      "rollcall archive verify says what is wrong with it");
  return batch->second;
}

void ArchivedSteps::load(std::uint64_t archived) {
  const auto file = std::prev(last_of_.upper_bound(archived));
  loaded_.clear(), placed_.clear();
  std::map<GroupId, GroupId> renumbered;  // ids of groups in the archive, and in loaded_
  const auto visit = [&](Purpose purpose, const io::Visit& each) {
    io::each_group(
        source_, {.purpose = purpose, .first_step = file->first, .last_step = file->second}, each);
  };
  visit(Purpose::train,
        [&](const io::ArchivedGroup& group, const std::vector<std::string>& component_names) {
          check(group.group);
          StepBatch& batch = loaded_[group.step];
          batch.component_names = component_names;
          batch.groups.push_back(group.group);
          batch.groups.back().id = place(group);
          renumbered[group.group.id] = batch.groups.back().id;
          batch.scores.push_back(group.scores);
          batch.training.push_back(recorded(batch.groups.back().id, group.training));
          temperature_ = group.temperature;
          tell(group, batch.groups.back().id.prompt);
          return true;
        });
  for (auto& [step, batch] : loaded_) {
    // A parent may come later in the file than the groups derived from it.
    for (Group& group : batch.groups) {
      if (is_plain(group.from)) continue;
      const auto parent = renumbered.find(group.from.parent);
      if (parent != renumbered.end()) group.from.parent = parent->second;
    }
  }
  visit(Purpose::greedy, [&](const io::ArchivedGroup& group, const auto&) {
    loaded_[group.step].greedy[prompts_.of(group)] = greedy_reward(group.scores.at(0));
    return true;
  });
}

GroupId ArchivedSteps::place(const io::ArchivedGroup& group) {
  GroupId id = group.group.id;
  id.prompt = prompts_.of(group);
  while (!placed_.insert(id).second) ++id.draw;
  return id;
}

void ArchivedSteps::tell(const io::ArchivedGroup& group, PromptId prompt) {
  if (!tells_) return;
  if (group.training.empty() && told_.insert("unrecorded").second)
    log_warning(
        "{}: step {} does not say which of its rollouts trained, and how strongly (an earlier build wrote it): all of such a step train, with weight 1",
        source_.string(), group.step);
  const bool of_task = is_plain(group.group.from);  // questions with help are in no run file
  if (of_task && is_foreign(prompt) && told_.insert("foreign").second)
    log_warning(
        "{}: step {} asks prompts that the run file does not have (the first: \"{}\"): they are trained on, and only what the run file says of its prompts "
        "is not known of them",
        source_.string(), group.step, excerpt(group.prompt.text));
}

/// Compares the stored texts with those to which this run's tokenizer decodes the stored tokens.
/// The archive does not name its tokenizer, and equal texts are better evidence than an equal name.
void ArchivedSteps::check(const Group& group) const {
  const std::int64_t vocabulary = texts_->tokenizer->vocab_size();
  const auto refuse = [&](const std::string& problem, const std::string& remedy) {
    throw InputError(error_message(
        fmt::format("{}: step {}, prompt {}: {}", source_.string(), group.id.step,
                    group.id.prompt.value, problem),
        "its rollouts come from another tokenizer or model, and their log-probs would mean nothing here",
        remedy));
  };
  for (const auto& rollout : group.rollouts) {
    std::int64_t length = 0;
    for (const auto& turn : rollout.turns) {
      length += std::int64_t(turn.tokens.size());
      for (const auto token : turn.tokens)
        if (token < 0 || token >= vocabulary)
          refuse(fmt::format("token {}, but the tokenizer \"{}\" has {} tokens", token,
                             texts_->tokenizer->name(), vocabulary),
                 "set text.tokenizer as that run did");
    }
    if (length > positions_)
      refuse(fmt::format("{} tokens, but the model has {} positions", length, positions_),
             more_positions(*config_, length));
    if (const std::string text = rollout_text(*texts_->format, rollout);
        text != rollout.text && older_text(*texts_->format, rollout) != rollout.text)
      refuse(fmt::format(
                 "tokens that decode to \"{}\" with the tokenizer \"{}\" but were stored as \"{}\"",
                 text, texts_->tokenizer->name(), rollout.text),
             "set text.tokenizer as that run did");
  }
}

std::string truncated_draws_told(const StepBatch& step) {
  double mass = 0.0, tokens = 0.0;
  for (const Group& group : step.groups)
    for (const Rollout& rollout : group.rollouts)
      for (const Turn& turn : rollout.turns)
        if (turn.kept.empty())
          for (const float kept : turn.kept_mass) mass += double(kept), tokens += 1.0;
  if (tokens == 0.0 || mass >= tokens) return {};
  return fmt::format(
      "its tokens were drawn from {:.3g} of the probability on average (top_k, top_p), and are trained with log-probs of the softmax over all tokens, so that the "
      "gradient is not that of the distribution that drew; a run with sampling.logprob = \"kept\" archives what corrects it",
      mass / tokens);
}

void check_from_archive(const RunConfig& config, const RunTexts& texts, std::int64_t positions,
                        const method::Objective& objective) {
  if (config.train.from_archive.empty()) return;
  const auto& path = config.train.from_archive;
  if (const auto left_out = io::open_source(path).loose.size() - complete_source(path).loose.size();
      left_out > 0)
    log_warning("{}: {} shards are left out: no checkpoint says that their steps are complete",
                path, left_out);
  ArchivedSteps steps(config, texts, positions);
  const StepBatch first = steps.read(1);
  const auto columns = objective.columns();
  const bool greedy =
      std::find(columns.begin(), columns.end(), method::column::greedy_reward) != columns.end();
  require<ConfigError>(
      !greedy || !first.greedy.empty(),
      fmt::format("objective.recipe {} compares with greedy answers, and {} holds none",
                  config.objective.recipe, config.train.from_archive),
      "they would have to be generated",
      "choose another recipe, or an archive of a run with greedy baselines");
  const auto others =
      other_sampling(config.sampling,
                     stored_sampling(io::open_source(path), config.sampling, steps.temperature()));
  if (!others.empty())
    log_warning(
        "{} was sampled with other settings: {}; its log-probs are those of its own temperature, and gradients those of this run's",
        path, fmt::join(others, "; "));
  if (const auto told = truncated_draws_told(first); !told.empty())
    log_warning("{}: {}", path, told);
  log_info("training from {} archived steps of {}{}", steps.size(), config.train.from_archive,
           steps.size() < config.train.steps ? ", repeatedly" : "");
}

std::vector<std::int64_t> archived_rollouts(const RunConfig& config) {
  if (config.train.from_archive.empty()) return {};
  std::map<std::uint64_t, std::int64_t> by_step;
  for (const auto step : train_steps_of(complete_source(config.train.from_archive)))
    by_step[step] = 0;
  io::each_group(config.train.from_archive, {.purpose = Purpose::train},
                 [&](const io::ArchivedGroup& group, const auto&) {
                   if (const auto found = by_step.find(group.step); found != by_step.end())
                     found->second += std::int64_t(group.group.rollouts.size());
                   return true;
                 });
  std::vector<std::int64_t> rollouts;
  for (const auto& [step, count] : by_step) rollouts.push_back(count);
  return rollouts;
}

std::string archive_digest(const RunConfig& config) {
  if (config.train.from_archive.empty()) return {};
  return io::digest_of(complete_source(config.train.from_archive),
                       {Purpose::train, Purpose::greedy});
}

void check_same_archive(const RunConfig& config, const std::string& digest_at_start) {
  if (config.train.from_archive.empty())
    return;  // a resume with other settings is refused
             // elsewhere
  require(
      digest_at_start.empty() || archive_digest(config) == digest_at_start,
      fmt::format("the training rollouts of {} are not those this run began with",
                  config.train.from_archive),
      "the rest of the run would not be what it would have been without the stop",
      "restore the files, or start a new run: a run that is trained from must not be resumed or packed meanwhile");
}

}  // namespace rollcall::run
