// Byte-pair merges, which define the neighbours that become one token. Merging a word of n symbols
// takes O(n log n) steps.
#pragma once

#include <cstdint>
#include <vector>

namespace rollcall::text::json_tokenizer {

struct Merge {
  /// The pair with the lowest rank in a word is merged first, and the leftmost one among equal
  /// pairs.
  /// -1 if the pair is not merged.
  std::int32_t rank = -1;
  std::int32_t token = -1;
};

/// Finds the merge of a pair of ids. Small ids, which include those of bytes, have a square table.
/// For others, a filter that fits in the processor's cache rules out most pairs that have no merge;
/// the rest are found by open addressing.
class MergeTable {
 public:
  explicit MergeTable(std::size_t count);
  /// If a pair is inserted twice, the last one counts, as in the library.
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
  static constexpr std::int32_t kSmall = 512;  // the square has 2 MiB, and few rows are used
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

  // [left, right] for small ids
  std::vector<Merge> square_ = std::vector<Merge>(std::size_t(kSmall) * kSmall);
  std::vector<Slot> slots_;            // a power of two, at most half full
  std::vector<std::uint64_t> filter_;  // eight bits per slot; pairs whose bit is 0 have no merge
  std::size_t mask_;
  int shift_;
};

/// Memory that merge_word() reuses from word to word, and a count of its work.
struct MergeSpace {
  struct Link {
    std::int32_t previous, next;
  };
  struct Candidate {
    std::int32_t rank, position, token;
  };
  std::vector<Link> links;
  std::vector<Candidate> heap;
  /// The number of times that a pair or an entry of the heap was looked at. Tests compare it with
  /// the text's length.
  std::int64_t operations = 0;
};

/// Merges the symbols of a word in place until no pair can be merged.
void merge_word(const MergeTable& merges, std::vector<std::int32_t>& symbols, MergeSpace& space);

}  // namespace rollcall::text::json_tokenizer
