// Private to the model: the pages of keys and values that a sequence holds, and the rows of a
// decoding step.
#pragma once

#include "base/errors/error.hpp"
#include "model/engine/packed_rows.hpp"
#include "model/engine/page_pool.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rollcall::model {

/// The pages of positions [0, computed) of a sequence, for all layers. A page that another sequence
/// holds too is copied before it is written to.
struct KvPages {
  std::vector<PagePool::Page> pages;
  std::vector<const void*> table;  ///< addresses of `pages`, as the kernels read them
  std::int64_t computed = 0;       ///< positions whose keys and values are in the pages

  void push(PagePool::Page page) {
    table.push_back(page.get());
    pages.push_back(std::move(page));
  }
  void clear() { *this = KvPages(); }
  /// The pages of the first `positions` positions, shared with this object.
  KvPages first(std::int64_t positions) const {
    KvPages part;
    for (std::int64_t page = 0; page < kernels::pages_of(positions); ++page)
      part.push(pages[std::size_t(page)]);
    part.computed = positions;
    return part;
  }
  /// Index of the page of the next position.
  std::size_t next_page() const { return std::size_t(computed / kernels::kPageKeys); }
  /// Whether the next position is in a page that another sequence holds too.
  bool continues_in_shared_page() const {
    return computed % kernels::kPageKeys > 0 && pages[next_page()].use_count() > 1;
  }
  /// The number of pages to take before `rows` further rows can be computed.
  std::int64_t missing_pages(std::int64_t rows) const {
    return rows == 0 ? 0
                     : kernels::pages_of(computed + rows) - std::int64_t(pages.size()) +
                           (continues_in_shared_page() ? 1 : 0);
  }
};

/// Rows of one sequence or prompt that a step computes: its positions [begin, begin + count).
struct Piece {
  KvPages* kv;
  std::int64_t first_row, begin, count;
};

/// The rows of a step. Each unit is the part of a piece that lies in one page.
class StepRows final : public KeyValues {
 public:
  explicit StepRows(PageShape shape) : shape_(shape) {}
  const PageShape& shape() const { return shape_; }
  void clear() {
    tokens.clear();
    positions.clear();
    rows_.clear();
    units_.clear();
    last_ = nullptr;
  }
  /// Adds `count` positions from kv.computed on, whose pages have been taken; `token(position)`
  /// gives their tokens. `alike` is the number of leading positions that hold the same keys and
  /// values as in the piece before.
  template <class Token>
  Piece add(KvPages& kv, std::int64_t count, const Token& token, std::int64_t alike = 0) {
    expect(count > 0, "a piece has rows");
    const Piece piece{&kv, std::int64_t(tokens.size()), kv.computed, count};
    if (last_ != nullptr) alike = std::max(alike, common_pages(*last_, kv) * kernels::kPageKeys);
    last_ = &kv;
    added_ += count;
    for (std::int64_t p = piece.begin; p < piece.begin + count; ++p) {
      if (p == piece.begin || p % kernels::kPageKeys == 0)
        units_.push_back({kv.pages[std::size_t(p / kernels::kPageKeys)].get(),
                          std::int64_t(tokens.size()), p % kernels::kPageKeys, 0});
      ++units_.back().count;
      tokens.push_back(token(p));
      positions.push_back(std::int32_t(p));
      rows_.push_back({kv.table.data(), p + 1, p == piece.begin ? alike : 0});
    }
    return piece;
  }
  std::int64_t added() const { return added_; }  ///< rows of all steps so far
  std::span<const kernels::AttentionRow> rows() const override { return rows_; }
  std::int64_t offset(std::size_t layer) const override {
    return std::int64_t(layer) * shape_.bytes();
  }
  std::int64_t units() const override { return std::int64_t(units_.size()); }
  void store(std::size_t layer, std::int64_t unit, const float* k, const float* v) override {
    const Unit& part = units_[std::size_t(unit)];
    const std::int64_t width = shape_.width();
    for (std::int64_t i = 0; i < part.count; ++i)
      shape_.kernels->store_position(k + (part.row + i) * width, v + (part.row + i) * width,
                                     shape_.heads, part.slot + i, part.page + offset(layer));
  }

  std::vector<std::int32_t> tokens, positions;

 private:
  struct Unit {
    std::byte* page;
    std::int64_t row, slot, count;
  };
  static std::int64_t common_pages(const KvPages& a, const KvPages& b) {
    return std::mismatch(a.table.begin(), a.table.end(), b.table.begin(), b.table.end()).first -
           a.table.begin();
  }

  PageShape shape_;
  std::vector<kernels::AttentionRow> rows_;
  std::vector<Unit> units_;
  std::int64_t added_ = 0;
  const KvPages* last_ = nullptr;  ///< the pages of the piece that was added last
};

}  // namespace rollcall::model
