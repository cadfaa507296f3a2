// Compares tokens, and finds pages that hold a common beginning.
#include "model/decode/common_beginning.hpp"

#include <algorithm>

namespace rollcall::model {

CommonBeginning common_beginning(const PromptPrefix& prefix, const PromptPrefixes& prompts,
                                 const LiveSequences& live) {
  CommonBeginning longest;
  const PromptPrefix* last = nullptr;
  const auto compare = [&](const PromptPrefix& other, const KvPages& kv) {
    if (&other == last || kv.pages.empty()) return;  // sequences of one prompt are neighbours
    last = &other;
    const std::int64_t alike = std::mismatch(prefix.tokens.begin(), prefix.tokens.end() - 1,
                                             other.tokens.begin(), other.tokens.end())
                                   .first -
                               prefix.tokens.begin();
    if (const std::int64_t computed = std::min(alike, kv.computed);
        computed >= kLeastShared && computed > longest.computed) {
      longest.kv = &kv;
      longest.computed = computed;
    }
    longest.soon = std::max(longest.soon, alike);
  };
  for (const auto& other : prompts.begun()) compare(*other, other->kv);
  for (const auto& shared : live) compare(*shared->oldest().prompt_prefix, shared->kv);
  return longest;
}

std::int64_t alike_positions(const SharedSequence& a, const SharedSequence& b) {
  const Sequence &one = a.oldest(), &other = b.oldest();
  if (one.prompt_prefix != other.prompt_prefix) return 0;
  const auto after_prompt = std::mismatch(one.continuation.begin(), one.continuation.end(),
                                          other.continuation.begin(), other.continuation.end())
                                .first -
                            one.continuation.begin();
  return std::min({one.prompt_prefix->length() + after_prompt, a.kv.computed, b.kv.computed});
}

}  // namespace rollcall::model
