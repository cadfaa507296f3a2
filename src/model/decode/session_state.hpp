// Private to the model: the state of a decoding session, and the functions that give its sequences
// room and advance them.
#pragma once

#include "base/errors/error.hpp"
#include "model/decode/decode_session.hpp"
#include "model/decode/live_sequences.hpp"
#include "model/decode/prompt_prefixes.hpp"
#include "model/engine/engine.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rollcall::model {

/// A sequence, and the hidden state from which its next token is predicted. Sequences that share a
/// hidden state are neighbours.
struct PendingSample {
  const float* hidden;
  Sequence* sequence;
};

/// The sequences of a session, by id, and what they are computed with.
struct DecodeSession::State {
  State(const PolicyModel& first, const SamplingParams& params, Team& team,
        std::int64_t cache_bytes, std::int64_t live_rows);

  Sequence& of(Id id) {
    const auto found = sequences.find(id);
    expect(found != sequences.end(), "a sequence is open until it is taken");
    return found->second;
  }
  Sequence& add(Sequence sequence) {
    admit_pages(sequence);
    const Id id = sequence.id;
    return sequences.emplace(id, std::move(sequence)).first->second;
  }
  /// Makes sure that the pool may hand out enough pages for this sequence to reach its limit, in
  /// addition to those of its prompt.
  void admit_pages(const Sequence& sequence) {
    pool.admit(kernels::pages_of(sequence.prompt_prefix->length()) + sequence.pages_at_limit());
  }
  void wait(Sequence& sequence, bool first = false) {
    sequence.stage = Stage::waiting;
    if (!sequence.has_pages()) ++sequence.prompt_prefix->waiting;
    first ? queue.push_front(&sequence) : queue.push_back(&sequence);
  }
  void wait_first(std::vector<Sequence*> again);
  void withdraw(Sequence& sequence);

  // These functions make room for pages.
  enum class Need { wish, must };
  bool make_room(const std::function<std::int64_t()>& pages, const Sequence& whose, Need need);
  void preempt(SharedSequence& shared);
  void forget_pages();

  // These functions choose which sequences advance.
  void admit();
  bool begin_prompt(const Sequence& sequence, bool is_first, bool takes_turns);
  void copy_beginning(KvPages& to, const KvPages& from, std::int64_t length);
  bool take_prompt_pages(Sequence& sequence, bool takes_turns);

  // These functions are a step of the sequences that advance.
  void take_pages(SharedSequence& shared);
  void share_rows(std::int64_t& prefill_rows);
  std::vector<PendingSample> run_rows(const PolicyModel::Packed& policy);
  std::vector<Id> sample(const PolicyModel& policy, std::span<const PendingSample> pending);

  const ModelConfig config;
  const SamplingParams sampling;
  std::unique_ptr<DecodeEngine> engine;
  PagePool pool;  // declared before all members that hold pages of it
  StepRows step;
  PromptPrefixes prompts;
  std::map<Id, Sequence> sequences;
  std::deque<Sequence*> queue;  ///< waiting sequences, in the order in which they begin
  LiveSequences live;
  /// The policy that all keys and values were computed with.
  std::optional<std::pair<PolicyVersion, const PolicyModel::Packed*>> computed_with;
  bool stepping = false;  ///< a step has begun and not ended
  std::uint64_t next_id = 0;
};

}  // namespace rollcall::model
