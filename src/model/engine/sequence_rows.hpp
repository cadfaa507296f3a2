// Private to the model: sequences of a session as their known tokens and the pages in which some of
// them stand, and the rows of a step.
#pragma once

#include "base/error.hpp"
#include "base/random.hpp"
#include "model/engine/packed_rows.hpp"
#include "model/engine/page_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace rollcall::model {

/// Pages [0, pages_of(computed)) of consecutive positions, for all layers. A page that others hold
/// too is copied before it is written to.
struct KvPages {
  std::vector<PagePool::Page> pages;
  std::vector<const void*> table;  ///< the same as the kernels read it
  std::int64_t computed = 0;       ///< positions whose keys and values stand in them

  void push(PagePool::Page page) {
    table.push_back(page.get());
    pages.push_back(std::move(page));
  }
  void clear() { *this = KvPages(); }
  /// in which the next position stands
  std::size_t last_page() const { return std::size_t(computed / kernels::kPageKeys); }
  bool goes_on_in_shared() const {
    return computed % kernels::kPageKeys > 0 && pages[last_page()].use_count() > 1;
  }
  /// Pages to take before so many rows more are run.
  std::int64_t missing_pages(std::int64_t rows) const {
    return rows == 0 ? 0
                     : kernels::pages_of(computed + rows) - std::int64_t(pages.size()) +
                           (goes_on_in_shared() ? 1 : 0);
  }
};

/// A prompt, once for all sequences that begin with it.
struct PromptPrefix {
  std::vector<std::int32_t> tokens;
  std::uint64_t number = 0;
  KvPages run;
  std::shared_ptr<const float> last_hidden;  ///< [hidden] of its last token, before the final norm,
                                             ///< once it is computed
  std::int64_t waiting = 0;                  ///< sequences that will begin with it

  std::int64_t length() const { return std::int64_t(tokens.size()); }
  bool ready() const { return run.computed == length(); }
};

enum class Stage { waiting, live, paused, ended };

struct Sequence {
  std::uint64_t id;
  std::shared_ptr<PromptPrefix> prompt_prefix;
  RandomStream stream;
  StopRules stops;
  StopRule stop;                       ///< of the turn at hand
  std::int64_t given, limit;           ///< limit: sampled tokens
  std::vector<std::int32_t> own{};     ///< behind the prompt: sampled and others'
  std::vector<std::int32_t> answer{};  ///< what the rule reads where the answer's beginning was
                                       ///< given
  DecodedSequence result{};
  std::size_t turn = 0;  ///< sampled tokens before the turn at hand
  KvPages run{};         ///< while it is not live; then its shared_sequence has it
  Stage stage = Stage::waiting;

  std::int32_t token(std::int64_t p) const {
    return p < prompt_prefix->length() ? prompt_prefix->tokens[std::size_t(p)]
                                       : own[std::size_t(p - prompt_prefix->length())];
  }
  std::int64_t known() const { return prompt_prefix->length() + std::int64_t(own.size()); }
  bool begun() const { return !run.pages.empty(); }  ///< its pages begin with its prompt's
  std::int64_t sampled() const { return std::int64_t(result.tokens.size()); }
  /// at its limit
  std::int64_t most_pages() const { return kernels::pages_of(known() + limit - sampled()); }
};

/// Live sequences of one prompt that have the same tokens behind it: they are one run, and each
/// draws for itself.
struct SharedSequence {
  std::vector<Sequence*> members;  ///< ascending ids
  KvPages run;
  // Of the step at hand:
  bool in_turn = false;  ///< they advance
  std::int64_t rows = 0;

  const Sequence& oldest() const { return *members.front(); }
};

/// First positions that stand in the runs of both and hold the same.
inline std::int64_t alike_positions(const SharedSequence& a, const SharedSequence& b) {
  const Sequence &one = a.oldest(), &other = b.oldest();
  if (one.prompt_prefix != other.prompt_prefix) return 0;
  const auto own =
      std::mismatch(one.own.begin(), one.own.end(), other.own.begin(), other.own.end()).first -
      one.own.begin();
  return std::min({one.prompt_prefix->length() + own, a.run.computed, b.run.computed});
}

/// Rows of one sequence or prompt that are run in a step.
struct Piece {
  KvPages* run;
  std::int64_t first_row, begin, count;  ///< its positions [begin, begin + count)
};

/// The rows of a step. Units: a piece's part of a page.
class StepRows final : public KeyValues {
 public:
  explicit StepRows(PageShape shape) : shape_(shape) {}
  void clear() {
    tokens.clear(), positions.clear(), rows_.clear(), units_.clear(), last_ = nullptr;
  }
  /// `token(position)` for `count` positions from run.computed on, whose pages are there. `alike`:
  /// first positions that hold what those of the run before hold.
  template <class Token>
  Piece add(KvPages& run, std::int64_t count, const Token& token, std::int64_t alike = 0) {
    expect(count > 0, "a piece has rows");
    const Piece piece{&run, std::int64_t(tokens.size()), run.computed, count};
    if (last_ != nullptr) alike = std::max(alike, common_pages(*last_, run) * kernels::kPageKeys);
    last_ = &run;
    for (std::int64_t p = piece.begin; p < piece.begin + count; ++p) {
      if (p == piece.begin || p % kernels::kPageKeys == 0)
        units_.push_back({run.pages[std::size_t(p / kernels::kPageKeys)].get(),
                          std::int64_t(tokens.size()), p % kernels::kPageKeys, 0});
      ++units_.back().count;
      tokens.push_back(token(p));
      positions.push_back(std::int32_t(p));
      rows_.push_back({run.table.data(), p + 1, p == piece.begin ? alike : 0});
    }
    return piece;
  }
  std::span<const kernels::AttentionRow> rows() const override { return rows_; }
  std::int64_t offset(std::size_t layer) const override {
    return std::int64_t(layer) * shape_.bytes();
  }
  std::int64_t units() const override { return std::int64_t(units_.size()); }
  void store(std::size_t layer, std::int64_t unit, const float* k, const float* v) override {
    const Unit& own = units_[std::size_t(unit)];
    const std::int64_t width = shape_.width();
    for (std::int64_t i = 0; i < own.count; ++i)
      shape_.kernels->store_position(k + (own.row + i) * width, v + (own.row + i) * width,
                                     shape_.heads, own.slot + i, own.page + offset(layer));
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
  const KvPages* last_ = nullptr;  ///< of the rows before
};

/// Throws InputError where the model cannot read the prompt, or not with all that may be sampled
/// behind it.
inline void check_request(const DecodeRequest& request, const ModelConfig& config,
                          const SamplingParams& sampling) {
  require<InputError>(!request.prompt.empty(), "a prompt has no tokens",
                      "the first token is drawn from what follows the prompt",
                      "give every prompt at least one character");
  for (const std::int32_t token : request.prompt) {
    require<InputError>(
        token >= 0 && token < config.vocab_size,
        fmt::format("a prompt holds token {} of a vocabulary of {}", token, config.vocab_size),
        "the model has no embedding for it", "use the tokenizer the model was trained with");
  }
  expect(request.given >= 0 && request.given <= std::int64_t(request.prompt.size()) &&
             request.given < sampling.max_new_tokens,
         "a given beginning is part of the prompt and leaves something to sample");
  const std::int64_t longest =
      std::int64_t(request.prompt.size()) + sampling.max_new_tokens - request.given;
  require<InputError>(
      longest <= config.max_position_embeddings,
      fmt::format("a prompt of {} tokens and {} new ones exceed the model's {} positions",
                  request.prompt.size(), sampling.max_new_tokens - request.given,
                  config.max_position_embeddings),
      "the model cannot read past its last position",
      "shorten the prompt or lower sampling.max_new_tokens");
}

}  // namespace rollcall::model
