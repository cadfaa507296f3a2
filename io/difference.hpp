// Compares the contents of two runs. Either they have the same content hash, or the result names
// the first group and the first value that differ.
#pragma once

#include "io/archive.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>

namespace rollcall::io {

/// The place of a group in canonical order.
struct GroupPlace {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  GroupId id{};
  auto operator<=>(const GroupPlace&) const = default;
};
std::string text_of(const GroupPlace& place);

struct Difference {
  std::string content_a{}, content_b{};  ///< content hashes of the two sources
  std::uint64_t groups_a = 0, groups_b = 0, rollouts_a = 0, rollouts_b = 0;
  std::uint64_t groups_differing = 0;    ///< groups that are in both and differ
  std::uint64_t only_a = 0, only_b = 0;  ///< groups that are in only one of the two
  std::string first{};  ///< "train step 3, prompt 7, draw 0: sample 2: reward is 1 and 0"; empty if
                        ///< nothing differs
};
/// Compares two run folders or files. Throws as each_group does.
Difference compare(const std::filesystem::path& a, const std::filesystem::path& b);

/// The first value in which two groups at the same place differ; empty when their digests are
/// equal.
std::string first_difference(const ArchivedGroup& a, const ArchivedGroup& b);

}  // namespace rollcall::io
