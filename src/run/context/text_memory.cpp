// Counts the memory of a run's texts, including the overhead of the C library's allocator.
#include "run/context/text_memory.hpp"

#include "run/context/run_texts.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace rollcall::run {
namespace {

/// Bytes that the allocator uses for one allocation: a word of its own before it, rounded up to
/// sixteen bytes.
std::uint64_t on_heap(std::uint64_t bytes) {
  return bytes == 0 ? 0 : std::max<std::uint64_t>(32, (bytes + 8 + 15) / 16 * 16);
}

std::uint64_t on_heap(const std::string& text) {
  return text.capacity() > std::string().capacity() ? on_heap(text.capacity() + 1) : 0;
}

}  // namespace

void count_bytes(const RunTexts& texts, sizing::GivenTexts& given) {
  for (const Split split : {Split::train, Split::validation, Split::heldout}) {
    const auto& prompts = texts.prompts.of(split);
    given.table_bytes += prompts.size() * sizeof(Prompt);
    for (const Prompt& p : prompts)
      given.text_bytes += on_heap(p.text) + on_heap(p.answer) + on_heap(p.solution) +
                          on_heap(p.domain) + on_heap(p.conversation);
    for (const auto& tokens : texts.prompt_tokens[std::size_t(split)])
      given.text_bytes += sizeof tokens + on_heap(tokens.capacity() * sizeof(std::int32_t));
  }
  constexpr std::uint64_t kNode = 2 * sizeof(std::string) + 2 * sizeof(void*),
                          kBucket = sizeof(void*);
  for (const auto& [text, row] : texts.prompts.extra)
    given.text_bytes += on_heap(kNode) + kBucket + on_heap(text) + on_heap(row);
  for (const auto& example : texts.examples)
    given.text_bytes += sizeof example +
                        on_heap(example.tokens.capacity() * sizeof example.tokens[0]) +
                        on_heap(example.learnt.capacity() * sizeof example.learnt[0]);
}

}  // namespace rollcall::run
