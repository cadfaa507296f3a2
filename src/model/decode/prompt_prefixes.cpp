// The table of prompts and the list of those that hold pages.
#include "model/decode/prompt_prefixes.hpp"

namespace rollcall::model {

std::shared_ptr<PromptPrefix> PromptPrefixes::find_or_add(const std::vector<std::int32_t>& tokens) {
  std::weak_ptr<PromptPrefix>& known = known_[tokens];
  if (auto prefix = known.lock()) return prefix;
  auto prefix = std::make_shared<PromptPrefix>(PromptPrefix{tokens, next_number_++});
  known = prefix;
  return prefix;
}

void PromptPrefixes::remove_unused(const std::shared_ptr<PromptPrefix>& prefix) {
  if (prefix.use_count() == 1) known_.erase(prefix->tokens);
}

void PromptPrefixes::drop_idle() {
  std::erase_if(begun_, [](const std::shared_ptr<PromptPrefix>& prefix) {
    if (prefix->waiting > 0) return false;
    prefix->kv.clear();
    return true;
  });
}

void PromptPrefixes::drop_all_but(const PromptPrefix* kept) {
  std::erase_if(begun_, [&](const std::shared_ptr<PromptPrefix>& prefix) {
    if (prefix.get() == kept) return false;
    prefix->kv.clear();
    return true;
  });
}

}  // namespace rollcall::model
