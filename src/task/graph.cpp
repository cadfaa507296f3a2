// Questions about random graphs (families as in G1, arXiv:2505.18499), with one table row per
// family.
#include "base/text/joined.hpp"
#include "base/text/json.hpp"
#include "task/generate.hpp"
#include "task/graph_solvers.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace rollcall::task {
namespace {

using Json = nlohmann::json;

/// A question about a graph: its text, the answer for the verifier, and one correct solution.
struct Asked {
  std::string plain;  ///< text after the edges: "A>D"
  std::string words;
  Json answer;
  std::string solution;
};

/// Draws `count` of the possible edges. In a directed graph, edges lead forwards in a random order
/// of nodes, so that there is no cycle.
std::vector<Edge> draw_edges(std::int64_t nodes, bool directed, std::int64_t count, Draws& draws) {
  std::vector<std::int64_t> order;
  for (std::int64_t v = 0; v < nodes; ++v) order.push_back(v);
  if (directed) draws.shuffle(order);
  std::vector<Edge> all;
  for (std::size_t a = 0; a < order.size(); ++a)
    for (std::size_t b = a + 1; b < order.size(); ++b) all.push_back({order[a], order[b]});
  draws.shuffle(all);
  all.resize(std::size_t(std::min(count, std::int64_t(all.size()))));
  return all;
}

std::optional<Asked> component(const Graph& g, Draws& draws) {
  const auto node = draws.below(g.nodes);
  const Walk answer = component_of(g, node);
  return Asked{
      fmt::format(" {}", letter_of(node)),
      fmt::format(
          "Which nodes can be reached from {}, itself included? Answer with their letters, for example ABC.",
          letter_of(node)),
      answer, answer};
}

std::optional<Asked> path(const Graph& g, Draws& draws) {
  const auto from = draws.below(g.nodes), to = draws.below(g.nodes);
  const Walk walk = shortest_path(g, from, to);
  if (walk.size() < 3) return std::nullopt;  // no path, or a single edge
  return Asked{
      fmt::format(" {}>{}", letter_of(from), letter_of(to)),
      fmt::format(
          "Find a shortest path from {} to {}. Answer with the letters of its nodes in order, for example ABC.",
          letter_of(from), letter_of(to)),
      fmt::format("{}{}", letter_of(from), letter_of(to)), walk};
}

std::optional<Asked> cycle(const Graph& g, Draws& draws) {
  const Walk walk = find_cycle(g);
  // Sparse graphs seldom have a cycle, so half of the questions without one are dropped.
  if (walk.empty() && draws.chance(2)) return std::nullopt;
  const std::string solution = walk.empty() ? "none" : walk;
  return Asked{
      "",
      "Find a cycle, each node at most once. Answer with the letters of its nodes in order, for example ABC, or with none if there is no cycle.",
      walk.empty() ? "none" : "any", solution};
}

std::optional<Asked> order(const Graph& g, Draws&) {
  return Asked{
      "",
      "Put all nodes in an order in which every edge leads from an earlier node to a later one. Answer with their letters in order, for example ABC.",
      nullptr, topological_order(g)};
}

std::optional<Asked> degree(const Graph& g, Draws& draws) {
  const auto node = draws.below(g.nodes);
  const auto n = std::count_if(g.edges.begin(), g.edges.end(),
                               [&](const Edge& e) { return e.from == node || e.to == node; });
  return Asked{fmt::format(" {}", letter_of(node)),
               fmt::format("How many edges does node {} have? Answer with the number only.",
                           letter_of(node)),
               n, fmt::format("{}", n)};
}

std::optional<Asked> triangles(const Graph& g, Draws&) {
  const auto n = count_triangles(g);
  return Asked{
      "",
      "How many triangles does it have, that is, sets of three nodes with an edge between any two? Answer with the number only.",
      n, fmt::format("{}", n)};
}

std::optional<Asked> flow(const Graph& g, Draws& draws) {
  const auto from = draws.below(g.nodes), to = draws.below(g.nodes);
  if (from == to || shortest_path(g, from, to).empty()) return std::nullopt;
  const auto n = max_flow(g, from, to);
  return Asked{
      fmt::format(" {}>{}", letter_of(from), letter_of(to)),
      fmt::format(
          "The numbers are capacities. What is the maximum flow from {} to {}? Answer with the number only.",
          letter_of(from), letter_of(to)),
      n, fmt::format("{}", n)};
}

struct Family {
  const char* name;
  const char* brief;
  bool directed, weighted;
  std::int64_t tenths;  ///< edges per node in tenths, give or take one edge
  std::optional<Asked> (*ask)(const Graph& graph, Draws& draws);
};

constexpr std::array kFamilies = {
    Family{"connected_component", "cc", false, false, 7, component},
    Family{"shortest_path", "sp", false, false, 14, path},
    Family{"cycle", "cy", false, false, 9, cycle},
    Family{"topological_order", "to", true, false, 13, order},
    Family{"degree", "dg", false, false, 16, degree},
    Family{"triangles", "tr", false, false, 20, triangles},
    Family{"max_flow", "mf", true, true, 16, flow},
};

std::string question(const Graph& g, const Family& family, const std::string& asked) {
  std::vector<std::string> edges;
  for (const Edge& e : g.edges)
    edges.push_back(fmt::format("{}{}{}{}", letter_of(e.from), g.directed ? "->" : "-",
                                letter_of(e.to),
                                family.weighted ? fmt::format(" ({})", e.capacity) : ""));
  return fmt::format("{} graph has the nodes A to {} and the edges {}. {}",
                     g.directed ? "A directed" : "An undirected", letter_of(g.nodes - 1),
                     joined(edges, ", "), asked);
}

std::optional<Item> draw_graph(const TaskSection& section, std::int64_t level, Draws& draws) {
  const Family& family = draws.one_of(kFamilies);
  Graph g{level, family.directed,
          draw_edges(level, family.directed,
                     std::max<std::int64_t>(2, level * family.tenths / 10 + draws.between(-1, 1)),
                     draws)};
  std::vector<std::string> edges, shown;
  for (Edge& e : g.edges) {
    if (family.weighted) e.capacity = draws.between(1, 9);
    edges.push_back(fmt::format("{}{}", letter_of(e.from), letter_of(e.to)));
    shown.push_back(family.weighted ? fmt::format("{}{}", edges.back(), e.capacity) : edges.back());
  }
  auto asked = family.ask(g, draws);
  if (!asked) return std::nullopt;
  const Json reference = {
      {"family", family.name}, {"nodes", level}, {"edges", edges}, {"answer", asked->answer}};
  Item item{fmt::format("{} {} {}{}:", family.brief, level, joined(shown, " "), asked->plain),
            reference.dump(), asked->solution};
  item.domain = family.name;
  item.problem = item.text;
  if (draw_wording(section.wording, draws) == "question")
    item.text = question(g, family, asked->words);
  return item;
}

}  // namespace

PromptSet make_graph(const TaskSection& section, std::uint64_t seed) {
  check_wordings("graph", section.wording, {"plain", "question"});
  return generate(
      {"graph", 3, 12,
       [&](std::int64_t level, Draws& draws) { return draw_graph(section, level, draws); }},
      section, seed);
}

}  // namespace rollcall::task
