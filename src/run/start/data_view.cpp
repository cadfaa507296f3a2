// Takes the steps of a start that need no weights, and reports the results.
#include "run/start/data_view.hpp"

#include "base/errors/error.hpp"
#include "base/text/joined.hpp"
#include "base/text/json.hpp"
#include "environment/chosen.hpp"
#include "reward/verifier.hpp"
#include "run/context/question_forms.hpp"
#include "run/folder/run_folder.hpp"
#include "run/start/reference_checks.hpp"
#include "run/start/text_warnings.hpp"
#include "run/workers/worker_pool.hpp"
#include "task/answer_source.hpp"
#include "task/rows/file_list.hpp"
#include "task/sources.hpp"
#include "text/answer/accepted_answers.hpp"
#include "text/chat/prompt_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace rollcall::run {
namespace {

constexpr std::size_t kExamples = 10, kToldRows = 10;
constexpr Split kSplits[] = {Split::train, Split::validation, Split::heldout};

const char* name_of(Split split) {
  return split == Split::train ? "train" : split == Split::validation ? "validation" : "held-out";
}

/// References that no answer can be compared with by value, and those that cannot be used at all.
void find_unreadable(const task::PromptSet& prompts, const reward::Grader& grader,
                     const TaskSection& section, DataView& view) {
  std::vector<std::string> texts;
  each_reference_problem(prompts, grader, [&](const Prompt& prompt, std::string problem, bool) {
    if (view.unreadable++ >= kToldRows) return;
    texts.push_back(prompt.text);
    view.unreadable_examples.push_back(std::move(problem));
  });
  const std::vector<std::string> places = task::places_of(section, texts);
  for (std::size_t i = 0; i < places.size(); ++i)
    view.unreadable_examples[i] = fmt::format("{}: {}", places[i], view.unreadable_examples[i]);
}

PromptLengths lengths_of(const task::PromptSet& prompts, const text::PromptFormat& format,
                         const text::AnswerForm& form) {
  std::vector<std::size_t> lengths;
  for (const Split split : kSplits)
    for (const Prompt& prompt : prompts.of(split))
      lengths.push_back(format.prompt_tokens(question_in(form, prompt), form.opening).size());
  std::sort(lengths.begin(), lengths.end());
  if (lengths.empty()) return {};
  const auto at = [&](std::size_t hundredth) {
    return lengths[std::min(lengths.size() - 1, lengths.size() * hundredth / 100)];
  };
  return {at(50), at(99), lengths.back()};
}

/// Examples from everywhere in the training prompts, or in the held-out prompts if there are no
/// training prompts.
void show_some(const task::PromptSet& prompts, const text::PromptFormat& format,
               const text::AnswerForm& form, DataView& view) {
  const auto& from = prompts.train.empty() ? prompts.heldout : prompts.train;
  const std::size_t count = std::min(kExamples, from.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Prompt& prompt = from[i * from.size() / count];
    view.examples.push_back({name_of(prompt.split), fmt::format("{}", prompt.level), prompt.domain,
                             format.prompt_text(question_in(form, prompt), form.opening),
                             text::shown_reference(prompt.answer)});
  }
}

std::string layouts_of(const task::RowTally& tally) {
  std::vector<std::string> names;
  for (const auto& file : tally.files)
    if (std::find(names.begin(), names.end(), file.layout) == names.end())
      names.push_back(file.layout);
  return fmt::format("{}", joined(names, ","));
}

template <class Key>
std::string shares_text(const std::map<Key, std::size_t>& counts) {
  constexpr std::size_t kShown = 12;
  std::vector<std::string> parts;
  for (const auto& [key, count] : counts)
    if (parts.size() < kShown) parts.push_back(fmt::format("{}: {}", key, count));
  const std::size_t more = counts.size() - parts.size();
  return fmt::format("{}{}", joined(parts, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : std::string());
}

}  // namespace

DataView view_data(RunConfig config) {
  require<ConfigError>(task::reads_rows(config.task),
                       fmt::format("the task {} reads no rows of files", config.task.name),
                       "its prompts are made, or sentences of a text",
                       "name a file: rollcall data FILE, or a run file with task.file");
  (void)task::settle_answers(config.task, config.reward);
  (void)task::settle_validation(config.task, config.eval.every);
  DataView view;
  const task::PromptSet prompts = task::read_rows(config.task, &view.tally);
  const reward::Grader grader(
      reward::chosen_verifier(config.reward, task::find_task(config.task.name).verifier),
      config.task, config.reward);
  const bool has_model = !config.model.path.empty() || !config.run.init_from.empty();
  const text::PromptFormat format(config.text, text_source(config),
                                  environment::tool_schemas(config));
  view.layout = layouts_of(view.tally), view.verifier = grader.name();
  view.train = prompts.train.size(), view.validation = prompts.validation.size(),
  view.heldout = prompts.heldout.size();
  for (const auto& file : view.tally.files) view.rows += file.rows, view.usable += file.usable;
  if (const auto asked = view.tally.dropped.find("asked_by_heldout");
      asked != view.tally.dropped.end())
    view.duplicates = asked->second;
  for (const Prompt& prompt : prompts.train) {
    ++view.levels[prompt.level];
    if (!prompt.domain.empty()) ++view.domains[prompt.domain];
  }
  find_unreadable(prompts, grader, config.task, view);
  // Evaluations ask in the first form.
  const text::AnswerForm& form =
      text::find_answer_form(config.task.forms.empty() ? "plain" : config.task.forms.front());
  if (has_model) view.prompt_tokens = lengths_of(prompts, format, form);
  show_some(prompts, format, form, view);
  if (has_model) {
    RunTexts texts;
    texts.prompts = prompts, texts.tokenizer = format.tokenizer();
    WorkerPool pool(1);
    view.warnings = texts_told(config, texts, grader, pool);
  }
  return view;
}

std::string to_json(const DataView& view) {
  using Json = nlohmann::ordered_json;
  Json files = Json::array(), dropped = Json::object();
  for (const auto& [why, count] : view.tally.dropped) dropped[why] = count;
  for (const auto& file : view.tally.files)
    files.push_back({{"path", file.path}, {"rows", file.rows}, {"usable", file.usable}});
  Json all{{"layout", view.layout},        {"rows", view.rows},
           {"usable", view.usable},        {"dropped", dropped},
           {"train", view.train},          {"validation", view.validation},
           {"heldout", view.heldout},      {"duplicates", view.duplicates},
           {"unreadable", view.unreadable}};
  if (const auto& tokens = view.prompt_tokens)
    all["prompt_tokens"] = {{"median", tokens->median}, {"p99", tokens->p99}, {"max", tokens->max}};
  if (!view.warnings.empty()) all["warnings"] = view.warnings;
  all["files"] = files;
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_text(const DataView& view) {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    text += fmt::format("{:<12} {}\n", name, value);
  };
  add("layout", view.layout);
  add("verifier", view.verifier);
  add("rows", fmt::format("{}, of which {} are usable", view.rows, view.usable));
  for (const auto& [why, count] : view.tally.dropped)
    add("  dropped", fmt::format("{} ({})", count, why));
  for (const auto& file : view.tally.files)
    add("  file", fmt::format("{}: {} rows of the layout {}, {} usable", file.path, file.rows,
                              file.layout, file.usable));
  add("prompts", fmt::format("{} train, {} validation, {} held-out", view.train, view.validation,
                             view.heldout));
  add("duplicates",
      fmt::format("{} questions of task.file are in task.heldout_file too", view.duplicates));
  add("levels", shares_text(view.levels));
  if (!view.domains.empty()) add("domains", shares_text(view.domains));
  if (const auto& tokens = view.prompt_tokens)
    add("tokens", fmt::format("median {}, 99 in 100 have at most {}, the longest has {}",
                              tokens->median, tokens->p99, tokens->max));
  add("unreadable",
      fmt::format("{} references that the verifier cannot compare by value", view.unreadable));
  for (const auto& example : view.unreadable_examples) add("", example);
  for (const auto& warning : view.warnings) add("warning", warning);
  for (std::size_t i = 0; i < view.examples.size(); ++i) {
    const DataExample& e = view.examples[i];
    text += fmt::format("\nexample {} ({}, level {}{}{})\n{}\nreference: {}\n", i + 1, e.split,
                        e.level, e.domain.empty() ? "" : ", ", e.domain, e.shown, e.answer);
  }
  return text;
}

}  // namespace rollcall::run
