// Private to the model: the sequences of a decoding session that advance, and how they share rows.
#pragma once

#include "model/decode/sequence.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace rollcall::model {

/// Shared sequences, in the order of their prompts' numbers. Sequences of one prompt that diverged
/// late are neighbours. A step advances at most rows() sequences. If there are more, they take
/// turns.
class LiveSequences {
 public:
  using Shared = std::vector<std::shared_ptr<SharedSequence>>;

  explicit LiveSequences(std::int64_t rows) : rows_(rows) {}
  std::int64_t rows() const { return rows_; }
  std::int64_t count() const;  ///< sequences, counting each member of a shared one
  bool empty() const { return shared_.empty(); }
  Shared::const_iterator begin() const { return shared_.begin(); }
  Shared::const_iterator end() const { return shared_.end(); }

  /// Adds a sequence to the shared one that has its tokens, and keeps the longer of their caches.
  /// Returns false if there is no such shared sequence.
  bool join(Sequence& sequence);
  void add(Sequence& sequence);                          ///< as a new shared sequence
  const KvPages& kv_of(const Sequence& sequence) const;  ///< the pages computed for a live sequence
  /// Takes a sequence out. It keeps the pages that were computed for it.
  void leave(Sequence& sequence);
  /// Takes a shared sequence out and gives up its pages. Returns its members.
  std::vector<Sequence*> remove(SharedSequence& shared);
  std::vector<Sequence*> remove_all();  ///< remove() of all shared sequences

  SharedSequence& youngest() const;     ///< the shared sequence that has the highest oldest().id
  Shared in_turn_oldest_first() const;  ///< shared sequences that advance in the current step

  /// Chooses which sequences advance in the current step: those that have sampled the fewest
  /// tokens, counted in pages (least attained service). Lengths are not known in advance, so this
  /// keeps the rows busy to the end. A shared sequence that gets rows for only some of its members
  /// is split for good.
  void give_turns();
  /// Called after a step. Members that sampled the same token stay together, and the others become
  /// shared sequences of their own. Members that ended leave with the pages computed for them.
  void part_ways();

 private:
  Shared::const_iterator find(const Sequence& sequence) const;

  std::int64_t rows_;
  Shared shared_;
};

}  // namespace rollcall::model
