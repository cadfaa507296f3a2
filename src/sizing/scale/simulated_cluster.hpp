// The nodes, cores and network of a simulated job. They decide how long its ranks' work and
// messages take, and record how each rank has spent its time.
#pragma once

#include "comm/stage_layout.hpp"
#include "sizing/scale/events.hpp"
#include "sizing/scale/job_step.hpp"

#include <functional>
#include <vector>

namespace rollcall::sizing::scale {

class SimulatedCluster {
 public:
  using Then = Events::Then;
  enum class Kind { compute, exchange };  ///< where work is counted in RankSeconds
  SimulatedCluster(const Cluster& cluster, const Costs& costs);
  SimulatedCluster(const SimulatedCluster&) = delete;  // events point into it
  SimulatedCluster& operator=(const SimulatedCluster&) = delete;

  const Cluster& cluster() const { return cluster_; }  ///< layout.nodes is filled in
  int nodes() const { return int(nodes_.size()); }
  int node_of(int rank) const { return rank / cluster_.ranks_per_node; }
  double now() const { return events_.now(); }
  void later(double seconds, Then then) { events_.later(seconds, std::move(then)); }
  void run() { events_.run(); }  ///< until nothing is left to happen
  RankSeconds& spent(int rank) { return spent_[std::size_t(rank)]; }
  std::vector<RankSeconds>& spent() { return spent_; }  ///< [ranks]

  /// Mean time until a rank that is not woken looks for a message again [s]. On a single node ranks
  /// wake each other.
  double look_s() const;
  /// Time to send `bytes` over a node's link [s].
  double network_s(double bytes) const;
  /// `rank` does `core_s` core seconds of work, on all its threads; then `then` happens. The time
  /// that passed is added to the rank's total.
  void serve(int rank, double core_s, Kind kind, Then then);
  /// A message; `then` happens at its arrival.
  void send(int from, int to, double bytes, Then then);
  /// Rank 0 sends the messages one at a time. If it is one of the receivers, it is the first in
  /// `to` and starts its own part last.
  void send_each(const std::vector<int>& to, const std::function<double(int)>& bytes,
                 const std::function<void(int)>& receive);
  /// A collective of all update ranks: ranks that arrive early wait for the last one. `bytes` go
  /// over each node's link. Waits for a core after the collective are part of Costs::hop.
  void collective(int rank, double bytes, Then then);

 private:
  struct Arrival {
    int rank;
    double time;
    Then then;
  };
  Cluster cluster_;
  Costs costs_;
  Events events_;
  std::vector<Cores> nodes_;
  std::vector<RankSeconds> spent_;  ///< [ranks]
  std::vector<Arrival> arrived_;    ///< ranks that wait in the collective in progress
};

}  // namespace rollcall::sizing::scale
