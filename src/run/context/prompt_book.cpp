// Finds derived prompts by number, and asks prompts of the task in the form that was drawn.
#include "run/context/prompt_book.hpp"

#include "base/errors/error.hpp"
#include "run/context/derived/hints.hpp"
#include "run/context/derived/second_pass_texts.hpp"
#include "run/context/derived/self_judging.hpp"
#include "run/context/question_forms.hpp"
#include "run/messages/purposes.hpp"
#include "text/chat/prompt_conversation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::run {
namespace {

/// The position of a prompt among ascending derived prompts; their end if it is not one of them.
std::span<const DerivedPrompt>::iterator position(PromptId prompt,
                                                  std::span<const DerivedPrompt> derived) {
  const auto before = [](const DerivedPrompt& one, PromptId id) { return one.prompt.id < id; };
  const auto found = std::lower_bound(derived.begin(), derived.end(), prompt, before);
  return found != derived.end() && found->prompt.id == prompt ? found : derived.end();
}

/// The group that decides the form: further draws of a prompt that belong to a group are asked in
/// the form of that group.
const GroupId& drawn_as(const GroupId& group, const Derivation& from) {
  return is_plain(from) ? group : from.parent;
}

}  // namespace

const DerivedPrompt& PromptBook::find(PromptId prompt) const {
  const auto found = position(prompt, derived_);
  require<ProtocolError>(
      found != derived_.end(), fmt::format("derived prompt {} came without its text", prompt.value),
      "nothing could be asked or judged", "start every rank with the same binary");
  return *found;
}

Prompt PromptBook::of_task(Purpose purpose, const GroupId& group) const {
  return texts_->prompts.of(split_of(purpose)).at(group.prompt.value);
}

Prompt PromptBook::asked(Purpose purpose, const GroupId& group, const Derivation& from) const {
  if (is_derived(group.prompt)) return find(group.prompt).prompt;
  return with_hint(*texts_, of_task(purpose, group),
                   form_of(*texts_, purpose, drawn_as(group, from)), from.tier);
}

std::vector<std::int32_t> PromptBook::tokens(Purpose purpose, const GroupId& group,
                                             const Derivation& from) const {
  if (is_derived(group.prompt)) return texts_->format->prompt_tokens(find(group.prompt).prompt);
  const std::size_t form = form_of(*texts_, purpose, drawn_as(group, from));
  if (from.tier > 0 && texts_->hints.as == "prompt")
    return texts_->format->prompt_tokens(asked(purpose, group, from),
                                         texts_->forms.at(form)->opening);
  return prompt_tokens(*texts_, of_task(purpose, group), form);
}

std::vector<std::int32_t> PromptBook::tokens(Purpose purpose, const GroupId& group,
                                             const Derivation& from,
                                             const std::string& question) const {
  Prompt prompt = asked(purpose, group, from);
  prompt.text = question;
  if (!prompt.conversation.empty())
    prompt.conversation =
        text::asked_last(prompt.conversation, [&](std::string_view) { return question; });
  const std::size_t form = form_of(*texts_, purpose, drawn_as(group, from));
  return texts_->format->prompt_tokens(
      prompt, is_derived(group.prompt) ? "" : texts_->forms.at(form)->opening);
}

std::vector<std::int32_t> PromptBook::given(Purpose purpose, const GroupId& group,
                                            const Derivation& from) const {
  if (is_derived(group.prompt)) return find(group.prompt).given;
  return hint_tokens(*texts_, of_task(purpose, group),
                     form_of(*texts_, purpose, drawn_as(group, from)), from.tier);
}

bool PromptBook::learns_given(const GroupId& group) const {
  if (is_derived(group.prompt)) return find(group.prompt).learns_given;
  return texts_->hints.learns;
}

std::string PromptBook::extra(Purpose purpose, const GroupId& group) const {
  if (!is_derived(group.prompt)) return texts_->prompts.extra_of(of_task(purpose, group));
  const Derivation& from = find(group.prompt).from;
  const auto& train = texts_->prompts.train;
  if (is_judge_task(from.kind) || from.parent.prompt.value >= train.size()) return {};
  return texts_->prompts.extra_of(train[from.parent.prompt.value]);
}

std::vector<io::ShardPrompt> PromptBook::stored(const RolloutShard& shard) const {
  std::vector<io::ShardPrompt> prompts;
  for (const Group& group : shard.groups) {
    Prompt prompt = asked(shard.purpose, group.id, group.from);
    const std::size_t form = form_of(*texts_, shard.purpose, drawn_as(group.id, group.from));
    std::string shown = texts_->format->prompt_text(
        prompt, is_derived(group.id.prompt) ? "" : texts_->forms.at(form)->opening);
    if (shown == prompt.text) shown.clear();
    prompts.push_back({std::move(prompt.text), std::move(prompt.answer), std::move(shown),
                       extra(shard.purpose, group.id)});
  }
  return prompts;
}

const reward::Grader& grader_of(const Grading& grading, const Prompt& asked) {
  return kind_of(asked.id) == DerivedKind::verdict ? *grading.verdict_grader : *grading.grader;
}

std::vector<DerivedPrompt> asked_by(std::span<const GroupPlan> groups,
                                    std::span<const DerivedPrompt> derived) {
  std::vector<PromptId> asked;
  for (const auto& group : groups)
    if (is_derived(group.id.prompt)) asked.push_back(group.id.prompt);
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  std::vector<DerivedPrompt> prompts;
  for (const PromptId id : asked)
    if (const auto found = position(id, derived); found != derived.end()) prompts.push_back(*found);
  return prompts;
}

namespace {

/// The number of tokens of the longest words that [openings] may put after a question, including
/// the blank line before them.
std::int64_t longest_words(const RunConfig& config, const RunTexts& texts) {
  std::int64_t longest = 0;
  if (config.openings.as != "prompt") return longest;
  for (const std::string& words : config.openings.texts)
    longest = std::max(longest, std::int64_t(texts.tokenizer->encode(kBeforeWords + words).size()));
  return longest;
}

}  // namespace

std::int64_t longest_asked(const RunConfig& config, const RunTexts& texts, std::int64_t positions) {
  std::int64_t longest = texts.longest_with_help;
  for (const auto& split : texts.prompt_tokens)
    for (const auto& prompt : split) longest = std::max(longest, std::int64_t(prompt.size()));
  longest += longest_words(config, texts);
  if (config.self_judging.share > 0.0)
    longest = std::max(longest, longest_judge_task(config, texts, positions));
  longest = std::max(longest, longest_second_pass(config, texts, positions));
  return longest;
}

}  // namespace rollcall::run
