// (long: one state machine) Every sequence is its known tokens and how many of them stand in pages.
// A step runs rows that do not, and draws where none are
// left: decoding, prompts, others' tokens and what lost its pages are one case. Sequences that have
// the same tokens are a shared_sequence, run once, until they draw different ones.
#include "model/decode/decode_session.hpp"

#include "base/error.hpp"
#include "model/engine/backend.hpp"
#include "model/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace rollcall::model {
namespace {

using kernels::kPageKeys;
using kernels::pages_of;

constexpr std::int64_t kLeastShared = 16;  // tokens that are worth a copy, or a step's wait

/// What a prompt has in common with another that has begun.
struct Beginning {
  const KvPages* run = nullptr;
  std::int64_t computed = 0;  ///< of it, in the run's pages
  std::int64_t soon = 0;      ///< the most that any will have computed
};

/// A sequence and the hidden state that it draws from: those that draw from one stand side by side.
struct PendingSample {
  const float* hidden;
  Sequence* sequence;
};

using Branches = std::vector<std::shared_ptr<SharedSequence>>;

}  // namespace

struct DecodeSession::State {
  State(const PolicyModel& first, const SamplingParams& params, Team& members,
        std::int64_t cache_bytes, std::int64_t live_rows)
      : config(first.config()),
        sampling(params),
        shape(page_shape(first.packed())),
        layers(first.config().num_hidden_layers),
        most_live(live_rows),
        engine(make_decode_engine(first.packed(), params, members, live_rows + kPrefillRows)),
        pool(layers * shape.bytes(),
             std::min(cache_bytes, engine->most_page_bytes()) / (layers * shape.bytes()),
             engine->page_memory()),
        step(shape) {
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
    if (!sequence.begun()) ++sequence.prompt_prefix->waiting;
    first ? queue.push_front(&sequence) : queue.push_back(&sequence);
  }
  /// It waits and advances no more.
  void withdraw(Sequence& sequence) {
    if (sequence.stage == Stage::live) return leave_branch(sequence);
    if (sequence.stage != Stage::waiting) return;
    queue.erase(std::find(queue.begin(), queue.end(), &sequence));
    if (!sequence.begun()) --sequence.prompt_prefix->waiting;
  }
  void leave_branch(Sequence& sequence);
  std::int64_t live_sequences() const {
    return std::accumulate(live.begin(), live.end(), std::int64_t(0),
                           [](std::int64_t sum, const auto& shared_sequence) {
                             return sum + std::int64_t(shared_sequence->members.size());
                           });
  }

  // Room.
  enum class Need { wish, must };
  using Pages = std::function<std::int64_t()>;
  bool make_room(const Pages& pages, const Sequence& whose, Need need);
  void drop_idle_stems();
  void preempt(SharedSequence& shared_sequence);
  void wait_anew(std::vector<Sequence*> again);
  void forget();

  // A step.
  std::int64_t pages_to_come(const Sequence& sequence, const KvPages& run) const;
  void admit();
  bool join(Sequence& sequence);
  void give_turns();
  void part_ways();
  Beginning known_beginning(const PromptPrefix& prompt_prefix) const;
  void take_beginning(KvPages& run, const KvPages& of, std::int64_t length);
  bool begin(Sequence& sequence, bool has_room);
  void take_pages(SharedSequence& shared_sequence);
  void share_pages(std::int64_t& room);
  std::vector<PendingSample> run_rows(const PolicyModel::Packed& policy);
  std::vector<Id> choose(const PolicyModel& policy, std::span<const PendingSample> drawings);
  bool take_token(const PolicyModel& policy, Sequence& sequence, const SampledToken& drawn);

  const ModelConfig config;
  const SamplingParams sampling;
  PageShape shape;
  std::int64_t layers, most_live;
  std::unique_ptr<DecodeEngine> engine;
  PagePool pool;  // before all that holds pages of it
  StepRows step;
  std::map<std::vector<std::int32_t>, std::weak_ptr<PromptPrefix>> prompt_prefixes;
  std::unordered_map<Id, std::unique_ptr<Sequence>> sequences;
  std::deque<Sequence*> queue;  ///< in the order in which they begin
  Branches live;  ///< in the order of their prompts' numbers; of a prompt, those that parted late
                  ///< side by side
  std::vector<std::shared_ptr<PromptPrefix>> begun_stems;  ///< that hold pages
  /// whose the pages are
  std::optional<std::pair<PolicyVersion, const PolicyModel::Packed*>> computed_under;
  bool stepping = false;  ///< a step has begun and not ended
  std::uint64_t next_id = 0, next_stem = 0;
};

// ---- room
// --------------------------------------------------------------------------------------------------------------------------------------------------

/// The pages of prompts that nobody waits for live on in those that share them.
void DecodeSession::State::drop_idle_stems() {
  std::erase_if(begun_stems, [](const std::shared_ptr<PromptPrefix>& prompt_prefix) {
    if (prompt_prefix->waiting > 0) return false;
    prompt_prefix->run.clear();
    return true;
  });
}

/// Gives up what can be computed again until so many pages are free: prompts that nobody waits for,
/// paused and ended sequences, live ones that began after `whose`, the last first, with their
/// shared_sequences. What it must have it also takes from what waits: one sequence always has room.
/// A page that was shared may become its own by that, and so fewer be needed.
bool DecodeSession::State::make_room(const Pages& pages, const Sequence& whose, Need need) {
  const auto enough = [&] { return pool.free() >= pages(); };
  if (enough()) return true;
  drop_idle_stems();
  for (auto& [id, sequence] : sequences) {
    if (enough()) return true;
    if (sequence->stage == Stage::paused || sequence->stage == Stage::ended) sequence->run.clear();
  }
  while (!enough() && whose.stage == Stage::live) {
    const auto last = std::max_element(live.begin(), live.end(), [](const auto& a, const auto& b) {
      return a->oldest().id < b->oldest().id;
    });
    if ((*last)->oldest().id <= whose.id) break;
    preempt(**last);
  }
  if (enough() || need == Need::wish) return enough();
  for (Sequence* waiting : queue) {
    if (waiting == &whose || !waiting->begun()) continue;
    waiting->run.clear();
    ++waiting->prompt_prefix->waiting;
  }
  std::erase_if(begun_stems, [&](const std::shared_ptr<PromptPrefix>& prompt_prefix) {
    if (prompt_prefix == whose.prompt_prefix) return false;
    prompt_prefix->run.clear();
    return true;
  });
  expect(enough(), "one sequence always has room");
  return true;
}

/// Who still holds it finds it empty.
void DecodeSession::State::preempt(SharedSequence& shared_sequence) {
  expect(live_sequences() <= most_live, "those who take turns have room");
  shared_sequence.run.clear();
  wait_anew(std::exchange(shared_sequence.members, {}));
  std::erase_if(live, [](const auto& each) { return each->members.empty(); });
}

/// First in the queue, of them the lowest id.
void DecodeSession::State::wait_anew(std::vector<Sequence*> again) {
  std::sort(again.begin(), again.end(),
            [](const Sequence* a, const Sequence* b) { return a->id > b->id; });
  for (Sequence* sequence : again) wait(*sequence, true);
}

/// With what has been run of it.
void DecodeSession::State::leave_branch(Sequence& sequence) {
  const auto has = [&](const auto& shared_sequence) {
    return std::find(shared_sequence->members.begin(), shared_sequence->members.end(), &sequence) !=
           shared_sequence->members.end();
  };
  const auto shared_sequence = std::find_if(live.begin(), live.end(), has);
  std::erase((*shared_sequence)->members, &sequence);
  sequence.run = (*shared_sequence)->run;
  if ((*shared_sequence)->members.empty()) live.erase(shared_sequence);
}

/// All keys and values are another version's.
void DecodeSession::State::forget() {
  for (const Sequence* waiting : queue)
    if (waiting->begun()) ++waiting->prompt_prefix->waiting;  // it begins anew
  for (auto& [id, sequence] : sequences) sequence->run.clear();
  for (const auto& prompt_prefix : begun_stems) prompt_prefix->run.clear();
  begun_stems.clear();
  std::vector<Sequence*> again;
  for (const auto& shared_sequence : std::exchange(live, {}))
    again.insert(again.end(), shared_sequence->members.begin(), shared_sequence->members.end());
  wait_anew(std::move(again));
}

// ---- a step
// ------------------------------------------------------------------------------------------------------------------------------------------------

/// But for its last token, whose hidden state is wanted.
Beginning DecodeSession::State::known_beginning(const PromptPrefix& prompt_prefix) const {
  Beginning longest;
  const PromptPrefix* last = nullptr;
  const auto compare = [&](const PromptPrefix& other, const KvPages& run) {
    if (&other == last || run.pages.empty()) return;  // those of one prompt stand side by side
    last = &other;
    const std::int64_t alike =
        std::mismatch(prompt_prefix.tokens.begin(), prompt_prefix.tokens.end() - 1,
                      other.tokens.begin(), other.tokens.end())
            .first -
        prompt_prefix.tokens.begin();
    if (const std::int64_t computed = std::min(alike, run.computed);
        computed >= kLeastShared && computed > longest.computed)
      longest.run = &run, longest.computed = computed;
    longest.soon = std::max(longest.soon, alike);
  };
  for (const auto& other : begun_stems) compare(*other, other->run);
  for (const auto& shared_sequence : live)
    compare(*shared_sequence->oldest().prompt_prefix, shared_sequence->run);
  return longest;
}

/// Whole pages by reference and what stands in the last one as a copy, for which a page is free.
void DecodeSession::State::take_beginning(KvPages& run, const KvPages& of, std::int64_t length) {
  const std::int64_t whole = length / kPageKeys, rest = length % kPageKeys;
  for (std::int64_t p = 0; p < whole; ++p) run.push(of.pages[std::size_t(p)]);
  if (rest > 0) {
    run.push(pool.take());
    engine->copy_positions(of.pages[std::size_t(whole)].get(), rest, run.pages.back().get());
  }
  run.computed = length;
}

/// A waiting sequence has its prompt's positions.
bool DecodeSession::State::begin(Sequence& sequence, bool has_room) {
  PromptPrefix& prompt_prefix = *sequence.prompt_prefix;
  // Beside others: room for what it knows already, and for the page that each live sequence may
  // need soon.
  const std::int64_t wished =
      pages_of(sequence.known()) - prompt_prefix.length() / kPageKeys + live_sequences();
  if (!live.empty() && !has_room && !make_room([&] { return wished; }, sequence, Need::wish))
    return false;
  sequence.run = prompt_prefix.run;
  --prompt_prefix.waiting;
  return true;
}

/// Most pages that a sequence whose positions stand in `run` will take up to its limit; its
/// prompt's too where nobody has begun that. The page at hand is among them though it is there: it
/// may be shared, and is copied then.
std::int64_t DecodeSession::State::pages_to_come(const Sequence& sequence,
                                                 const KvPages& run) const {
  const PromptPrefix& prompt_prefix = *sequence.prompt_prefix;
  if (!run.pages.empty()) return sequence.most_pages() - run.computed / kPageKeys;
  return sequence.most_pages() - prompt_prefix.length() / kPageKeys +
         (prompt_prefix.run.pages.empty() ? pages_of(prompt_prefix.length()) : 0);
}

/// A waiting sequence joins the shared_sequence that has its tokens, if there is one. Of the two
/// runs the longer is kept.
bool DecodeSession::State::join(Sequence& sequence) {
  auto found = std::lower_bound(live.begin(), live.end(), sequence.prompt_prefix->number,
                                [](const auto& shared_sequence, std::uint64_t number) {
                                  return shared_sequence->oldest().prompt_prefix->number < number;
                                });
  while (found != live.end() && (*found)->oldest().prompt_prefix == sequence.prompt_prefix &&
         (*found)->oldest().own != sequence.own)
    ++found;
  if (found == live.end() || (*found)->oldest().prompt_prefix != sequence.prompt_prefix)
    return false;
  SharedSequence& shared_sequence = **found;
  if (!sequence.begun()) --sequence.prompt_prefix->waiting;
  if (sequence.run.computed > shared_sequence.run.computed)
    shared_sequence.run = std::move(sequence.run);
  sequence.run.clear();
  shared_sequence.members.insert(
      std::upper_bound(shared_sequence.members.begin(), shared_sequence.members.end(), &sequence,
                       [](const Sequence* a, const Sequence* b) { return a->id < b->id; }),
      &sequence);
  return true;
}

/// Fills free rows with waiting sequences, in their order; prompts that they need are begun. Where
/// there is room for all up to their limits, more than the rows begin and take turns.
void DecodeSession::State::admit() {
  std::int64_t begun = live_sequences(), to_come = 0;  // those that wait for a prompt among them;
                                                       // pages that they will take
  for (const auto& shared_sequence : live)
    for (const Sequence* sequence : shared_sequence->members)
      to_come += pages_to_come(*sequence, shared_sequence->run);
  const auto expect_one = [&](const Sequence& sequence) {
    ++begun, to_come += pages_to_come(sequence, sequence.run);
  };
  for (auto it = queue.begin(); it != queue.end();) {
    Sequence& sequence = **it;
    const bool takes_turns = begun >= most_live;  // whoever does needs no room to be made
    if (takes_turns && (begun >= kTurns * most_live ||
                        to_come + pages_to_come(sequence, sequence.run) > pool.free()))
      break;
    const std::shared_ptr<PromptPrefix>& prompt_prefix = sequence.prompt_prefix;
    if (join(sequence)) {
      expect_one(sequence);
      sequence.stage = Stage::live;
      it = queue.erase(it);
      continue;
    }
    if (!sequence.begun() && !prompt_prefix->ready()) {
      if (prompt_prefix->run.pages.empty()) {
        if (const Beginning alike = known_beginning(*prompt_prefix);
            alike.soon >= alike.computed + kLeastShared) {
          expect_one(**it++);
          continue;
        }
        const bool first = begun == 0;  // nothing else goes on
        const std::int64_t pages = pages_of(prompt_prefix->length()),
                           wished = first ? pages : pages + live_sequences();
        if (!takes_turns &&
            !make_room([&] { return wished; }, sequence, first ? Need::must : Need::wish))
          break;
        if (const Beginning alike = known_beginning(*prompt_prefix); alike.run != nullptr)
          take_beginning(prompt_prefix->run, *alike.run, alike.computed);  // what room left of it
        while (std::int64_t(prompt_prefix->run.pages.size()) < pages)
          prompt_prefix->run.push(pool.take());
        begun_stems.push_back(prompt_prefix);
      }
      expect_one(**it++);
      continue;
    }
    if (!sequence.begun() && !begin(sequence, takes_turns)) break;
    expect_one(sequence);
    sequence.stage = Stage::live;
    const auto later = [](std::uint64_t number, const auto& shared_sequence) {
      return number < shared_sequence->oldest().prompt_prefix->number;
    };
    live.insert(std::upper_bound(live.begin(), live.end(), prompt_prefix->number, later),
                std::make_shared<SharedSequence>(
                    SharedSequence{{&sequence}, std::exchange(sequence.run, {})}));
    it = queue.erase(it);
  }
  drop_idle_stems();
}

/// Least attained service: rows go to those that have sampled the fewest tokens, in pages, and so
/// stay busy to the end. Nobody knows who will be long. A shared_sequence of which not all find a
/// row parts for good.
void DecodeSession::State::give_turns() {
  for (const auto& shared_sequence : live)
    shared_sequence->in_turn = true, shared_sequence->rows = 0;
  auto left = std::size_t(most_live);
  if (live_sequences() <= most_live) return;
  Branches order = live;
  const auto key = [](const SharedSequence& b) {
    return std::tuple(b.oldest().sampled() / kPageKeys, b.oldest().prompt_prefix->number,
                      b.oldest().id);
  };
  std::sort(order.begin(), order.end(),
            [&](const auto& a, const auto& b) { return key(*a) < key(*b); });
  for (const auto& shared_sequence : order) {
    auto& members = shared_sequence->members;
    const std::size_t now = std::min(members.size(), left);
    left -= now;
    shared_sequence->in_turn = now > 0;
    if (now == 0 || now == members.size()) continue;
    live.insert(std::find(live.begin(), live.end(), shared_sequence) + 1,
                std::make_shared<SharedSequence>(SharedSequence{
                    {members.begin() + std::ptrdiff_t(now), members.end()}, shared_sequence->run}));
    members.resize(now);
  }
}

/// Pages for its rows of this step, which are free.
void DecodeSession::State::take_pages(SharedSequence& shared_sequence) {
  KvPages& run = shared_sequence.run;
  if (shared_sequence.rows > 0 && run.goes_on_in_shared()) {
    PagePool::Page& page = run.pages[run.last_page()];
    PagePool::Page own = pool.take();
    engine->copy_positions(page.get(), run.computed % kPageKeys, own.get());
    run.table[run.last_page()] = own.get();
    page = std::move(own);
  }
  while (std::int64_t(run.pages.size()) < pages_of(run.computed + shared_sequence.rows))
    run.push(pool.take());
}

/// Rows of this step for those in turn, the oldest first: who finds no pages waits again. Tokens
/// that need no draw share kPrefillRows.
void DecodeSession::State::share_pages(std::int64_t& room) {
  Branches by_age;
  std::copy_if(live.begin(), live.end(), std::back_inserter(by_age),
               [](const auto& shared_sequence) { return shared_sequence->in_turn; });
  std::sort(by_age.begin(), by_age.end(),
            [](const auto& a, const auto& b) { return a->oldest().id < b->oldest().id; });
  for (const auto& shared_sequence : by_age) {
    if (shared_sequence->members.empty()) continue;  // it had to make room
    const std::int64_t left = shared_sequence->oldest().known() - shared_sequence->run.computed;
    shared_sequence->rows = left <= 1 ? left : std::min(left, room);
    if (left > 1) room -= shared_sequence->rows;
    const auto missing = [&] { return shared_sequence->run.missing_pages(shared_sequence->rows); };
    if (make_room(missing, shared_sequence->oldest(),
                  shared_sequence == by_age.front() ? Need::must : Need::wish))
      take_pages(*shared_sequence);
    else preempt(*shared_sequence);
  }
}

/// Runs the rows of this step, of live sequences first, then of prompts. Returns what tokens are
/// drawn from.
std::vector<PendingSample> DecodeSession::State::run_rows(const PolicyModel::Packed& policy) {
  std::int64_t room = kPrefillRows;
  share_pages(room);
  step.clear();
  std::vector<std::pair<Piece, const SharedSequence*>> pieces;
  std::vector<std::pair<Piece, PromptPrefix*>> prompts;
  for (const auto& shared_sequence : live) {
    if (shared_sequence->rows == 0) continue;
    const auto token = [&one = shared_sequence->oldest()](std::int64_t p) { return one.token(p); };
    const std::int64_t alike =
        pieces.empty() ? 0 : alike_positions(*pieces.back().second, *shared_sequence);
    pieces.emplace_back(step.add(shared_sequence->run, shared_sequence->rows, token, alike),
                        shared_sequence.get());
  }
  for (const auto& prompt_prefix : begun_stems) {
    const std::int64_t count =
        std::min(prompt_prefix->length() - prompt_prefix->run.computed, room);
    room -= count;
    if (count > 0)
      prompts.emplace_back(
          step.add(prompt_prefix->run, count,
                   [&](std::int64_t p) { return prompt_prefix->tokens[std::size_t(p)]; }),
          prompt_prefix.get());
  }
  const std::int64_t width = policy.config.hidden_size;
  const float* hidden = step.tokens.empty() ? nullptr : engine->hidden(policy, step);
  const auto last_of = [&](const Piece& piece) {
    piece.run->computed += piece.count;
    return hidden + (piece.first_row + piece.count - 1) * width;
  };
  std::vector<PendingSample> drawings;
  const auto draw_all = [&](const float* from, const SharedSequence& shared_sequence) {
    for (Sequence* sequence : shared_sequence.members) drawings.push_back({from, sequence});
  };
  for (const auto& [piece, shared_sequence] : pieces) {
    const float* last = last_of(piece);
    if (shared_sequence->run.computed == shared_sequence->oldest().known())
      draw_all(last, *shared_sequence);
  }
  for (const auto& [piece, prompt_prefix] : prompts) {
    const float* last = last_of(piece);
    if (prompt_prefix->ready()) prompt_prefix->last_hidden = engine->keep(last);
  }
  for (const auto& shared_sequence : live) {  // those that have drawn nothing draw from what their
                                              // prompt predicts, which may have been run again just
                                              // now
    const Sequence& one = shared_sequence->oldest();
    if (shared_sequence->in_turn && one.own.empty() && shared_sequence->run.computed == one.known())
      draw_all(one.prompt_prefix->last_hidden.get(), *shared_sequence);
  }
  return drawings;
}

/// Draws a token for each; returns the sequences whose turn it ended.
std::vector<DecodeSession::Id> DecodeSession::State::choose(
    const PolicyModel& policy, std::span<const PendingSample> drawings) {
  std::vector<SampleRequest> draws;
  for (const auto& [hidden, sequence] : drawings)
    draws.push_back({hidden, sequence->stream.uniform(sequence->result.tokens.size())});
  const std::vector<SampledToken> drawn = engine->draw(policy.packed(), draws);
  std::vector<Id> ended;
  for (std::size_t i = 0; i < drawings.size(); ++i) {
    if (take_token(policy, *drawings[i].sequence, drawn[i]))
      ended.push_back(drawings[i].sequence->id);
  }
  part_ways();
  return ended;
}

/// Members that drew the same token go on together, the others as shared_sequences of their own
/// beside them. Who ended leaves, with what has been run of it.
void DecodeSession::State::part_ways() {
  Branches all;
  for (const auto& shared_sequence : std::exchange(live, {})) {
    auto members = std::exchange(shared_sequence->members, {});
    const auto ended = std::stable_partition(
        members.begin(), members.end(),
        [](const Sequence* sequence) { return sequence->stage == Stage::live; });
    std::for_each(ended, members.end(),
                  [&](Sequence* sequence) { sequence->run = shared_sequence->run; });
    members.erase(ended, members.end());
    if (members.size() > 1 && shared_sequence->in_turn && !members.front()->own.empty())
      std::stable_sort(members.begin(), members.end(), [](const Sequence* a, const Sequence* b) {
        return a->own.back() < b->own.back();
      });
    for (Sequence* sequence : members) {
      const bool together = !shared_sequence->members.empty() &&
                            (!shared_sequence->in_turn || sequence->own.empty() ||
                             sequence->own.back() == all.back()->members.back()->own.back());
      if (!together)
        all.push_back(shared_sequence->members.empty()
                          ? shared_sequence
                          : std::make_shared<SharedSequence>(SharedSequence{
                                {}, shared_sequence->run, shared_sequence->in_turn}));
      all.back()->members.push_back(sequence);
    }
  }
  live = std::move(all);
}

/// True when it ends the turn.
bool DecodeSession::State::take_token(const PolicyModel& policy, Sequence& sequence,
                                      const SampledToken& drawn) {
  const auto& [token, logprob, entropy, kept_mass, kept] = drawn;
  DecodedSequence& result = sequence.result;
  result.kept.put(result.tokens.size(), kept);
  if (kept_mass > 0.0F) result.kept_mass.push_back(kept_mass);
  result.tokens.push_back(token);
  result.logprob.push_back(logprob);
  result.entropy.push_back(entropy);
  result.versions.push_back(policy.version().value);
  sequence.own.push_back(token);
  if (sequence.given > 0) sequence.answer.push_back(token);
  const bool begun_by_another = sequence.given > 0 && sequence.turn == 0;
  const std::span<const std::int32_t> turn = begun_by_another
                                                 ? std::span(sequence.answer)
                                                 : std::span(result.tokens).subspan(sequence.turn);
  result.stopped = is_end_token(policy.config(), token) || (sequence.stop && sequence.stop(turn));
  if (!result.stopped && sequence.sampled() < sequence.limit) return false;
  sequence.stage = Stage::ended;
  return true;
}

// ---- the session
// -------------------------------------------------------------------------------------------------------------------------------------------

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
  std::weak_ptr<PromptPrefix>& known = s.prompt_prefixes[request.prompt];
  std::shared_ptr<PromptPrefix> prompt_prefix = known.lock();
  if (!prompt_prefix) {
    prompt_prefix =
        std::make_shared<PromptPrefix>(PromptPrefix{request.prompt, s.next_stem++, {}, {}});
    known = prompt_prefix;
  }
  const Id begin = s.next_id;
  const std::int64_t limit = s.sampling.max_new_tokens - request.given;
  s.pool.admit(pages_of(prompt_prefix->length()) + pages_of(prompt_prefix->length() + limit));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t sample = request.first_sample + first + i;
    auto sequence = std::make_unique<Sequence>(
        Sequence{.id = s.next_id++,
                 .prompt_prefix = prompt_prefix,
                 .stream = RandomStream(request.seed, RandomPurpose::sampling, request.step,
                                        request.prompt_address, sample),
                 .stops = stops,
                 .stop = stops ? stops() : StopRule(),
                 .given = request.given,
                 .limit = limit,
                 .answer = {request.prompt.end() - request.given, request.prompt.end()}});
    Sequence& kept = *sequence;
    s.sequences.emplace(kept.id, std::move(sequence));
    s.wait(kept);
  }
  return begin;
}

std::vector<DecodeSession::Id> DecodeSession::advance(const PolicyModel& policy) {
  State& s = *state_;
  const PolicyModel::Packed& packed = policy.packed();
  expect(packed.kernels == s.shape.kernels && packed.config.hidden_size == s.config.hidden_size &&
             packed.config.vocab_size == s.config.vocab_size &&
             packed.config.num_hidden_layers == s.config.num_hidden_layers,
         "policies of a session have one shape and one set of kernels");
  expect(!std::exchange(s.stepping, true), "a session is not used again after an error");
  const std::pair now(policy.version(), &packed);
  if (s.computed_under && *s.computed_under != now) s.forget();
  s.computed_under = now;
  s.admit();
  s.give_turns();
  auto ended = s.choose(policy, s.run_rows(packed));
  s.stepping = false;
  return ended;
}

bool DecodeSession::idle() const { return unfinished() == 0; }
std::int64_t DecodeSession::unfinished() const {
  return std::int64_t(state_->queue.size()) + state_->live_sequences();
}

std::int64_t DecodeSession::advancing() const {
  return std::min(state_->live_sequences(), state_->most_live);
}
std::int64_t DecodeSession::cache_bytes() const {
  return state_->pool.taken() * state_->pool.page_bytes();
}

void DecodeSession::append(Id id, std::span<const std::int32_t> tokens) {
  State& s = *state_;
  Sequence& sequence = s.of(id);
  expect(sequence.stage == Stage::ended || sequence.stage == Stage::paused,
         "others' tokens come when the policy's turn is over");
  const std::int64_t positions = sequence.known() + std::int64_t(tokens.size()) + sequence.limit -
                                 std::int64_t(sequence.result.tokens.size());
  require<InputError>(
      std::int64_t(sequence.result.tokens.size()) < sequence.limit &&
          positions <= s.config.max_position_embeddings,
      fmt::format("{} tokens are appended to a sequence of {}, of which {} of {} may be sampled",
                  tokens.size(), sequence.known(), sequence.result.tokens.size(), sequence.limit),
      fmt::format("the model has {} positions, and a sequence goes on only where it may sample",
                  s.config.max_position_embeddings),
      "end the conversation earlier or raise sampling.max_new_tokens");
  for (const std::int32_t token : tokens)
    expect(token >= 0 && token < s.config.vocab_size, "others' tokens are in the vocabulary");
  sequence.own.insert(sequence.own.end(), tokens.begin(), tokens.end());
  sequence.result.stopped = false;
  sequence.turn = sequence.result.tokens.size();
  sequence.stop = sequence.stops ? sequence.stops() : StopRule();
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
  s.drop_idle_stems();
  if (prompt_prefix.use_count() == 1) s.prompt_prefixes.erase(prompt_prefix->tokens);
  return result;
}

}  // namespace rollcall::model
