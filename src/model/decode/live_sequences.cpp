// Sequences join, take turns and part.
#include "model/decode/live_sequences.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

namespace rollcall::model {

using kernels::kPageKeys;

std::int64_t LiveSequences::count() const {
  return std::accumulate(shared_.begin(), shared_.end(), std::int64_t(0),
                         [](std::int64_t sum, const auto& shared) {
                           return sum + std::int64_t(shared->members.size());
                         });
}

bool LiveSequences::join(Sequence& sequence) {
  auto found = std::lower_bound(shared_.begin(), shared_.end(), sequence.prompt_prefix->number,
                                [](const auto& shared, std::uint64_t number) {
                                  return shared->oldest().prompt_prefix->number < number;
                                });
  const auto has_prompt = [&] {
    return found != shared_.end() && (*found)->oldest().prompt_prefix == sequence.prompt_prefix;
  };
  while (has_prompt() && (*found)->oldest().continuation != sequence.continuation) ++found;
  if (!has_prompt()) return false;
  SharedSequence& shared = **found;
  if (!sequence.has_pages()) --sequence.prompt_prefix->waiting;
  if (sequence.kv.computed > shared.kv.computed) shared.kv = std::move(sequence.kv);
  sequence.kv.clear();
  shared.members.insert(
      std::upper_bound(shared.members.begin(), shared.members.end(), &sequence,
                       [](const Sequence* a, const Sequence* b) { return a->id < b->id; }),
      &sequence);
  return true;
}

void LiveSequences::add(Sequence& sequence) {
  const auto later = [](std::uint64_t number, const auto& shared) {
    return number < shared->oldest().prompt_prefix->number;
  };
  shared_.insert(
      std::upper_bound(shared_.begin(), shared_.end(), sequence.prompt_prefix->number, later),
      std::make_shared<SharedSequence>(
          SharedSequence{{&sequence}, std::exchange(sequence.kv, {})}));
}

LiveSequences::Shared::const_iterator LiveSequences::find(const Sequence& sequence) const {
  return std::find_if(shared_.begin(), shared_.end(), [&](const auto& shared) {
    return std::find(shared->members.begin(), shared->members.end(), &sequence) !=
           shared->members.end();
  });
}

const KvPages& LiveSequences::kv_of(const Sequence& sequence) const {
  return (*find(sequence))->kv;
}

void LiveSequences::leave(Sequence& sequence) {
  const auto shared = find(sequence);
  std::erase((*shared)->members, &sequence);
  sequence.kv = (*shared)->kv;
  if ((*shared)->members.empty()) shared_.erase(shared);
}

std::vector<Sequence*> LiveSequences::remove(SharedSequence& shared) {
  shared.kv.clear();
  auto members = std::exchange(shared.members, {});
  std::erase_if(shared_, [](const auto& each) { return each->members.empty(); });
  return members;
}

std::vector<Sequence*> LiveSequences::remove_all() {
  std::vector<Sequence*> members;
  for (const auto& shared : std::exchange(shared_, {}))
    members.insert(members.end(), shared->members.begin(), shared->members.end());
  return members;
}

SharedSequence& LiveSequences::youngest() const {
  return **std::max_element(shared_.begin(), shared_.end(), [](const auto& a, const auto& b) {
    return a->oldest().id < b->oldest().id;
  });
}

LiveSequences::Shared LiveSequences::in_turn_oldest_first() const {
  Shared by_age;
  std::copy_if(shared_.begin(), shared_.end(), std::back_inserter(by_age),
               [](const auto& shared) { return shared->in_turn; });
  std::sort(by_age.begin(), by_age.end(),
            [](const auto& a, const auto& b) { return a->oldest().id < b->oldest().id; });
  return by_age;
}

void LiveSequences::give_turns() {
  for (const auto& shared : shared_) {
    shared->in_turn = true;
    shared->rows = 0;
  }
  auto left = std::size_t(rows_);
  if (count() <= rows_) return;
  Shared order = shared_;
  const auto key = [](const SharedSequence& shared) {
    return std::tuple(shared.oldest().sampled() / kPageKeys, shared.oldest().prompt_prefix->number,
                      shared.oldest().id);
  };
  std::sort(order.begin(), order.end(),
            [&](const auto& a, const auto& b) { return key(*a) < key(*b); });
  for (const auto& shared : order) {
    auto& members = shared->members;
    const std::size_t now = std::min(members.size(), left);
    left -= now;
    shared->in_turn = now > 0;
    if (now == 0 || now == members.size()) continue;
    shared_.insert(std::find(shared_.begin(), shared_.end(), shared) + 1,
                   std::make_shared<SharedSequence>(SharedSequence{
                       {members.begin() + std::ptrdiff_t(now), members.end()}, shared->kv}));
    members.resize(now);
  }
}

void LiveSequences::part_ways() {
  Shared all;
  for (const auto& shared : std::exchange(shared_, {})) {
    auto members = std::exchange(shared->members, {});
    const auto ended = std::stable_partition(
        members.begin(), members.end(),
        [](const Sequence* sequence) { return sequence->stage == Stage::live; });
    std::for_each(ended, members.end(), [&](Sequence* sequence) { sequence->kv = shared->kv; });
    members.erase(ended, members.end());
    if (members.size() > 1 && shared->in_turn && !members.front()->continuation.empty())
      std::stable_sort(members.begin(), members.end(), [](const Sequence* a, const Sequence* b) {
        return a->continuation.back() < b->continuation.back();
      });
    for (Sequence* sequence : members) {
      const bool together =
          !shared->members.empty() &&
          (!shared->in_turn || sequence->continuation.empty() ||
           sequence->continuation.back() == all.back()->members.back()->continuation.back());
      if (!together)
        all.push_back(shared->members.empty() ? shared
                                              : std::make_shared<SharedSequence>(SharedSequence{
                                                    {}, shared->kv, shared->in_turn}));
      all.back()->members.push_back(sequence);
    }
  }
  shared_ = std::move(all);
}

}  // namespace rollcall::model
