// Compares contents by 64 bits of their hash.
#include "run/context/stored_prompts.hpp"

#include "base/numbers/hash.hpp"
#include "core/derived_prompt.hpp"
#include "run/context/question_forms.hpp"
#include "run/context/run_texts.hpp"

namespace rollcall::run {
namespace {

std::uint64_t content_of(const std::string& text, const std::string& reference) {
  return checksum64(text + std::string(1, '\0') + reference);
}

}  // namespace

bool is_foreign(PromptId prompt) { return prompt.value >= kFirstForeign && !is_derived(prompt); }

StoredPrompts::StoredPrompts(const RunTexts& texts) {
  for (const Prompt& prompt : texts.prompts.train)
    for (std::size_t form = 0; form < texts.forms.size(); ++form)
      known_.emplace(content_of(asked(texts, prompt, form).text, prompt.answer), prompt.id.value);
}

PromptId StoredPrompts::of(const io::ArchivedGroup& group) const {
  const PromptId stored = group.group.id.prompt;
  if (is_derived(stored)) return stored;
  const std::uint64_t content = content_of(group.prompt.text, group.prompt.answer);
  if (known_.contains({content, stored.value})) return stored;
  const auto first = known_.lower_bound({content, 0});
  if (first != known_.end() && first->first == content) return {first->second};
  return {kFirstForeign + content % kFirstForeign};
}

}  // namespace rollcall::run
