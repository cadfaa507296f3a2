// Positions of packed sequences, and the keys that each row attends to.
#include "model/engine/packed_rows.hpp"

#include "base/errors/error.hpp"

#include <algorithm>
#include <functional>

namespace rollcall::model {

PackedSequences::PackedSequences(std::span<const std::int64_t> offsets, PageShape shape,
                                 std::span<const std::int64_t> parents, const PageMemory& memory)
    : shape_(shape), rows_(std::size_t(offsets.back())) {
  positions_.reserve(rows_.size());
  // [sequences + 1] where each sequence's page table begins in tables_, and its first own page.
  std::vector<std::int64_t> table{0}, own_page{0};
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::int64_t parent = parents.empty() ? -1 : parents[s];
    const Stretch& own = stretches_.emplace_back(
        Stretch{parent, parent < 0 ? 0 : stretches_[std::size_t(parent)].length(), offsets[s],
                offsets[s + 1] - offsets[s]});
    for (std::int64_t row = 0; row < own.rows; ++row)
      positions_.push_back(std::int32_t(own.before + row));
    own_page.push_back(own_page.back() + own.own_pages());
    table.push_back(table.back() + kernels::pages_of(own.length()));
  }
  tables_.resize(std::size_t(table.back()));
  memory_ = memory.make(std::size_t(own_page.back() * shape_.bytes()));
  std::int64_t last = -1;  // the last sequence that has rows
  for (std::size_t s = 0; s < sequences(); ++s) {
    const Stretch& own = stretch(s);
    const void** pages = tables_.data() + table[s];
    own_.push_back(memory_.data() + own_page[s] * shape_.bytes());
    if (own.shared_pages() > 0)
      std::copy_n(tables_.data() + table[std::size_t(own.parent)], own.shared_pages(), pages);
    for (std::int64_t p = 0; p < own.own_pages(); ++p)
      pages[own.shared_pages() + p] = own_.back() + p * shape_.bytes();
    for (std::int64_t row = 0; row < own.rows; ++row)
      rows_[std::size_t(own.begin + row)] = {pages, own.before + row + 1};
    if (own.rows == 0) continue;
    if (last >= 0) rows_[std::size_t(own.begin)].alike = alike(s, std::size_t(last));
    last = std::int64_t(s);
  }
}

/// Two sequences share positions up to the end of the last sequence on both paths from the root.
std::int64_t PackedSequences::alike(std::size_t sequence, std::size_t other) const {
  auto a = std::int64_t(sequence), b = std::int64_t(other);
  while (a != b && a >= 0 && b >= 0) {  // parents come before their children
    std::int64_t& later = a > b ? a : b;
    later = stretches_[std::size_t(later)].parent;
  }
  return a == b && a >= 0 ? stretches_[std::size_t(a)].length() : 0;
}

void PackedSequences::gather(std::size_t sequence, const float* from, std::int64_t width,
                             float* into) const {
  each_part(sequence, [&](std::int64_t position, std::int64_t row, std::int64_t count) {
    std::copy_n(from + row * width, count * width, into + position * width);
  });
}

void PackedSequences::store(std::size_t, std::int64_t sequence, const float* k, const float* v) {
  const std::int64_t width = shape_.width(), bytes = shape_.bytes(),
                     first = stretch(std::size_t(sequence)).shared_pages() * kernels::kPageKeys;
  each_part(std::size_t(sequence), [&](std::int64_t position, std::int64_t row,
                                       std::int64_t count) {
    for (std::int64_t i = std::max<std::int64_t>(first - position, 0); i < count; ++i) {
      const std::int64_t in_own = position + i - first;
      shape_.kernels->store_position(
          k + (row + i) * width, v + (row + i) * width, shape_.heads, in_own % kernels::kPageKeys,
          own_[std::size_t(sequence)] + in_own / kernels::kPageKeys * bytes);
    }
  });
}

std::vector<KeyValues::Again> PackedSequences::again() const {
  std::vector<Again> all;
  for (std::size_t s = 0; s < sequences(); ++s) {
    const Stretch& own = stretch(s);
    if (own.rows == 0) continue;
    const void* const* pages = rows_[std::size_t(own.begin)].pages;
    const std::int64_t first = own.shared_pages() * kernels::kPageKeys;
    each_part(s, [&](std::int64_t position, std::int64_t row, std::int64_t count) {
      if (position == own.before) return;  // the sequence's own rows follow
      for (std::int64_t i = std::max<std::int64_t>(first - position, 0); i < count; ++i)
        all.push_back({std::int32_t(row + i), {pages, position + i + 1}});
    });
  }
  return all;
}

void expect_micro_batch(const PolicyModel::Packed& policy, const MicroBatch& micro_batch) {
  expect(!micro_batch.offsets.empty() && micro_batch.offsets.front() == 0 &&
             micro_batch.offsets.back() == std::int64_t(micro_batch.tokens.size()),
         "offsets cover the micro-batch");
  const std::size_t sequences = micro_batch.offsets.size() - 1;
  const auto own_length = [&](std::size_t s) {
    return micro_batch.offsets[s + 1] - micro_batch.offsets[s];
  };
  const auto parent_of = [&](std::size_t s) {
    return micro_batch.parents.empty() ? -1 : micro_batch.parents[s];
  };
  expect(micro_batch.parents.empty() || micro_batch.parents.size() == sequences,
         "every sequence has a parent or none");
  std::vector<std::int64_t> lengths;  // of the sequences, each including all rows before it
  for (std::size_t s = 0; s < sequences; ++s) {
    const std::int64_t parent = parent_of(s);
    expect(parent < std::int64_t(s) && (parent < 0 || own_length(std::size_t(parent)) > 0),
           "a parent stands before its children and has tokens");
    lengths.push_back(own_length(s) + (parent < 0 ? 0 : lengths[std::size_t(parent)]));
    expect(own_length(s) >= 0 && lengths.back() <= policy.config.max_position_embeddings,
           "a micro-batch's sequences fit the model's positions");
  }
  const auto in_vocabulary = [&](std::int32_t token) {
    return token >= 0 && token < policy.config.vocab_size;
  };
  expect(std::all_of(micro_batch.tokens.begin(), micro_batch.tokens.end(), in_vocabulary),
         "a micro-batch's tokens are in the vocabulary");
  std::size_t s = 0;
  std::int64_t last = -1;
  for (const std::int64_t target : micro_batch.targets) {
    expect(target > last && target < micro_batch.offsets.back(),
           "targets ascend inside the micro-batch");
    while (micro_batch.offsets[s + 1] <= target) ++s;
    expect(target > micro_batch.offsets[s] || parent_of(s) >= 0,
           "the first token of a sequence without parent is no target");
    last = target;
  }
  expect(micro_batch.kept.end.size() <= micro_batch.targets.size(),
         "lists of kept tokens are those of targets");
  for (std::size_t i = 0; i < micro_batch.kept.end.size(); ++i) {
    const auto kept = micro_batch.kept.of(i);
    if (kept.empty()) continue;
    expect(std::is_sorted(kept.begin(), kept.end(), std::less_equal()) &&
               in_vocabulary(kept.front()) && in_vocabulary(kept.back()),
           "kept tokens ascend in the vocabulary");
    expect(std::binary_search(kept.begin(), kept.end(),
                              micro_batch.tokens[std::size_t(micro_batch.targets[i])]),
           "a target is among the tokens that it was drawn from");
  }
  expect(micro_batch.missed.end.size() <= micro_batch.targets.size() &&
             micro_batch.missed.share.size() == micro_batch.missed.id.size(),
         "lists of missed tokens are those of targets");
  for (std::size_t i = 0; i < micro_batch.missed.end.size(); ++i) {
    const auto missed = micro_batch.missed.of(i).id;
    if (missed.empty()) continue;
    expect(std::is_sorted(missed.begin(), missed.end(), std::less_equal()) &&
               in_vocabulary(missed.front()) && in_vocabulary(missed.back()),
           "missed tokens ascend in the vocabulary");
    expect(!std::binary_search(missed.begin(), missed.end(),
                               micro_batch.tokens[std::size_t(micro_batch.targets[i])]),
           "a target is none of the tokens that it missed");
  }
}

std::vector<std::int64_t> predicting_rows(const MicroBatch& micro_batch) {
  std::vector<std::int64_t> rows;
  rows.reserve(micro_batch.targets.size());
  std::size_t s = 0;
  for (const std::int64_t target : micro_batch.targets) {
    while (micro_batch.offsets[s + 1] <= target) ++s;
    rows.push_back(target > micro_batch.offsets[s]
                       ? target - 1
                       : micro_batch.offsets[std::size_t(micro_batch.parents[s]) + 1] - 1);
  }
  return rows;
}

}  // namespace rollcall::model
