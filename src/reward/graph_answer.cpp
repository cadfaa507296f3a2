// Judges answers about a graph (G1, arXiv:2505.18499): values are compared, sets are judged by
// their overlap, and if many answers are right, the answer is checked and not compared.
#include "reward/reference.hpp"
#include "text/answer/answer_text.hpp"
#include "text/answer/plain_latex.hpp"
#include "text/conclusion/final_answer.hpp"
#include "text/conclusion/prose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace rollcall::reward {
namespace {

constexpr std::int64_t kMostNodes = 26;  // one letter per node

struct Graph {
  std::vector<std::vector<bool>> edge;  ///< [n][n]; symmetric if the graph is undirected
  std::size_t edges = 0;
  std::vector<std::size_t> answer;  ///< nodes: the ends of a path, or the set asked for
  std::int64_t value = 0;
  bool none = false;  ///< the answer is that there is no cycle
  std::size_t size() const { return edge.size(); }
};

struct Marks {
  bool format = false, correct = false;
  double partial = 0.0;
  const char* reason = "";
};

/// Characters and words that may be between nodes: arrows, dashes, quotation marks. Arrows to the
/// left are not among them, because they say the opposite.
constexpr std::string_view kBetween[] = {"→", "⟶", "⇒", "➔", "➝", "➜", "➡", "↦",     "—", "–",
                                         "−", "“", "”", "‘", "’", "«", "»", " and ", "*"};

/// Reads "A-B-C", "A B C", "[A, B, C]", "['A', 'B']", "A → B" or "ABC"; nothing if there is
/// anything else.
std::optional<std::vector<std::size_t>> nodes_named(std::string_view given, std::size_t nodes) {
  std::string text(given);
  for (const std::string_view mark : kBetween)
    if (text.find(mark) != std::string::npos) text = text::replaced(text, mark, " ");
  if (text.ends_with('.')) text.pop_back();
  std::vector<std::size_t> named;
  for (const char c : text) {
    if (std::string_view(" \t\r\n,;->=[](){}\"'`").find(c) != std::string_view::npos) continue;
    if (c < 'A' || std::size_t(c - 'A') >= nodes) return std::nullopt;
    named.push_back(std::size_t(c - 'A'));
  }
  return named.empty() ? std::nullopt : std::optional(named);
}

bool are_distinct(std::vector<std::size_t> nodes) {
  std::sort(nodes.begin(), nodes.end());
  return std::adjacent_find(nodes.begin(), nodes.end()) == nodes.end();
}

/// Number of steps in the walk that are edges.
std::size_t edges_walked(const Graph& g, const std::vector<std::size_t>& walk) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < walk.size(); ++i) count += g.edge[walk[i - 1]][walk[i]] ? 1 : 0;
  return count;
}

/// Number of edges on the shortest path; the number of nodes if there is none.
std::size_t distance(const Graph& g, std::size_t from, std::size_t to) {
  std::vector<std::size_t> steps(g.size(), g.size()), queue{from};
  steps[from] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (std::size_t v = 0; v < g.size(); ++v)
      if (g.edge[queue[i]][v] && steps[v] == g.size())
        steps[v] = steps[queue[i]] + 1, queue.push_back(v);
  return steps[to];
}

Marks value(const Graph& g, std::string_view text) {
  std::int64_t n = 0;
  const std::string number = text::normal_answer(text);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), n);
  const bool format = error == std::errc{} && end == number.data() + number.size();
  const bool correct = format && n == g.value;
  return {format, correct, double(correct), format ? "the number is another" : "it is no number"};
}

/// Judges a set of nodes. The partial mark is Jaccard's index of named and right nodes, |A & B| /
/// |A | B|.
Marks node_set(const Graph& g, std::string_view text) {
  const auto named = nodes_named(text, g.size());
  if (!named || !are_distinct(*named)) return {.reason = "it is no list of different nodes"};
  std::size_t common = 0;
  for (const std::size_t v : *named)
    common += std::find(g.answer.begin(), g.answer.end(), v) != g.answer.end() ? 1 : 0;
  const std::size_t all = named->size() + g.answer.size() - common;
  return {true, common == all, share(common, all), "it is another set of nodes"};
}

/// Any shortest path is right; a longer path gets the ratio of the two lengths.
Marks shortest_path(const Graph& g, std::string_view text) {
  const auto walk = nodes_named(text, g.size());
  if (!walk) return {.reason = "it is no list of nodes"};
  if (walk->front() != g.answer[0] || walk->back() != g.answer[1] ||
      edges_walked(g, *walk) + 1 != walk->size())
    return {true, false, 0.0, "it is no path between the two"};
  const std::size_t shortest = distance(g, g.answer[0], g.answer[1]);
  return {true, walk->size() == shortest + 1, share(shortest, walk->size() - 1),
          "there is a shorter path"};
}

constexpr const char* kNoCycle[] = {
    "none", "none.", "no cycle", "no cycle.", "there is no cycle", "there is no cycle."};

/// Any cycle of three nodes or more is right, with or without its first node repeated at the end;
/// "none" if there is no cycle.
Marks cycle(const Graph& g, std::string_view text) {
  const std::string low = text::lower(text::trim(text));
  if (std::any_of(std::begin(kNoCycle), std::end(kNoCycle),
                  [&](const char* no) { return low == no; }))
    return {true, g.none, double(g.none), "there is a cycle"};
  auto walk = nodes_named(text, g.size());
  if (!walk) return {.reason = "it is no list of nodes, and not none"};
  if (walk->size() > 1 && walk->front() == walk->back()) walk->pop_back();
  if (walk->size() < 3 || !are_distinct(*walk))
    return {true, false, 0.0, "a cycle has three or more different nodes"};
  const std::size_t length = walk->size();
  walk->push_back(walk->front());
  const std::size_t edges = edges_walked(g, *walk);
  return {true, edges == length, share(edges, length), "a step is no edge"};
}

/// Any order in which every edge leads forwards is right; any other gets the fraction of edges that
/// do.
Marks topological_order(const Graph& g, std::string_view text) {
  const auto order = nodes_named(text, g.size());
  if (!order || order->size() != g.size() || !are_distinct(*order))
    return {.reason = "it does not list every node once"};
  std::size_t onwards = 0;
  for (std::size_t i = 0; i < order->size(); ++i)
    for (std::size_t j = i + 1; j < order->size(); ++j)
      onwards += g.edge[(*order)[i]][(*order)[j]] ? 1 : 0;
  return {true, onwards == g.edges, share(onwards, g.edges), "an edge leads backwards"};
}

enum class Asks { value, ends, set, order, cycle };

struct Family {
  const char* name;
  bool directed;
  Asks asks;
  Marks (*judge)(const Graph& g, std::string_view text);
};

constexpr std::array kFamilies = {
    Family{"connected_component", false, Asks::set, node_set},
    Family{"shortest_path", false, Asks::ends, shortest_path},
    Family{"cycle", false, Asks::cycle, cycle},
    Family{"topological_order", true, Asks::order, topological_order},
    Family{"degree", false, Asks::value, value},
    Family{"triangles", false, Asks::value, value},
    Family{"max_flow", true, Asks::value, value},
};

std::size_t node_of(const std::string& text, std::size_t at, std::size_t nodes) {
  check_reference(at < text.size() && text[at] >= 'A' && std::size_t(text[at] - 'A') < nodes,
                  "a node's letter is none of the graph's");
  return std::size_t(text[at] - 'A');
}

void read_answer(const Json& answer, Asks asks, Graph& g) {
  if (asks == Asks::order) return;
  if (asks == Asks::value) {
    g.value = whole_number(answer, 0, 1'000'000'000);
    return;
  }
  const auto text = answer.get<std::string>();
  g.none = asks == Asks::cycle && text == "none";
  if (asks == Asks::cycle) return;
  for (std::size_t i = 0; i < text.size(); ++i) g.answer.push_back(node_of(text, i, g.size()));
  check_reference(
      asks == Asks::ends ? g.answer.size() == 2 : !g.answer.empty() && are_distinct(g.answer),
      "answer names other nodes than the family needs");
  check_reference(asks != Asks::ends || (g.answer[0] != g.answer[1] &&
                                         distance(g, g.answer[0], g.answer[1]) < g.size()),
                  "there is no path between the two nodes");
}

Graph read_graph(const Json& reference, const Family& family) {
  const std::size_t nodes = std::size_t(whole_number(reference.at("nodes"), 1, kMostNodes));
  Graph g{std::vector<std::vector<bool>>(nodes, std::vector<bool>(nodes)), 0, {}, 0, false};
  for (const Json& edge : reference.at("edges")) {
    const auto text = edge.get<std::string>();
    const std::size_t from = node_of(text, 0, nodes), to = node_of(text, 1, nodes);
    check_reference(from != to && !g.edge[from][to],
                    "an edge stands twice, or leads to where it came from");
    g.edge[from][to] = true;
    if (!family.directed) g.edge[to][from] = true;
    ++g.edges;
  }
  read_answer(reference.at("answer"), family.asks, g);
  return g;
}

const Family& find_family(const Json& reference) {
  const auto name = reference.at("family").get<std::string>();
  const auto row = std::find_if(kFamilies.begin(), kFamilies.end(),
                                [&](const Family& f) { return f.name == name; });
  check_reference(row != kFamilies.end(), "the family is unknown");
  return *row;
}

}  // namespace

Score judge_graph(const Prompt& prompt, const Response& response) {
  constexpr const char* kForm =
      R"({"family": "shortest_path", "nodes": 3, "edges": ["AB", "BC"], "answer": "AC"})";
  const auto [graph, family] = read_reference(prompt, kForm, [](const Json& reference) {
    const Family& row = find_family(reference);
    return std::pair(read_graph(reference, row), &row);
  });
  const auto text = complete_answer(response);
  if (!text) return no_answer(3);
  std::string answer(text::trim(*text));
  Marks marks = family->judge(graph, answer);
  if (!marks.format) {  // in LaTeX, or announced in words
    const auto stated = text::stated_answer(answer);
    for (const std::string& other :
         {text::plain_latex(answer), stated ? text::plain_latex(*stated) : std::string()}) {
      const Marks read = family->judge(graph, other);
      if (!read.format) continue;
      marks = read, answer = other;
      break;
    }
  }
  return score_of({double(marks.correct), double(marks.format), marks.partial},
                  marks.format ? answer : std::string(), marks.reason);
}

}  // namespace rollcall::reward
