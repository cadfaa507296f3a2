// Graph algorithms on graphs worked by hand, and against slow ones on random graphs.
#include "task/graph_solvers.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace rollcall::task {
namespace {

/// A square A-B-C-D with the diagonal A-C, and E-F.
const Graph kSquare{6, false, {{0, 1}, {1, 2}, {2, 3}, {0, 3}, {0, 2}, {4, 5}}};
const Graph kDiamond{4, true, {{0, 1, 3}, {0, 2, 2}, {1, 3, 2}, {2, 3, 4}, {1, 2, 5}}};

TEST(GraphSolvers, HandWorked) {
  EXPECT_EQ(shortest_path(kSquare, 1, 3), "BAD");
  EXPECT_EQ(shortest_path(kSquare, 1, 4), "");
  EXPECT_EQ(component_of(kSquare, 5), "EF");
  EXPECT_EQ(component_of(kSquare, 2), "ABCD");
  EXPECT_EQ(find_cycle(kSquare).size(), 3U);
  EXPECT_EQ(find_cycle({3, false, {{0, 1}, {1, 2}}}), "");
  EXPECT_EQ(count_triangles(kSquare), 2);
  EXPECT_EQ(topological_order(kDiamond), "ABCD");
  EXPECT_EQ(topological_order({3, true, {{2, 1}, {1, 0}}}), "CBA");
  EXPECT_EQ(topological_order({3, true, {{0, 1}, {1, 2}, {2, 0}}}), "");
  EXPECT_EQ(max_flow(kDiamond, 0, 3), 5);  // A leaves 3 + 2; B passes 2 to D and 1 to C, C the 2
                                           // and the 1
  EXPECT_EQ(max_flow(kDiamond, 3, 0), 0);
}

Graph random_graph(bool directed) {
  Graph g{*rc::gen::inRange<std::int64_t>(2, 7), directed, {}};
  for (std::int64_t a = 0; a < g.nodes; ++a)
    for (std::int64_t b = directed ? 0 : a + 1; b < g.nodes; ++b)
      if (a != b && *rc::gen::inRange(0, 3) == 0)
        g.edges.push_back({a, b, *rc::gen::inRange<std::int64_t>(1, 10)});
  return g;
}

/// Capacity out of the node sets that hold the source and not the sink: the smallest is the flow
/// (Ford and Fulkerson 1956).
std::int64_t smallest_cut(const Graph& g, std::int64_t from, std::int64_t to) {
  std::int64_t smallest = 1'000'000;
  for (std::uint32_t side = 0; side < (1U << g.nodes); ++side) {
    const auto holds = [&](std::int64_t v) { return (side >> v & 1U) != 0; };
    if (!holds(from) || holds(to)) continue;
    std::int64_t cut = 0;
    for (const Edge& e : g.edges) cut += holds(e.from) && !holds(e.to) ? e.capacity : 0;
    smallest = std::min(smallest, cut);
  }
  return smallest;
}

RC_GTEST_PROP(GraphSolvers, TheFlowIsTheSmallestCut, ()) {
  const Graph g = random_graph(true);
  RC_ASSERT(max_flow(g, 0, g.nodes - 1) == smallest_cut(g, 0, g.nodes - 1));
}

/// A forest has as many edges as nodes less components.
RC_GTEST_PROP(GraphSolvers, ThereIsACycleWhereEdgesAreMoreThanAForestHas, ()) {
  const Graph g = random_graph(false);
  std::int64_t components = 0;
  for (std::int64_t v = 0; v < g.nodes; ++v)
    components += component_of(g, v).front() == letter_of(v) ? 1 : 0;
  RC_ASSERT(find_cycle(g).empty() == (std::int64_t(g.edges.size()) == g.nodes - components));
}

RC_GTEST_PROP(GraphSolvers, ShortestPathsAreNoLongerThanAnyStepAllows, ()) {
  const Graph g = random_graph(false);
  for (const Edge& e : g.edges) {  // d(0, b) <= d(0, a) + 1 over every edge, with equality along
                                   // the path
    const auto a = shortest_path(g, 0, e.from).size(), b = shortest_path(g, 0, e.to).size();
    RC_ASSERT((a == 0) == (b == 0));
    RC_ASSERT(a == 0 || (a <= b + 1 && b <= a + 1));
  }
}

}  // namespace
}  // namespace rollcall::task
