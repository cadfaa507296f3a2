// Which ids of the vocabulary each token of a row of tokens was drawn from, where sampling left
// some out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rollcall {

/// A list of ids, ascending, for each of some tokens, one behind the other. A token without a list,
/// and those behind the last one, had the whole vocabulary.
struct KeptTokens {
  std::vector<std::uint64_t> end;  ///< [tokens] where a list ends in `id`, and the next begins
  std::vector<std::int32_t> id;

  bool empty() const { return id.empty(); }
  std::span<const std::int32_t> of(std::size_t token) const {
    if (token >= end.size()) return {};
    const std::size_t first = token == 0 ? 0 : std::size_t(end[token - 1]);
    return std::span(id).subspan(first, std::size_t(end[token]) - first);
  }
  /// Tokens get their lists in ascending order.
  void put(std::size_t token, std::span<const std::int32_t> ids) {
    if (ids.empty()) return;
    end.resize(token, id.size());
    id.insert(id.end(), ids.begin(), ids.end());
    end.push_back(id.size());
  }
  bool operator==(const KeptTokens&) const = default;
};

}  // namespace rollcall
