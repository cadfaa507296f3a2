// For a row of tokens, the ids of the vocabulary from which each token was drawn, if sampling left
// some out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rollcall {

/// Lists of ids, each ascending, stored end to end. A token without a list, or after the last one,
/// was drawn from the whole vocabulary.
struct KeptTokens {
  std::vector<std::uint64_t> end;  ///< [tokens] index in `id` where each token's list ends and the
                                   ///< next one begins
  std::vector<std::int32_t> id;

  bool empty() const { return id.empty(); }
  std::span<const std::int32_t> of(std::size_t token) const {
    if (token >= end.size()) return {};
    const std::size_t first = token == 0 ? 0 : std::size_t(end[token - 1]);
    return std::span(id).subspan(first, std::size_t(end[token]) - first);
  }
  /// Adds the list of a token. Tokens must come in ascending order.
  void put(std::size_t token, std::span<const std::int32_t> ids) {
    if (ids.empty()) return;
    end.resize(token, id.size());
    id.insert(id.end(), ids.begin(), ids.end());
    end.push_back(id.size());
  }
  bool operator==(const KeptTokens&) const = default;
};

}  // namespace rollcall
