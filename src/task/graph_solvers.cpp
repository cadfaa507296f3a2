// Uses adjacency matrices throughout, since graphs have a dozen nodes.
#include "task/graph_solvers.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace rollcall::task {
namespace {

using Matrix = std::vector<std::vector<std::int64_t>>;

Matrix capacities(const Graph& graph) {
  Matrix matrix(std::size_t(graph.nodes), std::vector<std::int64_t>(std::size_t(graph.nodes)));
  for (const Edge& e : graph.edges) {
    matrix[std::size_t(e.from)][std::size_t(e.to)] += e.capacity;
    if (!graph.directed) matrix[std::size_t(e.to)][std::size_t(e.from)] += e.capacity;
  }
  return matrix;
}

/// [n] the node before each node on a shortest path from `from`; `from` itself for `from`, and -1
/// for a node that no path reaches.
std::vector<std::int64_t> breadth_first(const Matrix& matrix, std::int64_t from) {
  std::vector<std::int64_t> before(matrix.size(), -1), queue{from};
  before[std::size_t(from)] = from;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (std::size_t v = 0; v < matrix.size(); ++v)
      if (matrix[std::size_t(queue[i])][v] > 0 && before[v] < 0)
        before[v] = queue[i], queue.push_back(std::int64_t(v));
  return before;
}

std::vector<std::int64_t> path_to(const std::vector<std::int64_t>& before, std::int64_t to) {
  std::vector<std::int64_t> path;
  if (before[std::size_t(to)] < 0) return path;
  for (path.push_back(to); before[std::size_t(path.back())] != path.back();)
    path.push_back(before[std::size_t(path.back())]);
  std::reverse(path.begin(), path.end());
  return path;
}

Walk letters(const std::vector<std::int64_t>& nodes) {
  Walk walk;
  for (const std::int64_t node : nodes) walk += letter_of(node);
  return walk;
}

}  // namespace

Walk shortest_path(const Graph& graph, std::int64_t from, std::int64_t to) {
  return letters(path_to(breadth_first(capacities(graph), from), to));
}

Walk component_of(const Graph& graph, std::int64_t node) {
  const auto before = breadth_first(capacities(graph), node);
  Walk walk;
  for (std::size_t v = 0; v < before.size(); ++v)
    if (before[v] >= 0) walk += letter_of(std::int64_t(v));
  return walk;
}

/// If the ends of an edge are connected without it, the edge and the path between them form a
/// cycle.
Walk find_cycle(const Graph& graph) {
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    Graph without = graph;
    without.edges.erase(without.edges.begin() + std::ptrdiff_t(i));
    const Walk path = shortest_path(without, graph.edges[i].from, graph.edges[i].to);
    if (!path.empty()) return path;
  }
  return {};
}

Walk topological_order(const Graph& graph) {
  const Matrix matrix = capacities(graph);
  std::vector<bool> placed(matrix.size());
  const auto is_free = [&](std::size_t v) {
    for (std::size_t u = 0; u < matrix.size(); ++u)
      if (matrix[u][v] > 0 && !placed[u]) return false;
    return !placed[v];
  };
  Walk order;
  while (order.size() < matrix.size()) {
    std::size_t next = 0;
    while (next < matrix.size() && !is_free(next)) ++next;
    if (next == matrix.size()) return {};
    placed[next] = true;
    order += letter_of(std::int64_t(next));
  }
  return order;
}

std::int64_t count_triangles(const Graph& graph) {
  const Matrix m = capacities(graph);
  std::int64_t count = 0;
  for (std::size_t a = 0; a < m.size(); ++a)
    for (std::size_t b = a + 1; b < m.size(); ++b)
      for (std::size_t c = b + 1; c < m.size(); ++c)
        count += m[a][b] > 0 && m[b][c] > 0 && m[a][c] > 0 ? 1 : 0;
  return count;
}

std::int64_t max_flow(const Graph& graph, std::int64_t from, std::int64_t to) {
  Matrix left = capacities(graph);
  std::int64_t flow = 0;
  for (;;) {
    const auto path = path_to(breadth_first(left, from), to);
    if (path.empty()) return flow;
    std::int64_t narrowest = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 1; i < path.size(); ++i)
      narrowest = std::min(narrowest, left[std::size_t(path[i - 1])][std::size_t(path[i])]);
    for (std::size_t i = 1; i < path.size(); ++i) {
      left[std::size_t(path[i - 1])][std::size_t(path[i])] -= narrowest;
      left[std::size_t(path[i])][std::size_t(path[i - 1])] += narrowest;
    }
    flow += narrowest;
  }
}

}  // namespace rollcall::task
