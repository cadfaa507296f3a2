// Turns and forks of a sequence.
#include "model/decode/sequence.hpp"

#include <algorithm>
#include <iterator>

namespace rollcall::model {
namespace {

template <class T>
std::vector<T> beginning(const std::vector<T>& of, std::size_t count) {
  return {of.begin(), of.begin() + std::ptrdiff_t(std::min(count, of.size()))};
}

/// What was sampled up to and including the `count`-th token.
DecodedSequence beginning(const DecodedSequence& of, std::size_t count) {
  DecodedSequence part{.tokens = beginning(of.tokens, count),
                       .columns = {.logprob = beginning(of.columns.logprob, count),
                                   .entropy = beginning(of.columns.entropy, count)},
                       .versions = beginning(of.versions, count),
                       .kept_mass = beginning(of.kept_mass, count),
                       .likeliest = beginning(of.likeliest, count),
                       .runner_up = beginning(of.runner_up, count)};
  for (std::size_t token = 0; token < count; ++token) part.kept.put(token, of.kept.of(token));
  return part;
}

/// If `sequence` is forked after `count` sampled tokens: how many of them precede the fork's turn.
std::size_t turn_after(const Sequence& sequence, std::size_t count) {
  if (sequence.stage == Stage::ended && count == sequence.result.tokens.size()) return count;
  std::size_t turn = 0;
  for (const LaterTurn& later : sequence.later_turns)
    if (later.sampled <= count) turn = later.sampled;
  return turn;
}

}  // namespace

std::size_t Sequence::through(std::size_t count) const {
  std::size_t tokens = count;
  for (const LaterTurn& later : later_turns)
    if (later.sampled < count) tokens += later.said;
  return tokens;
}

void Sequence::begin_turn(std::span<const std::int32_t> said, std::int64_t most) {
  continuation.insert(continuation.end(), said.begin(), said.end());
  later_turns.push_back({result.tokens.size(), said.size()});
  limit = sampled() + most;
  result.stopped = false;
  stop.begin_turn(result.tokens.size());
}

Sequence Sequence::forked(std::uint64_t number, std::size_t count, std::uint32_t sample,
                          std::span<const std::int32_t> said, std::int64_t most) const {
  const std::size_t turn = said.empty() ? turn_after(*this, count) : count;
  Sequence fork{.id = number,
                .prompt_prefix = prompt_prefix,
                .numbers = numbers,
                .stream = numbers.of(sample),
                .stop = stop.forked(std::span(result.tokens).first(count), turn),
                .limit = std::int64_t(count) + most,
                .continuation = beginning(continuation, through(count)),
                .result = beginning(result, count)};
  std::copy_if(later_turns.begin(), later_turns.end(), std::back_inserter(fork.later_turns),
               [&](const LaterTurn& later) { return later.sampled < count; });
  if (turn == count) fork.begin_turn(said, most);
  return fork;
}

KvPages Sequence::pages_from(const KvPages& other, std::int64_t alike) const {
  const std::int64_t usable = length() - (continuation.empty() ? 0 : 1),
                     computed = std::min({other.computed, alike, usable});
  return computed < prompt_prefix->length() ? KvPages() : other.first(computed);
}

}  // namespace rollcall::model
