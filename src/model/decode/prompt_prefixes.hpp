// Private to the model: the prompts of a decoding session, each held once.
#pragma once

#include "model/decode/sequence.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace rollcall::model {

/// Finds prompts by their tokens, and knows which of them hold pages. A prompt gives up its pages
/// when no sequence waits for them. Sequences that share a page keep it alive.
class PromptPrefixes {
 public:
  std::shared_ptr<PromptPrefix> find_or_add(const std::vector<std::int32_t>& tokens);
  /// Forgets a prompt whose last sequence has been closed. The caller holds the only pointer to it.
  void remove_unused(const std::shared_ptr<PromptPrefix>& prefix);

  /// Prompts that hold pages, in the order in which they began.
  const std::vector<std::shared_ptr<PromptPrefix>>& begun() const { return begun_; }
  void begin(const std::shared_ptr<PromptPrefix>& prefix) { begun_.push_back(prefix); }
  /// Takes the pages from prompts that no sequence waits for.
  void drop_idle();
  /// Takes the pages from all prompts except one, or from all of them if that is nullptr.
  void drop_all_but(const PromptPrefix* kept);

 private:
  std::map<std::vector<std::int32_t>, std::weak_ptr<PromptPrefix>> known_;
  std::vector<std::shared_ptr<PromptPrefix>> begun_;
  std::uint64_t next_number_ = 0;
};

}  // namespace rollcall::model
