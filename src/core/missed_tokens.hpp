// For the tokens of a given text, the other tokens that a policy would draw there instead, each
// with its share of the draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rollcall {

/// Lists of ids, each ascending, stored end to end, with a share in (0, 1] for each id. For a token
/// without a list, or after the last one, every draw gave the text's own token.
struct MissedTokens {
  std::vector<std::uint64_t> end{};  ///< [tokens] index in `id` where each token's list ends and
                                     ///< the next one begins
  std::vector<std::int32_t> id{};
  std::vector<float> share{};  ///< [ids]

  struct List {
    std::span<const std::int32_t> id{};
    std::span<const float> share{};
    bool empty() const { return id.empty(); }
    /// Sum of the shares, added in order.
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
  /// Adds the list of a token. Tokens must come in ascending order.
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
