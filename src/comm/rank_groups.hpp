// How reports speak of many ranks: numbered in ranges, together where the same holds of them, and
// no more than a few groups.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace rollcall::comm {

constexpr std::size_t kNamedGroups = 6;  ///< in one report

std::string name_ranks(const std::vector<int>& ascending);  ///< "rank 3", "ranks 0-2,5"
/// "ranks 0-2,5 wait in MPI_Iallreduce in the update of step 2", by what they wait for.
std::vector<std::string> waiting_sentences(const std::map<std::string, std::vector<int>>& by_wait);
/// What a waiting rank says of itself: "in MPI_Iallreduce", "update of step 2".
std::string wait_within(const std::string& waits, const std::string& activity);

}  // namespace rollcall::comm
