// How a decoding session gives pages to sequences that wait, and takes them from others.
#include "model/decode/common_beginning.hpp"
#include "model/decode/session_state.hpp"

#include <algorithm>

namespace rollcall::model {

using kernels::kPageKeys;
using kernels::pages_of;

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

/// Gives up pages whose contents can be recomputed until `pages()` are free. It takes them from
/// prompts that no sequence waits for, then from paused and from ended sequences, oldest first,
/// then from live ones that began after `whose`, the last of them first. With Need::must it also
/// takes them from waiting sequences and from all other prompts, because one sequence always has
/// room. `pages` is called again each time, because a page that `whose` shared may become its own
/// and then need not be copied.
bool DecodeSession::State::make_room(const std::function<std::int64_t()>& pages,
                                     const Sequence& whose, Need need) {
  const auto enough = [&] { return pool.free() >= pages(); };
  if (enough()) return true;
  prompts.drop_idle();
  for (const Stage stage : {Stage::paused, Stage::ended})
    for (auto& [id, sequence] : sequences) {
      if (enough()) return true;
      if (sequence.stage == stage) sequence.kv.clear();
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

/// Sends the members of a shared sequence back to the queue and gives up its pages. If more
/// sequences than rows are live, admit() has made sure of their room, except for the copy of a page
/// that a later fork shares with one of them.
void DecodeSession::State::preempt(SharedSequence& shared) { wait_first(live.remove(shared)); }

/// Gives up all pages, because another policy computed them. Live sequences wait again.
void DecodeSession::State::forget_pages() {
  for (const Sequence* waiting : queue)
    if (waiting->has_pages()) ++waiting->prompt_prefix->waiting;
  for (auto& [id, sequence] : sequences) sequence.kv.clear();
  prompts.drop_all_but(nullptr);
  wait_first(live.remove_all());
}

// ---- which sequences advance

/// Fills free rows with waiting sequences in their order, and begins the prompts that they need. If
/// there is room for all of them up to their limits, more sequences than rows are admitted and take
/// turns.
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

/// Takes pages for a sequence's prompt, the first ones from a prompt with the same beginning. If
/// another prompt will soon have computed more of that beginning, this one waits for it. Returns
/// false if there is no room. `is_first`: no other sequence advances or waits for a prompt.
/// `takes_turns`: admit() has made sure of the room.
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

/// Shares the full pages of the first `length` positions and copies the rest. The caller has made
/// sure that a page is free for the copy.
void DecodeSession::State::copy_beginning(KvPages& to, const KvPages& from, std::int64_t length) {
  const std::int64_t whole = length / kPageKeys, rest = length % kPageKeys;
  for (std::int64_t p = 0; p < whole; ++p) to.push(from.pages[std::size_t(p)]);
  if (rest > 0) {
    to.push(pool.take());
    engine->copy_positions(from.pages[std::size_t(whole)].get(), rest, to.pages.back().get());
  }
  to.computed = length;
}

/// Gives a waiting sequence its prompt's pages. Returns false if there is no room for the tokens
/// that it already has and for the page that each live sequence may soon need.
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

}  // namespace rollcall::model
