// Work and messages as events: the ranks of a node share its cores, and messages on one link do not
// delay each other.
#include "sizing/scale/simulated_cluster.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

namespace rollcall::sizing::scale {
namespace {

constexpr double kLook_s =
    0.25e-3;  // half of the longest pause between two looks (comm/backoff.hpp)

}  // namespace

SimulatedCluster::SimulatedCluster(const Cluster& cluster, const Costs& costs)
    : cluster_(cluster), costs_(costs), spent_(std::size_t(cluster.layout.ranks)) {
  cluster_.layout.nodes.clear();
  for (int rank = 0; rank < cluster_.layout.ranks; ++rank)
    cluster_.layout.nodes.push_back(node_of(rank) * cluster.ranks_per_node);
  const int count = (cluster_.layout.ranks + cluster.ranks_per_node - 1) / cluster.ranks_per_node;
  for (int i = 0; i < count; ++i)
    nodes_.emplace_back(events_, double(cluster.cores_per_node) / cluster.threads, costs.crowding);
}

double SimulatedCluster::look_s() const { return nodes() > 1 ? kLook_s : 0.0; }

double SimulatedCluster::network_s(double bytes) const {
  return nodes() > 1 && cluster_.bytes_per_s > 0 ? bytes / cluster_.bytes_per_s : 0.0;
}

void SimulatedCluster::serve(int rank, double core_s, Kind kind, Then then) {
  const double began = events_.now();
  nodes_[std::size_t(node_of(rank))].compute(core_s / cluster_.threads, [this, rank, kind, began,
                                                                         then = std::move(then)] {
    (kind == Kind::compute ? spent(rank).compute : spent(rank).exchange) += events_.now() - began;
    then();
  });
}

void SimulatedCluster::send(int from, int to, double bytes, Then then) {
  const bool far = node_of(from) != node_of(to);
  events_.later((from != to ? look_s() : 0.0) + (far ? cluster_.latency_s + network_s(bytes) : 0.0),
                std::move(then));
}

void SimulatedCluster::send_each(const std::vector<int>& to,
                                 const std::function<double(int)>& bytes,
                                 const std::function<void(int)>& receive) {
  auto next = std::make_shared<std::function<void(std::size_t)>>();
  *next = [this, to, bytes, receive, weak = std::weak_ptr(next)](std::size_t i) {
    const auto self = weak.lock();
    if (i == to.size()) {
      if (!to.empty() && to.front() == 0) receive(0);
      return;
    }
    serve(0, costs_.message + (to[i] != 0 ? network_s(bytes(to[i])) * cluster_.threads : 0.0),
          Kind::exchange, [this, self, i, to_rank = to[i], receive] {
            if (to_rank != 0) send(0, to_rank, 0.0, [receive, to_rank] { receive(to_rank); });
            (*self)(i + 1);
          });
  };
  (*next)(0);
}

void SimulatedCluster::collective(int rank, double bytes, Then then) {
  arrived_.push_back({rank, events_.now(), std::move(then)});
  if (arrived_.size() < cluster_.layout.of(comm::Stage::update).size()) return;
  const auto all = std::exchange(arrived_, {});
  const double hops = std::ceil(std::log2(double(all.size()))),
               far_hops = nodes() > 1 ? std::ceil(std::log2(double(nodes()))) : 0.0;
  const double elapsed =
      all.size() > 1 ? far_hops * (cluster_.latency_s + look_s()) + network_s(bytes) : 0.0;
  for (const Arrival& one : all) {
    spent(one.rank).imbalance += events_.now() - one.time;
    spent(one.rank).exchange += elapsed;
    events_.later(elapsed, [this, one, hops] {
      serve(one.rank, costs_.hop * hops, Kind::exchange, one.then);
    });
  }
}

}  // namespace rollcall::sizing::scale
