// How messages name many ranks: as ranges of numbers, with ranks in the same state together, and at
// most a few groups.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace rollcall::comm {

constexpr std::size_t kNamedGroups = 6;  ///< at most this many groups in one message

std::string name_ranks(const std::vector<int>& ascending);  ///< "rank 3", "ranks 0-2,5"
/// One sentence for each thing that ranks wait for, such as "ranks 0-2,5 wait in MPI_Iallreduce in
/// the update of step 2".
std::vector<std::string> waiting_sentences(const std::map<std::string, std::vector<int>>& by_wait);
/// Joins what a rank waits for ("in MPI_Iallreduce") and its task ("update of step 2") into one
/// text, as in the example above.
std::string wait_within(const std::string& waits, const std::string& activity);

}  // namespace rollcall::comm
