// Tokens that a policy drew in the place of a text's own, each with its share of that place's
// draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rollcall {

/// A list of ids, ascending, for each of some tokens, one behind the other, and a share in (0, 1]
/// for each id. A token
/// without a list, and those behind the last one, were missed by no draw.
struct MissedTokens {
  std::vector<std::uint64_t> end{};  ///< [tokens] where a list ends in `id`, and the next begins
  std::vector<std::int32_t> id{};
  std::vector<float> share{};  ///< [ids]

  struct List {
    std::span<const std::int32_t> id{};
    std::span<const float> share{};
    bool empty() const { return id.empty(); }
    /// Sum of the shares, in order.
    double mass() const {
      double sum = 0.0;
      for (const float one : share) sum += double(one);
      return sum;
    }
  };

  bool empty() const { return id.empty(); }
  List of(std::size_t token) const {
    if (token >= end.size()) return {};
    const std::size_t first = token == 0 ? 0 : std::size_t(end[token - 1]),
                      count = std::size_t(end[token]) - first;
    return {std::span(id).subspan(first, count), std::span(share).subspan(first, count)};
  }
  /// Tokens get their lists in ascending order.
  void put(std::size_t token, const List& list) {
    if (list.empty()) return;
    end.resize(token, id.size());
    id.insert(id.end(), list.id.begin(), list.id.end());
    share.insert(share.end(), list.share.begin(), list.share.end());
    end.push_back(id.size());
  }
  bool operator==(const MissedTokens&) const = default;
};

}  // namespace rollcall
