// Positions and visible keys of packed sequences.
#include "model/packed_rows.hpp"

#include "base/error.hpp"

#include <algorithm>

namespace rollcall::model {

PackedSequences::PackedSequences(std::span<const std::int64_t> offsets, PageShape shape, std::span<const std::int64_t> parents, const PageMemory& memory)
    : offsets_(offsets.begin(), offsets.end()), parents_(parents.begin(), parents.end()), shape_(shape), rows_(std::size_t(offsets.back())) {
  positions_.reserve(rows_.size());
  std::vector<std::int64_t> table{0}, own_page{0};  // where each sequence's begin
  for (std::size_t s = 0; s < sequences(); ++s) {
    const Stretch own = stretch(s);
    for (std::int64_t row = 0; row < own.rows; ++row) positions_.push_back(std::int32_t(own.before() + row));
    own_page.push_back(own_page.back() + own.own_pages());
    table.push_back(table.back() + kernels::pages_of(own.length()));
  }
  tables_.resize(std::size_t(table.back()));
  memory_ = memory.make(std::size_t(own_page.back() * shape_.bytes()));
  Stretch last;  // that has rows
  for (std::size_t s = 0; s < sequences(); ++s) {
    const Stretch own = stretch(s);
    const void** pages = tables_.data() + table[s];
    own_.push_back(memory_.data() + own_page[s] * shape_.bytes());
    if (own.shared_pages() > 0) std::copy_n(tables_.data() + table[std::size_t(parents_[s])], own.shared_pages(), pages);
    for (std::int64_t p = 0; p < own.own_pages(); ++p) pages[own.shared_pages() + p] = own_.back() + p * shape_.bytes();
    for (std::int64_t row = 0; row < own.rows; ++row) rows_[std::size_t(own.begin + row)] = {pages, own.before() + row + 1};
    if (own.rows == 0) continue;
    rows_[std::size_t(own.begin)].alike = own.alike(last);
    last = own;
  }
}

PackedSequences::Stretch PackedSequences::stretch(std::size_t s) const {
  const auto range = [&](std::int64_t of, std::int64_t& begin, std::int64_t& rows) {
    begin = offsets_[std::size_t(of)], rows = offsets_[std::size_t(of) + 1] - begin;
    return parents_.empty() ? -1 : parents_[std::size_t(of)];
  };
  Stretch own;
  const std::int64_t parent = range(std::int64_t(s), own.begin, own.rows);
  const std::int64_t head = parent < 0 ? -1 : range(parent, own.parent_begin, own.parent_rows);
  if (head >= 0) range(head, own.head_begin, own.head_rows);
  return own;
}

std::int64_t PackedSequences::Stretch::alike(const Stretch& other) const {
  std::int64_t count = 0;
  for (const std::int64_t most = std::min(length(), other.length()); count < most && row(count) == other.row(count);) ++count;
  return count;
}

float* PackedSequences::gather(const Stretch& s, const float* from, std::int64_t width, float* into) const {
  into = std::copy_n(from + s.head_begin * width, s.head_rows * width, into);
  into = std::copy_n(from + s.parent_begin * width, s.parent_rows * width, into);
  return std::copy_n(from + s.begin * width, s.rows * width, into);
}

void PackedSequences::store(std::size_t, std::int64_t sequence, const float* k, const float* v) {
  const std::int64_t width = shape_.width(), bytes = shape_.bytes();
  const Stretch own = stretch(std::size_t(sequence));
  for (std::int64_t position = own.shared_pages() * kernels::kPageKeys; position < own.length(); ++position) {
    const std::int64_t row = own.row(position);
    std::byte* page = own_[std::size_t(sequence)] + (position / kernels::kPageKeys - own.shared_pages()) * bytes;
    shape_.kernels->store_position(k + row * width, v + row * width, shape_.heads, position % kernels::kPageKeys, page);
  }
}

std::vector<KeyValues::Again> PackedSequences::again() const {
  std::vector<Again> all;
  for (std::size_t s = 0; s < sequences(); ++s) {
    const Stretch own = stretch(s);
    if (own.rows == 0) continue;
    const void* const* pages = rows_[std::size_t(own.begin)].pages;
    for (std::int64_t position = own.shared_pages() * kernels::kPageKeys; position < own.before(); ++position)
      all.push_back({std::int32_t(own.row(position)), {pages, position + 1}});
  }
  return all;
}

void expect_leaf(const Policy::Packed& policy, const Leaf& leaf) {
  expect(!leaf.offsets.empty() && leaf.offsets.front() == 0 && leaf.offsets.back() == std::int64_t(leaf.tokens.size()), "offsets cover the leaf");
  const std::size_t sequences = leaf.offsets.size() - 1;
  const auto own_length = [&](std::size_t s) { return leaf.offsets[s + 1] - leaf.offsets[s]; };
  const auto parent_of = [&](std::size_t s) { return leaf.parents.empty() ? -1 : leaf.parents[s]; };
  expect(leaf.parents.empty() || leaf.parents.size() == sequences, "every sequence has a parent or none");
  for (std::size_t s = 0; s < sequences; ++s) {
    std::int64_t length = own_length(s), generations = 0;
    for (auto child = std::int64_t(s), parent = parent_of(s); parent >= 0; child = parent, parent = parent_of(std::size_t(parent))) {
      expect(parent < child && own_length(std::size_t(parent)) > 0 && ++generations <= 2, "a parent stands before its children and has one itself at most");
      length += own_length(std::size_t(parent));
    }
    expect(own_length(s) >= 0 && length <= policy.config.max_position_embeddings, "a leaf's sequences fit the model's positions");
  }
  const auto in_vocabulary = [&](std::int32_t token) { return token >= 0 && token < policy.config.vocab_size; };
  expect(std::all_of(leaf.tokens.begin(), leaf.tokens.end(), in_vocabulary), "a leaf's tokens are in the vocabulary");
  std::size_t s = 0;
  std::int64_t last = -1;
  for (const std::int64_t target : leaf.targets) {
    expect(target > last && target < leaf.offsets.back(), "targets ascend inside the leaf");
    while (leaf.offsets[s + 1] <= target) ++s;
    expect(target > leaf.offsets[s] || parent_of(s) >= 0, "the first token of a sequence without parent is no target");
    last = target;
  }
}

std::vector<std::int64_t> predicting_rows(const Leaf& leaf) {
  std::vector<std::int64_t> rows;
  rows.reserve(leaf.targets.size());
  std::size_t s = 0;
  for (const std::int64_t target : leaf.targets) {
    while (leaf.offsets[s + 1] <= target) ++s;
    rows.push_back(target > leaf.offsets[s] ? target - 1 : leaf.offsets[std::size_t(leaf.parents[s]) + 1] - 1);
  }
  return rows;
}

}  // namespace rollcall::model
