// Deals the shares of a buffer to ranks by their number on their node.
#include "comm/node_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

namespace rollcall::comm {
namespace {

struct Place {
  int node = 0;   ///< lowest rank on its node
  int place = 0;  ///< number among the ranks of its node
  int size = 1;   ///< ranks on its node
};

std::vector<Place> places_of(Communicator& ranks, Communicator& node) {
  const std::string lowest = node.gather_all(fmt::format("{}", ranks.rank()))[0];
  std::vector<Place> places;
  for (const auto& text :
       ranks.gather_all(fmt::format("{} {} {}", lowest, node.rank(), node.size()))) {
    std::istringstream words(text);
    Place& place = places.emplace_back();
    words >> place.node >> place.place >> place.size;
  }
  return places;
}

}  // namespace

std::vector<int> lowest_on_node(Communicator& ranks, Communicator& node) {
  std::vector<int> lowest;
  for (const Place& place : places_of(ranks, node)) lowest.push_back(place.node);
  return lowest;
}

NodeGroups make_node_groups(Communicator& ranks, Transport* transport) {
  NodeGroups groups;
  groups.node = ranks.split_by_node();
  const auto places = places_of(ranks, *groups.node);
  std::vector<int> order(places.size()), share_of(places.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return places[std::size_t(a)].place < places[std::size_t(b)].place;
  });
  for (std::size_t s = 0; s < order.size(); ++s) share_of[std::size_t(order[s])] = int(s);
  const Place own = places[std::size_t(ranks.rank())];
  groups.own = share_of[std::size_t(ranks.rank())];
  for (std::size_t r = 0; r < places.size(); ++r) {
    if (places[r].node == own.node) groups.shares.push_back(share_of[r]);
  }
  if (transport == nullptr) return groups;
  const int largest_node =
      std::max_element(places.begin(), places.end(), [](const Place& a, const Place& b) {
        return a.size < b.size;
      })->size;
  for (int place = 0; place < largest_node; ++place) {
    const auto takes_part = [&](const Place& p) { return p.place == place % p.size; };
    auto members = ranks.split(takes_part(own) ? 0 : -1);
    if (!members) continue;
    auto over_transport = transport->over(*members);
    NodeGroups::Across across{std::move(members), std::move(over_transport), {}};
    for (std::size_t r = 0; r < places.size(); ++r) {
      if (takes_part(places[r]))
        across.shares.push_back(places[r].place == place ? share_of[r] : -1);
    }
    groups.across.push_back(std::move(across));
  }
  return groups;
}

std::vector<std::int64_t> begins_of(const NodeGroups::Across& across,
                                    std::span<const std::int64_t> share_offsets) {
  const auto owner = std::find_if(across.shares.begin(), across.shares.end(),
                                  [](int share) { return share >= 0; });
  // At least one member is a rank of this local number and owns a share.
  std::vector<std::int64_t> all{share_offsets[std::size_t(*owner)]};
  for (const int share : across.shares)
    all.push_back(share < 0 ? all.back() : share_offsets[std::size_t(share) + 1]);
  return all;
}

}  // namespace rollcall::comm
