// The steps of a decoding session. A sequence is a list of tokens, the first of which are in the KV
// cache. A step computes some that are not, and samples the next token of each sequence that has
// none left to compute. Decoding, prompts, appended tokens and sequences that lost their pages are
// therefore one case.
#include "model/decode/decode_session.hpp"

#include "base/errors/error.hpp"
#include "model/decode/check_request.hpp"
#include "model/decode/common_beginning.hpp"
#include "model/decode/session_state.hpp"
#include "model/engine/backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rollcall::model {
namespace {

using kernels::kPageKeys;
using kernels::pages_of;

/// Bytes of a page over all layers of a policy.
std::int64_t page_bytes(const PolicyModel::Packed& policy) {
  return policy.config.num_hidden_layers * page_shape(policy).bytes();
}

/// Appends a sampled token. Returns true when it ends the sequence's turn.
bool take_token(const PolicyModel& policy, Sequence& sequence, const SampledToken& sampled) {
  const auto& [token, logprob, entropy, kept_mass, kept, likeliest, runner_up] = sampled;
  DecodedSequence& result = sequence.result;
  result.kept.put(result.tokens.size(), kept);
  if (kept_mass > 0.0F) result.kept_mass.push_back(kept_mass);
  if (runner_up >= 0.0F)
    result.likeliest.push_back(likeliest), result.runner_up.push_back(runner_up);
  result.tokens.push_back(token);
  result.columns.logprob.push_back(logprob);
  result.columns.entropy.push_back(entropy);
  result.versions.push_back(policy.version().value);
  sequence.continuation.push_back(token);
  sequence.stop.add(token);
  result.stopped = is_end_token(policy.config(), token) || sequence.stop.ends(result.tokens);
  if (!result.stopped && sequence.sampled() < sequence.limit) return false;
  sequence.stage = Stage::ended;
  return true;
}

}  // namespace

DecodeSession::State::State(const PolicyModel& first, const SamplingParams& params, Team& team,
                            std::int64_t cache_bytes, std::int64_t live_rows)
    : config(first.config()),
      sampling(params),
      engine(make_decode_engine(first.packed(), params, team, live_rows + kPrefillRows)),
      pool(page_bytes(first.packed()),
           std::min(cache_bytes, engine->most_page_bytes()) / page_bytes(first.packed()),
           engine->page_memory()),
      step(page_shape(first.packed())),
      live(live_rows) {
  expect(live_rows > 0, "a session advances one sequence or more");
  require<ConfigError>(params.max_new_tokens > 0,
                       fmt::format("sampling.max_new_tokens is {}", params.max_new_tokens),
                       "nothing would be sampled", "choose 1 or more");
}

// ---- a step

/// Takes the pages for the rows of this step. The caller has made sure that they are free.
void DecodeSession::State::take_pages(SharedSequence& shared) {
  KvPages& kv = shared.kv;
  if (shared.rows > 0 && kv.continues_in_shared_page()) {
    PagePool::Page& page = kv.pages[kv.next_page()];
    PagePool::Page copy = pool.take();
    engine->copy_positions(page.get(), kv.computed % kPageKeys, copy.get());
    kv.table[kv.next_page()] = copy.get();
    page = std::move(copy);
  }
  while (std::int64_t(kv.pages.size()) < pages_of(kv.computed + shared.rows)) kv.push(pool.take());
}

/// Chooses how many rows of each live sequence this step computes, oldest first, and takes their
/// pages. A sequence that finds no pages goes back to waiting. Tokens that no sample follows are
/// charged to `prefill_rows`.
void DecodeSession::State::share_rows(std::int64_t& prefill_rows) {
  const LiveSequences::Shared by_age = live.in_turn_oldest_first();
  for (const auto& shared : by_age) {
    if (shared->members.empty()) continue;  // it was preempted for an older one
    const std::int64_t left = shared->oldest().length() - shared->kv.computed;
    shared->rows = left <= 1 ? left : std::min(left, prefill_rows);
    if (left > 1) prefill_rows -= shared->rows;
    const auto missing = [&] { return shared->kv.missing_pages(shared->rows); };
    if (make_room(missing, shared->oldest(), shared == by_age.front() ? Need::must : Need::wish))
      take_pages(*shared);
    else preempt(*shared);
  }
}

/// Computes the rows of this step: first those of live sequences, then those of prompts. Returns the
/// sequences whose next token can be sampled.
std::vector<PendingSample> DecodeSession::State::run_rows(const PolicyModel::Packed& policy) {
  std::int64_t prefill_rows = kPrefillRows;
  share_rows(prefill_rows);
  step.clear();
  std::vector<std::pair<Piece, const SharedSequence*>> pieces;
  std::vector<std::pair<Piece, PromptPrefix*>> prompt_pieces;
  for (const auto& shared : live) {
    if (shared->rows == 0) continue;
    const auto token = [&one = shared->oldest()](std::int64_t p) { return one.token(p); };
    const std::int64_t alike = pieces.empty() ? 0 : alike_positions(*pieces.back().second, *shared);
    pieces.emplace_back(step.add(shared->kv, shared->rows, token, alike), shared.get());
  }
  for (const auto& prefix : prompts.begun()) {
    const std::int64_t count = std::min(prefix->length() - prefix->kv.computed, prefill_rows);
    prefill_rows -= count;
    const auto token = [&](std::int64_t p) { return prefix->tokens[std::size_t(p)]; };
    if (count > 0) prompt_pieces.emplace_back(step.add(prefix->kv, count, token), prefix.get());
  }
  const std::int64_t width = policy.config.hidden_size;
  const float* hidden = step.tokens.empty() ? nullptr : engine->hidden(policy, step);
  const auto last_of = [&](const Piece& piece) {
    piece.kv->computed += piece.count;
    return hidden + (piece.first_row + piece.count - 1) * width;
  };
  std::vector<PendingSample> pending;
  const auto sample_all = [&](const float* from, const SharedSequence& shared) {
    for (Sequence* sequence : shared.members) pending.push_back({from, sequence});
  };
  for (const auto& [piece, shared] : pieces) {
    const float* last = last_of(piece);
    if (shared->kv.computed == shared->oldest().length()) sample_all(last, *shared);
  }
  for (const auto& [piece, prefix] : prompt_pieces) {
    const float* last = last_of(piece);
    if (prefix->ready()) prefix->last_hidden = engine->keep(last);
  }
  // Sequences with no token after their prompt sample from the prompt's last hidden state, which
  // this step may have recomputed.
  for (const auto& shared : live) {
    const Sequence& one = shared->oldest();
    if (shared->in_turn && one.continuation.empty() && shared->kv.computed == one.length())
      sample_all(one.prompt_prefix->last_hidden.get(), *shared);
  }
  return pending;
}

/// Samples a token for each pending sample. Returns the sequences whose turn their token ended.
std::vector<DecodeSession::Id> DecodeSession::State::sample(
    const PolicyModel& policy, std::span<const PendingSample> pending) {
  std::vector<SampleRequest> requests;
  for (const auto& [hidden, sequence] : pending)
    requests.push_back({hidden, sequence->stream.uniform(sequence->result.tokens.size())});
  const std::vector<SampledToken> sampled = engine->draw(policy.packed(), requests);
  std::vector<Id> ended;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    if (take_token(policy, *pending[i].sequence, sampled[i]))
      ended.push_back(pending[i].sequence->id);
  }
  live.part_ways();
  return ended;
}

// ---- the session

DecodeSession::DecodeSession(const PolicyModel& policy, const SamplingParams& sampling, Team& team,
                             std::int64_t cache_bytes, std::int64_t live_rows)
    : state_(std::make_unique<State>(policy, sampling, team, cache_bytes, live_rows)) {}
DecodeSession::~DecodeSession() = default;

std::int64_t DecodeSession::scratch_bytes(const ModelConfig& config, std::int64_t live_rows) {
  return Backend::scratch_bytes(config, live_rows + kPrefillRows);
}

DecodeSession::Id DecodeSession::open(const DecodeRequest& request, std::uint32_t first,
                                      std::uint32_t count, const StopRules& stops) {
  State& s = *state_;
  check_request(request, s.config, s.sampling);
  if (count == 0) return s.next_id;
  expect(std::uint64_t(request.first_sample) + first + count <= std::uint64_t(UINT32_MAX) + 1,
         "samples are numbered with 32 bits");
  const std::shared_ptr<PromptPrefix> prompt_prefix = s.prompts.find_or_add(request.prompt);
  const Id begin = s.next_id;
  const std::int64_t limit = first_turn_limit(request, s.sampling);
  const auto given = std::span(request.prompt).last(std::size_t(request.given));
  const SampleNumbers numbers{request.seed, request.step, request.prompt_address,
                              request.first_sample};
  for (std::uint32_t i = 0; i < count; ++i)
    s.wait(s.add(Sequence{.id = s.next_id++,
                          .prompt_prefix = prompt_prefix,
                          .numbers = numbers,
                          .stream = numbers.of(first + i),
                          .stop = TurnStop(stops, given),
                          .limit = limit}));
  return begin;
}

std::vector<DecodeSession::Id> DecodeSession::advance(const PolicyModel& policy) {
  State& s = *state_;
  const PolicyModel::Packed& packed = policy.packed();
  expect(packed.kernels == s.step.shape().kernels &&
             packed.config.hidden_size == s.config.hidden_size &&
             packed.config.vocab_size == s.config.vocab_size &&
             packed.config.num_hidden_layers == s.config.num_hidden_layers,
         "policies of a session have one shape and one set of kernels");
  expect(!std::exchange(s.stepping, true), "a session is not used again after an error");
  const std::pair now(policy.version(), &packed);
  if (s.computed_with && *s.computed_with != now) s.forget_pages();
  s.computed_with = now;
  s.admit();
  s.live.give_turns();
  auto ended = s.sample(policy, s.run_rows(packed));
  s.stepping = false;
  return ended;
}

bool DecodeSession::idle() const { return unfinished() == 0; }

std::int64_t DecodeSession::unfinished() const {
  return std::int64_t(state_->queue.size()) + state_->live.count();
}

std::int64_t DecodeSession::advancing() const {
  return std::min(state_->live.count(), state_->live.rows());
}
std::int64_t DecodeSession::cache_bytes() const {
  return state_->pool.taken() * state_->pool.page_bytes();
}

std::int64_t DecodeSession::computed_tokens() const { return state_->step.added(); }

void DecodeSession::append(Id id, std::span<const std::int32_t> tokens) {
  State& s = *state_;
  const Sequence& sequence = s.of(id);
  const std::int64_t most = sequence.limit - sequence.sampled();
  require<InputError>(
      most > 0 && sequence.length() + std::int64_t(tokens.size()) + most <=
                      s.config.max_position_embeddings,
      fmt::format("{} tokens are appended to a sequence of {}, of which {} of {} may be sampled",
                  tokens.size(), sequence.length(), sequence.sampled(), sequence.limit),
      fmt::format("the model has {} positions, and a sequence goes on only where it may sample",
                  s.config.max_position_embeddings),
      "end the conversation earlier or raise sampling.max_new_tokens");
  append(id, tokens, most);
}

void DecodeSession::append(Id id, std::span<const std::int32_t> tokens, std::int64_t most) {
  State& s = *state_;
  Sequence& sequence = s.of(id);
  expect(sequence.stage == Stage::ended || sequence.stage == Stage::paused,
         "others' tokens come when the policy's turn is over");
  expect_room(sequence.length(), tokens, most, s.config);
  sequence.begin_turn(tokens, most);
  s.admit_pages(sequence);
  s.wait(sequence);
}

DecodeSession::Id DecodeSession::fork(Id of, std::size_t sampled, std::uint32_t sample,
                                      std::span<const std::int32_t> said, std::int64_t most) {
  State& s = *state_;
  const Sequence& from = s.of(of);
  expect(sampled <= from.result.tokens.size(), "a fork begins with tokens that were sampled");
  const std::int64_t alike = from.prompt_prefix->length() + std::int64_t(from.through(sampled));
  expect_room(alike, said, most, s.config);
  Sequence& fork = s.add(from.forked(s.next_id++, sampled, sample, said, most));
  fork.kv = fork.pages_from(from.stage == Stage::live ? s.live.kv_of(from) : from.kv, alike);
  s.wait(fork);
  return fork.id;
}

void DecodeSession::pause(Id id) {
  State& s = *state_;
  Sequence& sequence = s.of(id);
  expect(sequence.stage == Stage::waiting || sequence.stage == Stage::live,
         "a sequence is paused while it waits or advances");
  s.withdraw(sequence);
  sequence.stage = Stage::paused;
}

void DecodeSession::resume(Id id) {
  Sequence& sequence = state_->of(id);
  expect(sequence.stage == Stage::paused, "a paused sequence is resumed");
  state_->wait(sequence);
}

const DecodedSequence& DecodeSession::at(Id id) const { return state_->of(id).result; }
std::size_t DecodeSession::turn(Id id) const { return state_->of(id).turn(); }

DecodedSequence DecodeSession::take(Id id) {
  State& s = *state_;
  Sequence& sequence = s.of(id);
  s.withdraw(sequence);
  DecodedSequence result = std::move(sequence.result);
  const std::shared_ptr<PromptPrefix> prompt_prefix = sequence.prompt_prefix;
  s.sequences.erase(id);
  s.prompts.drop_idle();
  s.prompts.remove_unused(prompt_prefix);
  return result;
}

}  // namespace rollcall::model
