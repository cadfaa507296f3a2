// Merges short words by searching an array for the lowest rank, and long ones with a heap of
// candidates over a linked list.
#include "text/json_tokenizer/vocabulary/merges.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace rollcall::text::json_tokenizer {
namespace {

constexpr std::size_t kShort = 32;  // number of symbols up to which an array of ranks is faster
                                    // than a heap
constexpr std::int32_t kNoRank = std::numeric_limits<std::int32_t>::max();

/// Whether `a` comes after `b`. The top of the heap is the lowest rank and, among equal ranks, the
/// leftmost.
bool is_later(const MergeSpace::Candidate& a, const MergeSpace::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
}

void merge_short(const MergeTable& merges, std::vector<std::int32_t>& symbols, MergeSpace& space) {
  std::int32_t ranks[kShort], tokens[kShort];
  std::size_t count = symbols.size();
  std::int32_t* word = symbols.data();
  const auto look = [&](std::size_t i) {
    const Merge merge = merges.find(word[i], word[i + 1]);
    ranks[i] = merge.rank < 0 ? kNoRank : merge.rank, tokens[i] = merge.token;
  };
  for (std::size_t i = 0; i + 1 < count; ++i) look(i);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) best = ranks[i] < ranks[best] ? i : best;
    space.operations += std::int64_t(count);
    if (ranks[best] == kNoRank) break;
    word[best] = tokens[best];
    --count;
    for (std::size_t i = best + 1; i < count; ++i)
      word[i] = word[i + 1], ranks[i] = ranks[i + 1], tokens[i] = tokens[i + 1];
    if (best + 1 < count) look(best);
    if (best > 0) look(best - 1);
  }
  symbols.resize(count);
}

void merge_long(const MergeTable& merges, std::vector<std::int32_t>& symbols, MergeSpace& space) {
  auto& [links, heap, operations] = space;
  const auto count = std::int32_t(symbols.size());
  links.resize(symbols.size());
  heap.clear();
  for (std::int32_t i = 0; i < count; ++i)
    links[std::size_t(i)] = {i - 1, i + 1 < count ? i + 1 : -1};
  const auto candidate = [&](std::int32_t i) -> MergeSpace::Candidate {
    const Merge merge =
        merges.find(symbols[std::size_t(i)], symbols[std::size_t(links[std::size_t(i)].next)]);
    return {merge.rank, i, merge.token};
  };
  for (std::int32_t i = 0; i + 1 < count; ++i) {
    if (const auto found = candidate(i); found.rank >= 0) heap.push_back(found);
  }
  std::make_heap(heap.begin(), heap.end(), is_later);
  operations += count;
  const auto push = [&](std::int32_t i) {
    const auto found = candidate(i);
    if (found.rank < 0) return;
    heap.push_back(found);
    std::push_heap(heap.begin(), heap.end(), is_later);
  };
  constexpr std::int32_t kGone = -1;
  while (!heap.empty()) {
    ++operations;
    const auto top = heap.front();
    std::pop_heap(heap.begin(), heap.end(), is_later);
    heap.pop_back();
    auto& link = links[std::size_t(top.position)];
    // One of the two symbols was merged in the meantime.
    if (symbols[std::size_t(top.position)] == kGone || link.next < 0 ||
        candidate(top.position).token != top.token)
      continue;
    symbols[std::size_t(top.position)] = top.token;
    symbols[std::size_t(link.next)] = kGone;
    link.next = links[std::size_t(link.next)].next;
    if (link.next >= 0) links[std::size_t(link.next)].previous = top.position, push(top.position);
    if (link.previous >= 0) push(link.previous);
  }
  symbols.erase(std::remove(symbols.begin(), symbols.end(), kGone), symbols.end());
}

}  // namespace

MergeTable::MergeTable(std::size_t count)
    : slots_(std::bit_ceil(2 * count + 8)),
      filter_(slots_.size() / 8),
      mask_(slots_.size() - 1),
      shift_(64 - std::countr_zero(slots_.size())) {}

void MergeTable::insert(std::int32_t left, std::int32_t right, Merge merge) {
  if ((left | right) < kSmall) {
    square_[std::size_t(left * kSmall + right)] = merge;
    return;
  }
  const std::uint64_t key = key_of(left, right);
  filter_[bit_of(key) >> 6] |= std::uint64_t(1) << (bit_of(key) & 63);
  std::size_t slot = slot_of(key);
  while (slots_[slot].key != key && slots_[slot].key != kEmpty) slot = (slot + 1) & mask_;
  slots_[slot] = {key, merge};
}

void merge_word(const MergeTable& merges, std::vector<std::int32_t>& symbols, MergeSpace& space) {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShort) merge_short(merges, symbols, space);
  else merge_long(merges, symbols, space);
}

}  // namespace rollcall::text::json_tokenizer
