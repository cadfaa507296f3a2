// Byte-pair merges: which two neighbours become one token, and the merging of a word in n log n.
#pragma once

#include <cstdint>
#include <vector>

namespace rollcall::text::json_tokenizer {

struct Merge {
  std::int32_t rank = -1;  ///< the lowest of a word is merged first, the leftmost among equals; -1:
                           ///< no merge
  std::int32_t token = -1;
};

/// Pairs of ids to merges: a square for small ids, those of the bytes among them; for others a
/// filter, small enough for a near cache, then open addressing.
class MergeTable {
 public:
  explicit MergeTable(std::size_t count);
  /// the last of equal pairs counts, as in the library
  void insert(std::int32_t left, std::int32_t right, Merge merge);
  Merge find(std::int32_t left, std::int32_t right) const {
    if ((left | right) < kSmall) return square_[std::size_t(left * kSmall + right)];
    const std::uint64_t key = key_of(left, right);
    const std::size_t bit = bit_of(key);
    if ((filter_[bit >> 6] >> (bit & 63) & 1) == 0) return {};
    for (std::size_t slot = slot_of(key);; slot = (slot + 1) & mask_) {
      if (slots_[slot].key == key) return slots_[slot].merge;
      if (slots_[slot].key == kEmpty) return {};
    }
  }

 private:
  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge;
  };
  static constexpr std::int32_t kSmall = 512;  // 2 MiB, of which few rows are ever touched
  static constexpr std::uint64_t kEmpty = ~std::uint64_t(0);
  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t(std::uint32_t(left)) << 32 | std::uint32_t(right);
  }
  std::size_t slot_of(std::uint64_t key) const {
    return std::size_t((key * 0x9E3779B97F4A7C15ULL) >> shift_);
  }

  std::size_t bit_of(std::uint64_t key) const {
    return std::size_t((key * 0x9E3779B97F4A7C15ULL) >> (shift_ - 3));
  }

  // [left, right] of small ids
  std::vector<Merge> square_ = std::vector<Merge>(std::size_t(kSmall) * kSmall);
  std::vector<Slot> slots_;            // a power of two, at most half full
  std::vector<std::uint64_t> filter_;  // eight bits a slot; a bit that is not set: no merge
  std::size_t mask_;
  int shift_;
};

/// Room that merge_word() uses again from word to word, and what it has done.
struct MergeSpace {
  struct Link {
    std::int32_t previous, next;
  };
  struct Candidate {
    std::int32_t rank, position, token;
  };
  std::vector<Link> links;
  std::vector<Candidate> heap;
  std::int64_t operations = 0;  ///< looks at a pair or a heap's entry; tests hold it against the
                                ///< length of the text
};

/// Merges the symbols of a word in place until no pair is left.
void merge_word(const MergeTable& merges, std::vector<std::int32_t>& symbols, MergeSpace& space);

}  // namespace rollcall::text::json_tokenizer
