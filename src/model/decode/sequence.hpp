// Private to the model: a sequence of a decoding session, what it shares with others, and when its
// turns end.
#pragma once

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "model/engine/step_rows.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace rollcall::model {

/// Applies the stop rule to the turn that is being sampled. The rule reads the sampled tokens of
/// that turn. If the beginning of an answer was given, the rule reads it as part of the first turn.
class TurnStop {
 public:
  /// The rule for the first turn comes from `rules` itself, and later ones from a copy, because
  /// rules may count the sequences that ask for them. `given`: the beginning of the answer, which
  /// is part of the prompt. It may be empty.
  TurnStop(const StopRules& rules, std::span<const std::int32_t> given)
      : rules_(rules),
        rule_(rules ? rules() : StopRule()),
        answer_(given.begin(), given.end()),
        given_(given.size()) {}

  /// Begins a new turn, after `sampled` sampled tokens of earlier turns.
  void begin_turn(std::size_t sampled) {
    turn_ = sampled;
    rule_ = rules_ ? rules_() : StopRule();
  }
  /// The rule for a fork. The fork shares the tokens `sampled` with this sequence, and continues
  /// the turn that began after `turn` of them. A new rule reads that turn's tokens one by one,
  /// because a rule may keep state.
  TurnStop forked(std::span<const std::int32_t> sampled, std::size_t turn) const {
    TurnStop fork = *this;
    fork.answer_.resize(given_);
    fork.begin_turn(turn);
    for (std::size_t i = 0; i < sampled.size(); ++i) {
      fork.add(sampled[i]);
      if (i >= turn) static_cast<void>(fork.ends(sampled.first(i + 1)));
    }
    return fork;
  }
  void add(std::int32_t token) {
    if (!answer_.empty()) answer_.push_back(token);
  }
  /// Whether the rule ends the turn. `sampled`: all sampled tokens of the sequence. All of them
  /// have been added.
  bool ends(std::span<const std::int32_t> sampled) const {
    if (!rule_) return false;
    const bool reads_given = !answer_.empty() && turn_ == 0;
    return rule_(reads_given ? std::span<const std::int32_t>(answer_) : sampled.subspan(turn_));
  }

 private:
  StopRules rules_;
  StopRule rule_;  ///< the rule of the current turn
  std::vector<std::int32_t>
      answer_;            ///< the given beginning and all sampled tokens; empty if no beginning was
                          ///< given
  std::size_t given_;     ///< tokens of the given beginning
  std::size_t turn_ = 0;  ///< sampled tokens before the current turn
};

/// A prompt, held once for all sequences that begin with it.
struct PromptPrefix {
  std::vector<std::int32_t> tokens;
  std::uint64_t number = 0;  ///< in the order in which prompts were opened
  KvPages kv{};
  std::shared_ptr<const float> last_hidden{};  ///< [hidden] state of the last token, before the
                                               ///< final norm; null until it is computed
  std::int64_t waiting = 0;                    ///< sequences that will take this prompt's pages

  std::int64_t length() const { return std::int64_t(tokens.size()); }
  bool ready() const { return kv.computed == length(); }
};

enum class Stage { waiting, live, paused, ended };

/// The random numbers of the samples of a request.
struct SampleNumbers {
  std::uint64_t seed = 0, step = 0, prompt_address = 0;
  std::uint32_t first_sample = 0;

  RandomStream of(std::uint32_t sample) const {
    const std::uint64_t number = std::uint64_t(first_sample) + sample;
    expect(number <= UINT32_MAX, "samples are numbered with 32 bits");
    return {seed, RandomPurpose::sampling, step, prompt_address, number};
  }
};

/// The beginning of a turn after the first one.
struct LaterTurn {
  std::size_t sampled = 0;  ///< sampled tokens of earlier turns
  std::size_t said = 0;     ///< tokens from others that were appended before it
};

/// A list of tokens, with the cached keys and values of its first positions.
struct Sequence {
  std::uint64_t id;
  std::shared_ptr<PromptPrefix> prompt_prefix;
  SampleNumbers numbers;  ///< of its request
  RandomStream stream;
  TurnStop stop;
  std::int64_t limit;  ///< sampled tokens allowed up to the end of the current turn
  std::vector<std::int32_t> continuation{};  ///< tokens after the prompt: sampled and appended ones
  std::vector<LaterTurn> later_turns{};      ///< ascending by `sampled`
  DecodedSequence result{};
  KvPages kv{};  ///< empty while the sequence is live, because its SharedSequence holds them then
  Stage stage = Stage::waiting;

  std::int64_t length() const {
    return prompt_prefix->length() + std::int64_t(continuation.size());
  }
  std::int32_t token(std::int64_t position) const {
    const std::int64_t after = position - prompt_prefix->length();
    return after < 0 ? prompt_prefix->tokens[std::size_t(position)]
                     : continuation[std::size_t(after)];
  }
  /// Whether it holds pages itself. The first of them are its prompt's.
  bool has_pages() const { return !kv.pages.empty(); }
  std::int64_t sampled() const { return std::int64_t(result.tokens.size()); }
  std::int64_t pages_at_limit() const { return kernels::pages_of(length() + limit - sampled()); }
  /// The number of sampled tokens before the current turn, or before the last turn once that has
  /// ended.
  std::size_t turn() const { return later_turns.empty() ? 0 : later_turns.back().sampled; }
  /// The number of tokens after the prompt, up to and including sampled token number `count`.
  std::size_t through(std::size_t count) const;
  /// Appends tokens from others, and begins a turn in which `most` tokens may be sampled.
  void begin_turn(std::span<const std::int32_t> said, std::int64_t most);
  /// A new sequence that begins with this one's tokens, up to and including sampled token number
  /// `count`. If `said` is empty and that token did not end its turn, the new sequence continues
  /// the turn. It has no pages.
  Sequence forked(std::uint64_t id, std::size_t count, std::uint32_t sample,
                  std::span<const std::int32_t> said, std::int64_t most) const;
  /// The pages that this sequence can reuse from another one with the same first `alike` tokens, or
  /// no pages if part of the prompt is not in them. The last token is not reused, because its state
  /// has to be computed, unless it is the prompt's last token.
  KvPages pages_from(const KvPages& other, std::int64_t alike) const;
};

/// The most pages that a sequence can still take before it reaches its limit. Its positions so far
/// are in `kv`. The pages of its prompt are included if the prompt has not begun. So is the page
/// that is being filled, because it may be shared and is then copied.
inline std::int64_t pages_to_come(const Sequence& sequence, const KvPages& kv) {
  const PromptPrefix& prefix = *sequence.prompt_prefix;
  if (!kv.pages.empty()) return sequence.pages_at_limit() - kv.computed / kernels::kPageKeys;
  return sequence.pages_at_limit() - prefix.length() / kernels::kPageKeys +
         (prefix.kv.pages.empty() ? kernels::pages_of(prefix.length()) : 0);
}

/// Live sequences of one prompt that have the same tokens so far. Their positions are computed and
/// cached once, and each of them samples its own next token.
struct SharedSequence {
  std::vector<Sequence*> members;  ///< by ascending id
  KvPages kv;
  bool in_turn = false;   ///< whether it advances in the current step
  std::int64_t rows = 0;  ///< rows of this sequence that the current step computes

  const Sequence& oldest() const { return *members.front(); }
};

}  // namespace rollcall::model
