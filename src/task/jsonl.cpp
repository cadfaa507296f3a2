// Questions and answers from files, for example GSM8K.
#include "base/error.hpp"
#include "base/log.hpp"
#include "task/generate.hpp"
#include "task/json_lines.hpp"
#include "task/sources.hpp"
#include "text/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace rollcall::task {
namespace {

double rate_at(const nlohmann::json& object, const std::string& key, const Line& line) {
  const auto at = object.find(key);
  const bool rate = at != object.end() && at->is_number() && *at >= 0.0 && *at <= 1.0;
  line.require_that(rate, fmt::format("\"{}\" is not a success rate from 0 to 1", key), "policies start from it", "correct the line or empty task.prior_key");
  return at->get<double>();
}

std::int32_t reasoning_lines(std::string_view reasoning) {
  std::int32_t lines = 0;
  while (!reasoning.empty()) {
    const std::size_t end = std::min(reasoning.find('\n'), reasoning.size());
    lines += text::trim(reasoning.substr(0, end)).empty() ? 0 : 1;
    reasoning.remove_prefix(std::min(end + 1, reasoning.size()));
  }
  return lines;
}

std::string prompt_text(const nlohmann::json& object, const TaskSection& section, const Line& line) {
  return text_at(object, section.question_key, "task.question_key", line) + "\n";
}

Prompt read_prompt(const nlohmann::json& object, const TaskSection& section, const Line& line) {
  Prompt prompt;
  prompt.text = prompt_text(object, section, line);
  prompt.solution = text_at(object, section.answer_key, "task.answer_key", line);
  const auto marked = text::find_marked_answer(prompt.solution, section.answer_marker);
  line.require_that(marked && !marked->answer.empty(), fmt::format("nothing follows the marker \"{}\" in the answer", section.answer_marker),
                    "the verifier compares what follows it", "set task.answer_marker (empty: the whole answer counts) or correct the line");
  prompt.answer = text::normal_answer(marked->answer);
  prompt.level = reasoning_lines(marked->reasoning);
  if (!section.domain_key.empty()) prompt.domain = text_at(object, section.domain_key, "task.domain_key", line);
  if (!section.prior_key.empty()) prompt.prior = float(rate_at(object, section.prior_key, line));
  return prompt;
}

std::vector<Prompt> read_prompts(const std::string& file, const TaskSection& section) {
  std::vector<Prompt> prompts;
  std::unordered_set<std::string> seen;
  std::size_t repeated = 0;
  each_json_line(file, [&](const nlohmann::json& object, const Line& line) {
    Prompt prompt = read_prompt(object, section, line);
    if (seen.insert(prompt.text).second) prompts.push_back(std::move(prompt));
    else ++repeated;
  });
  require(!prompts.empty(), fmt::format("{} holds no question", file), "there is nothing to learn or evaluate", "name a file with one JSON object a line");
  if (repeated > 0) spdlog::warn("{}: {} repeated questions dropped", file, repeated);
  return prompts;
}

}  // namespace

std::string place_of(const TaskSection& section, const std::string& prompt) {
  std::string place;
  for (const std::string& file : {section.heldout_file, section.file}) {
    if (file.empty()) continue;
    each_json_line(file, [&](const nlohmann::json& object, const Line& line) {
      if (place.empty() && prompt_text(object, section, line) == prompt) place = fmt::format("{}:{}", file, line.number);
    });
  }
  return place;
}

PromptSet make_jsonl(const TaskSection& section, std::uint64_t) {
  check_wordings("jsonl", section.wording, {"plain"});
  PromptSet set;
  std::unordered_set<std::string> heldout;
  if (!section.heldout_file.empty()) {
    for (Prompt& prompt : read_prompts(section.heldout_file, section)) {
      heldout.insert(prompt.text);
      keep(set, std::move(prompt), Split::heldout, section);
    }
  }
  for (Prompt& prompt : read_prompts(section.file, section)) {
    const Split split = split_of(prompt.text);
    if (split == Split::validation && !heldout.contains(prompt.text)) keep(set, std::move(prompt), split, section);
    else if (split == Split::heldout && heldout.empty()) keep(set, std::move(prompt), split, section);
    else if (!heldout.contains(prompt.text)) keep(set, std::move(prompt), Split::train, section);
  }
  require(!set.train.empty(), fmt::format("{} leaves no training prompt", section.file), "validation and held-out questions are kept apart",
          "use a larger file");
  tell_shortages("jsonl", set, section);
  set.hash = hash_of(set);
  return set;
}

}  // namespace rollcall::task
