// The steps of a decoding session. A sequence is a list of tokens, of which the first ones are in the
// KV cache. A step computes tokens that are not, and samples the next token of each sequence that
// has none left. So decoding, prompts, appended tokens and sequences that lost their pages are one
// case.
#include "model/decode/decode_session.hpp"

#include "base/errors/error.hpp"
#include "model/decode/check_request.hpp"
#include "model/decode/common_beginning.hpp"
#include "model/engine/backend.hpp"
#include "model/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

namespace rollcall::model {
namespace {

using kernels::kPageKeys;
using kernels::pages_of;

/// A sequence and the hidden state that its next token is predicted from. Sequences that share a
/// hidden state are neighbours.
struct PendingSample {
  const float* hidden;
  Sequence* sequence;
};

/// Bytes of a page in all layers of a policy.
std::int64_t page_bytes(const PolicyModel::Packed& policy) {
  return policy.config.num_hidden_layers * page_shape(policy).bytes();
}

/// Appends a sampled token. Returns true when it ends the sequence's turn.
bool take_token(const PolicyModel& policy, Sequence& sequence, const SampledToken& sampled) {
  const auto& [token, logprob, entropy, kept_mass, kept] = sampled;
  DecodedSequence& result = sequence.result;
  result.kept.put(result.tokens.size(), kept);
  if (kept_mass > 0.0F) result.kept_mass.push_back(kept_mass);
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

struct DecodeSession::State {
  State(const PolicyModel& first, const SamplingParams& params, Team& team,
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

  Sequence& of(Id id) {
    const auto found = sequences.find(id);
    expect(found != sequences.end(), "a sequence is open until it is taken");
    return *found->second;
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
  std::unordered_map<Id, std::unique_ptr<Sequence>> sequences;
  std::deque<Sequence*> queue;  ///< waiting sequences, in the order in which they begin
  LiveSequences live;
  /// The policy that all keys and values were computed with.
  std::optional<std::pair<PolicyVersion, const PolicyModel::Packed*>> computed_with;
  bool stepping = false;  ///< a step has begun and not ended
  std::uint64_t next_id = 0;
};

// ---- waiting and room

/// Puts sequences at the front of the queue, by ascending id.
void DecodeSession::State::wait_first(std::vector<Sequence*> again) {
  std::sort(again.begin(), again.end(),
            [](const Sequence* a, const Sequence* b) { return a->id > b->id; });
  for (Sequence* sequence : again) wait(*sequence, true);
}

/// Ends a sequence's waiting or advancing.
void DecodeSession::State::withdraw(Sequence& sequence) {
  if (sequence.stage == Stage::live) return live.leave(sequence);
  if (sequence.stage != Stage::waiting) return;
  queue.erase(std::find(queue.begin(), queue.end(), &sequence));
  if (!sequence.has_pages()) --sequence.prompt_prefix->waiting;
}

/// Gives up pages whose contents can be computed again until `pages()` are free. It takes them from
/// prompts that no sequence waits for, then from paused and ended sequences, then from live ones
/// that began after `whose`, the last of them first. With Need::must it also takes them from waiting
/// sequences and from all other prompts, because one sequence always has room. The number is asked
/// for again each time: a page that `whose` shared may become its own, so that it need not be
/// copied.
bool DecodeSession::State::make_room(const std::function<std::int64_t()>& pages,
                                     const Sequence& whose, Need need) {
  const auto enough = [&] { return pool.free() >= pages(); };
  if (enough()) return true;
  prompts.drop_idle();
  for (auto& [id, sequence] : sequences) {
    if (enough()) return true;
    if (sequence->stage == Stage::paused || sequence->stage == Stage::ended) sequence->kv.clear();
  }
  while (!enough() && whose.stage == Stage::live) {
    SharedSequence& youngest = live.youngest();
    if (youngest.oldest().id <= whose.id) break;
    preempt(youngest);
  }
  if (enough() || need == Need::wish) return enough();
  for (Sequence* waiting : queue) {
    if (waiting == &whose || !waiting->has_pages()) continue;
    waiting->kv.clear();
    ++waiting->prompt_prefix->waiting;
  }
  prompts.drop_all_but(whose.prompt_prefix.get());
  expect(enough(), "one sequence always has room");
  return true;
}

/// Sends the members of a shared sequence back to the queue. Its pages are given up.
void DecodeSession::State::preempt(SharedSequence& shared) {
  expect(live.count() <= live.rows(), "those who take turns have room");
  wait_first(live.remove(shared));
}

/// Gives up all pages, because another policy computed them. Live sequences wait again.
void DecodeSession::State::forget_pages() {
  for (const Sequence* waiting : queue)
    if (waiting->has_pages()) ++waiting->prompt_prefix->waiting;
  for (auto& [id, sequence] : sequences) sequence->kv.clear();
  prompts.drop_all_but(nullptr);
  wait_first(live.remove_all());
}

// ---- which sequences advance

/// Fills free rows with waiting sequences in their order, and begins the prompts that they need.
/// Where there is room for all of them up to their limits, more sequences than rows are admitted and
/// take turns.
void DecodeSession::State::admit() {
  std::int64_t begun = live.count();  // live sequences, and those that wait for their prompt
  std::int64_t to_come = 0;           // the most pages that all these sequences will still take
  for (const auto& shared : live)
    for (const Sequence* sequence : shared->members)
      to_come += pages_to_come(*sequence, shared->kv);
  const auto count_in = [&](const Sequence& sequence) {
    ++begun;
    to_come += pages_to_come(sequence, sequence.kv);
  };
  for (auto it = queue.begin(); it != queue.end();) {
    Sequence& sequence = **it;
    const PromptPrefix& prefix = *sequence.prompt_prefix;
    const bool takes_turns = begun >= live.rows();
    if (takes_turns && (begun >= kTurns * live.rows() ||
                        to_come + pages_to_come(sequence, sequence.kv) > pool.free()))
      break;
    if (live.join(sequence)) {
      count_in(sequence);
      sequence.stage = Stage::live;
      it = queue.erase(it);
      continue;
    }
    if (!sequence.has_pages() && !prefix.ready()) {
      if (prefix.kv.pages.empty() && !begin_prompt(sequence, begun == 0, takes_turns)) break;
      count_in(sequence);
      ++it;
      continue;
    }
    if (!sequence.has_pages() && !take_prompt_pages(sequence, takes_turns)) break;
    count_in(sequence);
    sequence.stage = Stage::live;
    live.add(sequence);
    it = queue.erase(it);
  }
  prompts.drop_idle();
}

/// Takes pages for a sequence's prompt, the first ones from a prompt with the same beginning. Where
/// another prompt will soon have computed more of that beginning, this one waits for it. Returns
/// false where there is no room. `is_first`: that no other sequence advances or waits for a prompt.
/// `takes_turns`: that admit() has made sure of the room.
bool DecodeSession::State::begin_prompt(const Sequence& sequence, bool is_first, bool takes_turns) {
  const std::shared_ptr<PromptPrefix>& prefix = sequence.prompt_prefix;
  if (const CommonBeginning common = common_beginning(*prefix, prompts, live);
      common.soon >= common.computed + kLeastShared)
    return true;
  const std::int64_t pages = pages_of(prefix->length()),
                     wished = is_first ? pages : pages + live.count();
  if (!takes_turns &&
      !make_room([&] { return wished; }, sequence, is_first ? Need::must : Need::wish))
    return false;
  // Making room may have taken the beginning, so it is looked up again.
  if (const CommonBeginning common = common_beginning(*prefix, prompts, live); common.kv != nullptr)
    copy_beginning(prefix->kv, *common.kv, common.computed);
  while (std::int64_t(prefix->kv.pages.size()) < pages) prefix->kv.push(pool.take());
  prompts.begin(prefix);
  return true;
}

/// Shares the whole pages of the first `length` positions and copies the rest, for which a page is
/// free.
void DecodeSession::State::copy_beginning(KvPages& to, const KvPages& from, std::int64_t length) {
  const std::int64_t whole = length / kPageKeys, rest = length % kPageKeys;
  for (std::int64_t p = 0; p < whole; ++p) to.push(from.pages[std::size_t(p)]);
  if (rest > 0) {
    to.push(pool.take());
    engine->copy_positions(from.pages[std::size_t(whole)].get(), rest, to.pages.back().get());
  }
  to.computed = length;
}

/// Gives a waiting sequence its prompt's pages. Returns false where there is no room for the tokens
/// that it has already and for the page that each live sequence may need soon.
bool DecodeSession::State::take_prompt_pages(Sequence& sequence, bool takes_turns) {
  PromptPrefix& prefix = *sequence.prompt_prefix;
  const std::int64_t wished =
      pages_of(sequence.length()) - prefix.length() / kPageKeys + live.count();
  if (!live.empty() && !takes_turns && !make_room([&] { return wished; }, sequence, Need::wish))
    return false;
  sequence.kv = prefix.kv;
  --prefix.waiting;
  return true;
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

/// Chooses how many rows of each live sequence are computed in this step, the oldest first, and
/// takes their pages. A sequence that finds no pages waits again. Tokens that are not followed by a
/// sample are taken from `prefill_rows`.
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
  // Sequences without a token of their own sample from their prompt's last hidden state, which this
  // step may have computed again.
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
  const std::int64_t limit = s.sampling.max_new_tokens - request.given;
  s.pool.admit(pages_of(prompt_prefix->length()) + pages_of(prompt_prefix->length() + limit));
  const auto given = std::span(request.prompt).last(std::size_t(request.given));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t sample = request.first_sample + first + i;
    auto sequence = std::make_unique<Sequence>(
        Sequence{.id = s.next_id++,
                 .prompt_prefix = prompt_prefix,
                 .stream = RandomStream(request.seed, RandomPurpose::sampling, request.step,
                                        request.prompt_address, sample),
                 .stop = TurnStop(stops, given),
                 .limit = limit});
    Sequence& kept = *sequence;
    s.sequences.emplace(kept.id, std::move(sequence));
    s.wait(kept);
  }
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

void DecodeSession::append(Id id, std::span<const std::int32_t> tokens) {
  State& s = *state_;
  Sequence& sequence = s.of(id);
  expect(sequence.stage == Stage::ended || sequence.stage == Stage::paused,
         "others' tokens come when the policy's turn is over");
  const std::int64_t positions = sequence.length() + std::int64_t(tokens.size()) + sequence.limit -
                                 std::int64_t(sequence.result.tokens.size());
  require<InputError>(
      std::int64_t(sequence.result.tokens.size()) < sequence.limit &&
          positions <= s.config.max_position_embeddings,
      fmt::format("{} tokens are appended to a sequence of {}, of which {} of {} may be sampled",
                  tokens.size(), sequence.length(), sequence.result.tokens.size(), sequence.limit),
      fmt::format("the model has {} positions, and a sequence goes on only where it may sample",
                  s.config.max_position_embeddings),
      "end the conversation earlier or raise sampling.max_new_tokens");
  for (const std::int32_t token : tokens)
    expect(token >= 0 && token < s.config.vocab_size, "others' tokens are in the vocabulary");
  sequence.continuation.insert(sequence.continuation.end(), tokens.begin(), tokens.end());
  sequence.result.stopped = false;
  sequence.stop.begin_turn(sequence.result.tokens.size());
  s.pool.admit(pages_of(sequence.prompt_prefix->length()) + pages_of(positions));
  s.wait(sequence);
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
