// Plain algorithms on small graphs, which give the answers for the task `graph`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::task {

/// An edge between nodes, which are numbered from 0 and shown as letters from A on.
struct Edge {
  std::int64_t from, to;
  std::int64_t capacity = 1;
};

struct Graph {
  std::int64_t nodes = 0;
  bool directed = false;
  std::vector<Edge> edges;
};

/// A path as the letters of its nodes in order.
using Walk = std::string;
inline char letter_of(std::int64_t node) { return char('A' + node); }

/// By breadth-first search, smallest letters first; empty if there is no path.
Walk shortest_path(const Graph& graph, std::int64_t from, std::int64_t to);
Walk component_of(const Graph& graph, std::int64_t node);  ///< nodes reachable from `node`, sorted
Walk find_cycle(const Graph& graph);  ///< in an undirected graph; empty if it has none
/// By Kahn's algorithm (1962), smallest letter first; empty if the graph has a cycle.
Walk topological_order(const Graph& graph);
std::int64_t count_triangles(const Graph& graph);  ///< in an undirected graph
/// By the algorithm of Edmonds and Karp (1972).
std::int64_t max_flow(const Graph& graph, std::int64_t from, std::int64_t to);

}  // namespace rollcall::task
