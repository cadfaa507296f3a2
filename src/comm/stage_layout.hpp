// Which rank hosts which stages, as a pure function of the number of ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::comm {

/// What a rank does in a run. More roles may be added, such as ranks for a teacher or for
/// evaluations.
enum class Stage : int { coordinator = 0, generation = 1, scoring = 2, update = 3, judge = 4 };
const char* stage_name(Stage stage);

struct StageLayout {
  std::string name;  ///< single | colocated | disaggregated
  int ranks = 1;
  std::vector<std::vector<int>> hosts;  ///< [stage] world ranks that host it, ascending; empty for
                                        ///< `judge` in a run without a judge model
  std::vector<int> nodes{};  ///< [ranks] lowest rank that each rank shares memory with; empty if no
                             ///< ranks share memory
  bool hosts_stage(int rank, Stage stage) const;
  int node_of(int rank) const { return nodes.empty() ? rank : nodes[std::size_t(rank)]; }
  int on_node_of(int rank) const;  ///< number of ranks that share memory with `rank`, itself
                                   ///< included
  int on_node_of(int rank, Stage stage) const;  ///< number of ranks that share memory with `rank`,
                                                ///< itself included, and host the stage
  const std::vector<int>& of(Stage stage) const { return hosts[std::size_t(stage)]; }
};

/// The layout of this name for `ranks` ranks. `auto` is single for one rank, otherwise colocated.
/// single: one rank hosts everything.
/// colocated: rank 0 coordinates; every rank generates, scores and updates.
/// disaggregated, from 4 ranks on: rank 0 coordinates; the others are shared out to generation,
/// scoring and update in the ratio 4 : 1 : 3, by largest remainder, at least one rank each.
/// Throws EnvironmentError when `ranks` does not fit; the message names the numbers that do.
StageLayout make_layout(const std::string& name, int ranks);
/// make_layout, with ranks for a judge model: the last `own` ranks of the job judge, and the layout
/// covers the others. If `own` is 0, the scoring ranks judge.
StageLayout with_judges(const std::string& name, int ranks, int own);
/// Names of the layouts that fit this number of ranks.
std::vector<std::string> valid_layouts(int ranks);

}  // namespace rollcall::comm
