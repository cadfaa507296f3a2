// Which rank hosts which stages: a pure function of the world size, tested for 4,096 ranks without
// MPI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::comm {

/// Roles of ranks: an open table (teacher and evaluation ranks come as rows here).
enum class Stage : int { coordinator = 0, generation = 1, scoring = 2, update = 3, judge = 4 };
const char* stage_name(Stage stage);

struct StageLayout {
  std::string name;  ///< single | colocated | disaggregated
  int ranks = 1;
  std::vector<std::vector<int>> hosts;  ///< [stage] ascending world ranks; of judge none where no
                                        ///< model judges
  std::vector<int> nodes{};  ///< [ranks] lowest rank with which a rank has memory in common; empty:
                             ///< each stands alone
  bool hosts_stage(int rank, Stage stage) const;
  int node_of(int rank) const { return nodes.empty() ? rank : nodes[std::size_t(rank)]; }
  int on_node_of(int rank) const;  ///< ranks that have memory in common with it, itself included
  int on_node_of(int rank, Stage stage) const;  ///< those of them that host the stage
  const std::vector<int>& of(Stage stage) const { return hosts[std::size_t(stage)]; }
};

/// `auto` is single for one rank and colocated otherwise.
/// single: everything on rank 0 (one rank only). colocated: coordinator on rank 0; every rank
/// generates, scores and updates.
/// disaggregated (from 4 ranks): coordinator on rank 0; the rest shared out as generation : scoring
/// : update = 4 : 1 : 3 by largest remainder, each at least 1. Throws EnvironmentError when `ranks`
/// does not fit, naming the counts that do.
StageLayout make_layout(const std::string& name, int ranks);
/// The same with the stage of a model that judges: on the last `own` ranks, while the layout is
/// that of the others; where `own` is 0, on the scoring ranks.
StageLayout with_judges(const std::string& name, int ranks, int own);
/// Layout names valid for a rank count.
std::vector<std::string> valid_layouts(int ranks);

}  // namespace rollcall::comm
