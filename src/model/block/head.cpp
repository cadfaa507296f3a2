// Rows by token, for the gradient of the embedding.
#include "model/block/head.hpp"

#include <numeric>

namespace rollcall::model {

TokenGroups token_groups(std::span<const std::int32_t> tokens) {
  TokenGroups groups;
  groups.rows.resize(tokens.size());
  std::iota(groups.rows.begin(), groups.rows.end(), 0);
  std::stable_sort(groups.rows.begin(), groups.rows.end(), [&](std::int64_t a, std::int64_t b) {
    return tokens[std::size_t(a)] < tokens[std::size_t(b)];
  });
  for (std::size_t i = 0; i < groups.rows.size(); ++i) {
    const std::int32_t token = tokens[std::size_t(groups.rows[i])];
    if (groups.tokens.empty() || groups.tokens.back() != token)
      groups.tokens.push_back(token), groups.begin.push_back(std::int32_t(i));
  }
  groups.begin.push_back(std::int32_t(groups.rows.size()));
  return groups;
}

}  // namespace rollcall::model
