// (long: one state machine) Every sequence is its known tokens and how many of them stand in pages. A step runs rows that do not, and draws where none are
// left: decoding, prompts, others' tokens and what lost its pages are one case. Sequences that have the same tokens are a branch, run once, until they draw
// different ones.
#include "model/decode_session.hpp"

#include "base/error.hpp"
#include "model/backend.hpp"
#include "model/engine.hpp"

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
  const Run* run = nullptr;
  std::int64_t computed = 0;  ///< of it, in the run's pages
  std::int64_t soon = 0;      ///< the most that any will have computed
};

/// A sequence and the hidden state that it draws from: those that draw from one stand side by side.
struct Drawing {
  const float* hidden;
  Sequence* sequence;
};

using Branches = std::vector<std::shared_ptr<Branch>>;

}  // namespace

struct DecodeSession::State {
  State(const Policy& first, const SamplingParams& params, Team& members, std::int64_t cache_bytes, std::int64_t live_rows)
      : config(first.config()),
        sampling(params),
        shape(page_shape(first.packed())),
        layers(first.config().num_hidden_layers),
        most_live(live_rows),
        engine(make_decode_engine(first.packed(), params, members, live_rows + kPrefillRows)),
        pool(layers * shape.bytes(), std::min(cache_bytes, engine->most_page_bytes()) / (layers * shape.bytes()), engine->page_memory()),
        step(shape) {
    expect(live_rows > 0, "a session advances one sequence or more");
    require<ConfigError>(params.max_new_tokens > 0, fmt::format("sampling.max_new_tokens is {}", params.max_new_tokens), "nothing would be sampled",
                         "choose 1 or more");
  }

  Sequence& of(Id id) {
    const auto found = sequences.find(id);
    expect(found != sequences.end(), "a sequence is open until it is taken");
    return *found->second;
  }
  void wait(Sequence& sequence, bool first = false) {
    sequence.stage = Stage::waiting;
    if (!sequence.begun()) ++sequence.stem->waiting;
    first ? queue.push_front(&sequence) : queue.push_back(&sequence);
  }
  /// It waits and advances no more.
  void withdraw(Sequence& sequence) {
    if (sequence.stage == Stage::live) return leave_branch(sequence);
    if (sequence.stage != Stage::waiting) return;
    queue.erase(std::find(queue.begin(), queue.end(), &sequence));
    if (!sequence.begun()) --sequence.stem->waiting;
  }
  void leave_branch(Sequence& sequence);
  std::int64_t live_sequences() const {
    return std::accumulate(live.begin(), live.end(), std::int64_t(0),
                           [](std::int64_t sum, const auto& branch) { return sum + std::int64_t(branch->members.size()); });
  }

  // Room.
  enum class Need { wish, must };
  using Pages = std::function<std::int64_t()>;
  bool make_room(const Pages& pages, const Sequence& whose, Need need);
  void drop_idle_stems();
  void preempt(Branch& branch);
  void wait_anew(std::vector<Sequence*> again);
  void forget();

  // A step.
  std::int64_t pages_to_come(const Sequence& sequence, const Run& run) const;
  void admit();
  bool join(Sequence& sequence);
  void give_turns();
  void part_ways();
  Beginning known_beginning(const Stem& stem) const;
  void take_beginning(Run& run, const Run& of, std::int64_t length);
  bool begin(Sequence& sequence, bool has_room);
  void take_pages(Branch& branch);
  void share_pages(std::int64_t& room);
  std::vector<Drawing> run_rows(const Policy::Packed& policy);
  std::vector<Id> choose(const Policy& policy, std::span<const Drawing> drawings);
  bool take_token(const Policy& policy, Sequence& sequence, const Drawn& drawn);

  const ModelConfig config;
  const SamplingParams sampling;
  PageShape shape;
  std::int64_t layers, most_live;
  std::unique_ptr<DecodeEngine> engine;
  PagePool pool;  // before all that holds pages of it
  StepRows step;
  std::map<std::vector<std::int32_t>, std::weak_ptr<Stem>> stems;
  std::unordered_map<Id, std::unique_ptr<Sequence>> sequences;
  std::deque<Sequence*> queue;                     ///< in the order in which they begin
  Branches live;                                   ///< in the order of their prompts' numbers; of a prompt, those that parted late side by side
  std::vector<std::shared_ptr<Stem>> begun_stems;  ///< that hold pages
  std::optional<std::pair<PolicyVersion, const Policy::Packed*>> computed_under;  ///< whose the pages are
  bool stepping = false;                                                          ///< a step has begun and not ended
  std::uint64_t next_id = 0, next_stem = 0;
};

// ---- room --------------------------------------------------------------------------------------------------------------------------------------------------

/// The pages of prompts that nobody waits for live on in those that share them.
void DecodeSession::State::drop_idle_stems() {
  std::erase_if(begun_stems, [](const std::shared_ptr<Stem>& stem) {
    if (stem->waiting > 0) return false;
    stem->run.clear();
    return true;
  });
}

/// Gives up what can be computed again until so many pages are free: prompts that nobody waits for, paused and ended sequences, live ones that began after
/// `whose`, the last first, with their branches. What it must have it also takes from what waits: one sequence always has room. A page that was shared may become
/// its own by that, and so fewer be needed.
bool DecodeSession::State::make_room(const Pages& pages, const Sequence& whose, Need need) {
  const auto enough = [&] { return pool.free() >= pages(); };
  if (enough()) return true;
  drop_idle_stems();
  for (auto& [id, sequence] : sequences) {
    if (enough()) return true;
    if (sequence->stage == Stage::paused || sequence->stage == Stage::ended) sequence->run.clear();
  }
  while (!enough() && whose.stage == Stage::live) {
    const auto last = std::max_element(live.begin(), live.end(), [](const auto& a, const auto& b) { return a->oldest().id < b->oldest().id; });
    if ((*last)->oldest().id <= whose.id) break;
    preempt(**last);
  }
  if (enough() || need == Need::wish) return enough();
  for (Sequence* waiting : queue) {
    if (waiting == &whose || !waiting->begun()) continue;
    waiting->run.clear();
    ++waiting->stem->waiting;
  }
  std::erase_if(begun_stems, [&](const std::shared_ptr<Stem>& stem) {
    if (stem == whose.stem) return false;
    stem->run.clear();
    return true;
  });
  expect(enough(), "one sequence always has room");
  return true;
}

/// Who still holds it finds it empty.
void DecodeSession::State::preempt(Branch& branch) {
  expect(live_sequences() <= most_live, "those who take turns have room");
  branch.run.clear();
  wait_anew(std::exchange(branch.members, {}));
  std::erase_if(live, [](const auto& each) { return each->members.empty(); });
}

/// First in the queue, of them the lowest id.
void DecodeSession::State::wait_anew(std::vector<Sequence*> again) {
  std::sort(again.begin(), again.end(), [](const Sequence* a, const Sequence* b) { return a->id > b->id; });
  for (Sequence* sequence : again) wait(*sequence, true);
}

/// With what has been run of it.
void DecodeSession::State::leave_branch(Sequence& sequence) {
  const auto has = [&](const auto& branch) { return std::find(branch->members.begin(), branch->members.end(), &sequence) != branch->members.end(); };
  const auto branch = std::find_if(live.begin(), live.end(), has);
  std::erase((*branch)->members, &sequence);
  sequence.run = (*branch)->run;
  if ((*branch)->members.empty()) live.erase(branch);
}

/// All keys and values are another version's.
void DecodeSession::State::forget() {
  for (const Sequence* waiting : queue)
    if (waiting->begun()) ++waiting->stem->waiting;  // it begins anew
  for (auto& [id, sequence] : sequences) sequence->run.clear();
  for (const auto& stem : begun_stems) stem->run.clear();
  begun_stems.clear();
  std::vector<Sequence*> again;
  for (const auto& branch : std::exchange(live, {})) again.insert(again.end(), branch->members.begin(), branch->members.end());
  wait_anew(std::move(again));
}

// ---- a step ------------------------------------------------------------------------------------------------------------------------------------------------

/// But for its last token, whose hidden state is wanted.
Beginning DecodeSession::State::known_beginning(const Stem& stem) const {
  Beginning longest;
  const Stem* last = nullptr;
  const auto compare = [&](const Stem& other, const Run& run) {
    if (&other == last || run.pages.empty()) return;  // those of one prompt stand side by side
    last = &other;
    const std::int64_t alike = std::mismatch(stem.tokens.begin(), stem.tokens.end() - 1, other.tokens.begin(), other.tokens.end()).first - stem.tokens.begin();
    if (const std::int64_t computed = std::min(alike, run.computed); computed >= kLeastShared && computed > longest.computed)
      longest.run = &run, longest.computed = computed;
    longest.soon = std::max(longest.soon, alike);
  };
  for (const auto& other : begun_stems) compare(*other, other->run);
  for (const auto& branch : live) compare(*branch->oldest().stem, branch->run);
  return longest;
}

/// Whole pages by reference and what stands in the last one as a copy, for which a page is free.
void DecodeSession::State::take_beginning(Run& run, const Run& of, std::int64_t length) {
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
  Stem& stem = *sequence.stem;
  // Beside others: room for what it knows already, and for the page that each live sequence may need soon.
  const std::int64_t wished = pages_of(sequence.known()) - stem.length() / kPageKeys + live_sequences();
  if (!live.empty() && !has_room && !make_room([&] { return wished; }, sequence, Need::wish)) return false;
  sequence.run = stem.run;
  --stem.waiting;
  return true;
}

/// Most pages that a sequence whose positions stand in `run` will take up to its limit; its prompt's too where nobody has begun that. The page at hand is among
/// them though it is there: it may be shared, and is copied then.
std::int64_t DecodeSession::State::pages_to_come(const Sequence& sequence, const Run& run) const {
  const Stem& stem = *sequence.stem;
  if (!run.pages.empty()) return sequence.most_pages() - run.computed / kPageKeys;
  return sequence.most_pages() - stem.length() / kPageKeys + (stem.run.pages.empty() ? pages_of(stem.length()) : 0);
}

/// A waiting sequence joins the branch that has its tokens, if there is one. Of the two runs the longer is kept.
bool DecodeSession::State::join(Sequence& sequence) {
  auto found = std::lower_bound(live.begin(), live.end(), sequence.stem->number,
                                [](const auto& branch, std::uint64_t number) { return branch->oldest().stem->number < number; });
  while (found != live.end() && (*found)->oldest().stem == sequence.stem && (*found)->oldest().own != sequence.own) ++found;
  if (found == live.end() || (*found)->oldest().stem != sequence.stem) return false;
  Branch& branch = **found;
  if (!sequence.begun()) --sequence.stem->waiting;
  if (sequence.run.computed > branch.run.computed) branch.run = std::move(sequence.run);
  sequence.run.clear();
  branch.members.insert(
      std::upper_bound(branch.members.begin(), branch.members.end(), &sequence, [](const Sequence* a, const Sequence* b) { return a->id < b->id; }), &sequence);
  return true;
}

/// Fills free rows with waiting sequences, in their order; prompts that they need are begun. Where there is room for all up to their limits, more than the rows
/// begin and take turns.
void DecodeSession::State::admit() {
  std::int64_t begun = live_sequences(), to_come = 0;  // those that wait for a prompt among them; pages that they will take
  for (const auto& branch : live)
    for (const Sequence* sequence : branch->members) to_come += pages_to_come(*sequence, branch->run);
  const auto expect_one = [&](const Sequence& sequence) { ++begun, to_come += pages_to_come(sequence, sequence.run); };
  for (auto it = queue.begin(); it != queue.end();) {
    Sequence& sequence = **it;
    const bool takes_turns = begun >= most_live;  // whoever does needs no room to be made
    if (takes_turns && (begun >= kTurns * most_live || to_come + pages_to_come(sequence, sequence.run) > pool.free())) break;
    const std::shared_ptr<Stem>& stem = sequence.stem;
    if (join(sequence)) {
      expect_one(sequence);
      sequence.stage = Stage::live;
      it = queue.erase(it);
      continue;
    }
    if (!sequence.begun() && !stem->ready()) {
      if (stem->run.pages.empty()) {
        if (const Beginning alike = known_beginning(*stem); alike.soon >= alike.computed + kLeastShared) {
          expect_one(**it++);
          continue;
        }
        const bool first = begun == 0;  // nothing else goes on
        const std::int64_t pages = pages_of(stem->length()), wished = first ? pages : pages + live_sequences();
        if (!takes_turns && !make_room([&] { return wished; }, sequence, first ? Need::must : Need::wish)) break;
        if (const Beginning alike = known_beginning(*stem); alike.run != nullptr)
          take_beginning(stem->run, *alike.run, alike.computed);  // what room left of it
        while (std::int64_t(stem->run.pages.size()) < pages) stem->run.push(pool.take());
        begun_stems.push_back(stem);
      }
      expect_one(**it++);
      continue;
    }
    if (!sequence.begun() && !begin(sequence, takes_turns)) break;
    expect_one(sequence);
    sequence.stage = Stage::live;
    const auto later = [](std::uint64_t number, const auto& branch) { return number < branch->oldest().stem->number; };
    live.insert(std::upper_bound(live.begin(), live.end(), stem->number, later),
                std::make_shared<Branch>(Branch{{&sequence}, std::exchange(sequence.run, {})}));
    it = queue.erase(it);
  }
  drop_idle_stems();
}

/// Least attained service: rows go to those that have sampled the fewest tokens, in pages, and so stay busy to the end. Nobody knows who will be long. A branch of
/// which not all find a row parts for good.
void DecodeSession::State::give_turns() {
  for (const auto& branch : live) branch->in_turn = true, branch->rows = 0;
  auto left = std::size_t(most_live);
  if (live_sequences() <= most_live) return;
  Branches order = live;
  const auto key = [](const Branch& b) { return std::tuple(b.oldest().sampled() / kPageKeys, b.oldest().stem->number, b.oldest().id); };
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) { return key(*a) < key(*b); });
  for (const auto& branch : order) {
    auto& members = branch->members;
    const std::size_t now = std::min(members.size(), left);
    left -= now;
    branch->in_turn = now > 0;
    if (now == 0 || now == members.size()) continue;
    live.insert(std::find(live.begin(), live.end(), branch) + 1,
                std::make_shared<Branch>(Branch{{members.begin() + std::ptrdiff_t(now), members.end()}, branch->run}));
    members.resize(now);
  }
}

/// Pages for its rows of this step, which are free.
void DecodeSession::State::take_pages(Branch& branch) {
  Run& run = branch.run;
  if (branch.rows > 0 && run.goes_on_in_shared()) {
    PagePool::Page& page = run.pages[run.last_page()];
    PagePool::Page own = pool.take();
    engine->copy_positions(page.get(), run.computed % kPageKeys, own.get());
    run.table[run.last_page()] = own.get();
    page = std::move(own);
  }
  while (std::int64_t(run.pages.size()) < pages_of(run.computed + branch.rows)) run.push(pool.take());
}

/// Rows of this step for those in turn, the oldest first: who finds no pages waits again. Tokens that need no draw share kPrefillRows.
void DecodeSession::State::share_pages(std::int64_t& room) {
  Branches by_age;
  std::copy_if(live.begin(), live.end(), std::back_inserter(by_age), [](const auto& branch) { return branch->in_turn; });
  std::sort(by_age.begin(), by_age.end(), [](const auto& a, const auto& b) { return a->oldest().id < b->oldest().id; });
  for (const auto& branch : by_age) {
    if (branch->members.empty()) continue;  // it had to make room
    const std::int64_t left = branch->oldest().known() - branch->run.computed;
    branch->rows = left <= 1 ? left : std::min(left, room);
    if (left > 1) room -= branch->rows;
    const auto missing = [&] { return branch->run.missing_pages(branch->rows); };
    if (make_room(missing, branch->oldest(), branch == by_age.front() ? Need::must : Need::wish)) take_pages(*branch);
    else preempt(*branch);
  }
}

/// Runs the rows of this step, of live sequences first, then of prompts. Returns what tokens are drawn from.
std::vector<Drawing> DecodeSession::State::run_rows(const Policy::Packed& policy) {
  std::int64_t room = kPrefillRows;
  share_pages(room);
  step.clear();
  std::vector<std::pair<Piece, const Branch*>> pieces;
  std::vector<std::pair<Piece, Stem*>> prompts;
  for (const auto& branch : live) {
    if (branch->rows == 0) continue;
    const auto token = [&one = branch->oldest()](std::int64_t p) { return one.token(p); };
    const std::int64_t alike = pieces.empty() ? 0 : alike_positions(*pieces.back().second, *branch);
    pieces.emplace_back(step.add(branch->run, branch->rows, token, alike), branch.get());
  }
  for (const auto& stem : begun_stems) {
    const std::int64_t count = std::min(stem->length() - stem->run.computed, room);
    room -= count;
    if (count > 0) prompts.emplace_back(step.add(stem->run, count, [&](std::int64_t p) { return stem->tokens[std::size_t(p)]; }), stem.get());
  }
  const std::int64_t width = policy.config.hidden_size;
  const float* hidden = step.tokens.empty() ? nullptr : engine->hidden(policy, step);
  const auto last_of = [&](const Piece& piece) {
    piece.run->computed += piece.count;
    return hidden + (piece.first_row + piece.count - 1) * width;
  };
  std::vector<Drawing> drawings;
  const auto draw_all = [&](const float* from, const Branch& branch) {
    for (Sequence* sequence : branch.members) drawings.push_back({from, sequence});
  };
  for (const auto& [piece, branch] : pieces) {
    const float* last = last_of(piece);
    if (branch->run.computed == branch->oldest().known()) draw_all(last, *branch);
  }
  for (const auto& [piece, stem] : prompts) {
    const float* last = last_of(piece);
    if (stem->ready()) stem->last_hidden = engine->keep(last);
  }
  for (const auto& branch : live) {  // those that have drawn nothing draw from what their prompt predicts, which may have been run again just now
    const Sequence& one = branch->oldest();
    if (branch->in_turn && one.own.empty() && branch->run.computed == one.known()) draw_all(one.stem->last_hidden.get(), *branch);
  }
  return drawings;
}

/// Draws a token for each; returns the sequences whose turn it ended.
std::vector<DecodeSession::Id> DecodeSession::State::choose(const Policy& policy, std::span<const Drawing> drawings) {
  std::vector<Draw> draws;
  for (const auto& [hidden, sequence] : drawings) draws.push_back({hidden, sequence->stream.uniform(sequence->result.tokens.size())});
  const std::vector<Drawn> drawn = engine->draw(policy.packed(), draws);
  std::vector<Id> ended;
  for (std::size_t i = 0; i < drawings.size(); ++i) {
    if (take_token(policy, *drawings[i].sequence, drawn[i])) ended.push_back(drawings[i].sequence->id);
  }
  part_ways();
  return ended;
}

/// Members that drew the same token go on together, the others as branches of their own beside them. Who ended leaves, with what has been run of it.
void DecodeSession::State::part_ways() {
  Branches all;
  for (const auto& branch : std::exchange(live, {})) {
    auto members = std::exchange(branch->members, {});
    const auto ended = std::stable_partition(members.begin(), members.end(), [](const Sequence* sequence) { return sequence->stage == Stage::live; });
    std::for_each(ended, members.end(), [&](Sequence* sequence) { sequence->run = branch->run; });
    members.erase(ended, members.end());
    if (members.size() > 1 && branch->in_turn && !members.front()->own.empty())
      std::stable_sort(members.begin(), members.end(), [](const Sequence* a, const Sequence* b) { return a->own.back() < b->own.back(); });
    for (Sequence* sequence : members) {
      const bool together =
          !branch->members.empty() && (!branch->in_turn || sequence->own.empty() || sequence->own.back() == all.back()->members.back()->own.back());
      if (!together) all.push_back(branch->members.empty() ? branch : std::make_shared<Branch>(Branch{{}, branch->run, branch->in_turn}));
      all.back()->members.push_back(sequence);
    }
  }
  live = std::move(all);
}

/// True when it ends the turn.
bool DecodeSession::State::take_token(const Policy& policy, Sequence& sequence, const Drawn& drawn) {
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
  const std::span<const std::int32_t> turn = begun_by_another ? std::span(sequence.answer) : std::span(result.tokens).subspan(sequence.turn);
  result.stopped = policy.config().ends(token) || (sequence.stop && sequence.stop(turn));
  if (!result.stopped && sequence.sampled() < sequence.limit) return false;
  sequence.stage = Stage::ended;
  return true;
}

// ---- the session -------------------------------------------------------------------------------------------------------------------------------------------

DecodeSession::DecodeSession(const Policy& policy, const SamplingParams& sampling, Team& team, std::int64_t cache_bytes, std::int64_t live_rows)
    : state_(std::make_unique<State>(policy, sampling, team, cache_bytes, live_rows)) {}
DecodeSession::~DecodeSession() = default;

std::int64_t DecodeSession::scratch_bytes(const ModelConfig& config, std::int64_t live_rows) {
  return Backend::scratch_bytes(config, live_rows + kPrefillRows);
}

DecodeSession::Id DecodeSession::open(const DecodeRequest& request, std::uint32_t first, std::uint32_t count, const StopRules& stops) {
  State& s = *state_;
  check_request(request, s.config, s.sampling);
  if (count == 0) return s.next_id;
  expect(std::uint64_t(request.first_sample) + first + count <= std::uint64_t(UINT32_MAX) + 1, "samples are numbered with 32 bits");
  std::weak_ptr<Stem>& known = s.stems[request.prompt];
  std::shared_ptr<Stem> stem = known.lock();
  if (!stem) {
    stem = std::make_shared<Stem>(Stem{request.prompt, s.next_stem++, {}, {}});
    known = stem;
  }
  const Id begin = s.next_id;
  const std::int64_t limit = s.sampling.max_new_tokens - request.given;
  s.pool.admit(pages_of(stem->length()) + pages_of(stem->length() + limit));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t sample = request.first_sample + first + i;
    auto sequence =
        std::make_unique<Sequence>(Sequence{.id = s.next_id++,
                                            .stem = stem,
                                            .stream = RandomStream(request.seed, RandomPurpose::sampling, request.step, request.prompt_address, sample),
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

std::vector<DecodeSession::Id> DecodeSession::advance(const Policy& policy) {
  State& s = *state_;
  const Policy::Packed& packed = policy.packed();
  expect(packed.kernels == s.shape.kernels && packed.config.hidden_size == s.config.hidden_size && packed.config.vocab_size == s.config.vocab_size &&
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
std::int64_t DecodeSession::unfinished() const { return std::int64_t(state_->queue.size()) + state_->live_sequences(); }

std::int64_t DecodeSession::advancing() const { return std::min(state_->live_sequences(), state_->most_live); }
std::int64_t DecodeSession::cache_bytes() const { return state_->pool.taken() * state_->pool.page_bytes(); }

void DecodeSession::append(Id id, std::span<const std::int32_t> tokens) {
  State& s = *state_;
  Sequence& sequence = s.of(id);
  expect(sequence.stage == Stage::ended || sequence.stage == Stage::paused, "others' tokens come when the policy's turn is over");
  const std::int64_t positions = sequence.known() + std::int64_t(tokens.size()) + sequence.limit - std::int64_t(sequence.result.tokens.size());
  require<InputError>(std::int64_t(sequence.result.tokens.size()) < sequence.limit && positions <= s.config.max_position_embeddings,
                      fmt::format("{} tokens are appended to a sequence of {}, of which {} of {} may be sampled", tokens.size(), sequence.known(),
                                  sequence.result.tokens.size(), sequence.limit),
                      fmt::format("the model has {} positions, and a sequence goes on only where it may sample", s.config.max_position_embeddings),
                      "end the conversation earlier or raise sampling.max_new_tokens");
  for (const std::int32_t token : tokens) expect(token >= 0 && token < s.config.vocab_size, "others' tokens are in the vocabulary");
  sequence.own.insert(sequence.own.end(), tokens.begin(), tokens.end());
  sequence.result.stopped = false;
  sequence.turn = sequence.result.tokens.size();
  sequence.stop = sequence.stops ? sequence.stops() : StopRule();
  s.pool.admit(pages_of(sequence.stem->length()) + pages_of(positions));
  s.wait(sequence);
}

void DecodeSession::pause(Id id) {
  State& s = *state_;
  Sequence& sequence = s.of(id);
  expect(sequence.stage == Stage::waiting || sequence.stage == Stage::live, "a sequence is paused while it waits or advances");
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
  const std::shared_ptr<Stem> stem = sequence.stem;
  s.sequences.erase(id);
  s.drop_idle_stems();
  if (stem.use_count() == 1) s.stems.erase(stem->tokens);
  return result;
}

}  // namespace rollcall::model
