// Packing, and trees of what rollouts begin with alike.
#include "stages/leaf_packing.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace rollcall::stages {

bool LeafPacker::shares_prompt(const std::vector<std::int32_t>& prompt) const {
  if (prompt_ < 0) return false;
  const auto first = leaf_->tokens.begin() + leaf_->offsets[std::size_t(prompt_)], last = leaf_->tokens.begin() + leaf_->offsets[std::size_t(prompt_) + 1];
  return std::equal(first, last, prompt.begin(), prompt.end());
}

void LeafPacker::append(const Rollout& rollout) {
  const auto end_sequence = [&](std::int64_t parent) {
    leaf_->offsets.push_back(std::int64_t(leaf_->tokens.size()));
    leaf_->parents.push_back(parent);
  };
  if (leaf_->offsets.empty()) leaf_->offsets.push_back(0);
  const auto& prompt = rollout.turns.front().tokens;
  expect(rollout.turns.front().role == Role::prompt && !prompt.empty(), "a rollout begins with its prompt");
  if (!shares_prompt(prompt)) {
    prompt_ = std::int64_t(leaf_->parents.size());
    leaf_->tokens.insert(leaf_->tokens.end(), prompt.begin(), prompt.end());
    end_sequence(-1);
  }
  for (auto turn = rollout.turns.begin() + 1; turn != rollout.turns.end(); ++turn) {
    const auto first = std::int64_t(leaf_->tokens.size()), count = std::int64_t(turn->tokens.size());
    for (std::int64_t t = 0; turn->role == Role::policy && t < count; ++t) {
      leaf_->kept.put(leaf_->targets.size(), turn->kept.of(std::size_t(t)));
      leaf_->targets.push_back(first + t);
    }
    leaf_->tokens.insert(leaf_->tokens.end(), turn->tokens.begin(), turn->tokens.end());
  }
  end_sequence(prompt_);
}

namespace {

constexpr std::int64_t kSmallLeaf = 128;    ///< tokens; reading the weights and adding to their gradient would take longer than the products
constexpr std::int64_t kMostRepeated = 16;  ///< a part of the tokens; more, and a prompt that stands in every leaf costs what an even cut wins

/// A token of a rollout, with its column where it is the policy's.
struct Place {
  std::int32_t token;
  bool learnt = false;
  float logprob = 0.0F;
  double dlogprob = 0.0, dentropy = 0.0;  ///< of the loss, over all rollouts that have it
  std::span<const std::int32_t> kept{};   ///< of the batch's rollout; empty: all tokens

  /// Behind the same places it is the same place. The forward pass is held against each log-prob, so
  /// those that differ stand apart, as do those of other softmaxes.
  bool same_as(const Place& other) const {
    return token == other.token && learnt == other.learnt && std::bit_cast<std::uint32_t>(logprob) == std::bit_cast<std::uint32_t>(other.logprob) &&
           std::ranges::equal(kept, other.kept);
  }
};
using Path = std::vector<Place>;

/// What rollouts begin with alike, once: a node is the places up to where they part.
class Tree {
 public:
  std::int64_t tokens() const { return std::int64_t(places_.size()); }
  /// First places of a path that stand in the tree.
  std::int64_t known(const Path& path) const {
    return std::int64_t(follow(path, [](std::size_t, const Place&) {}).along);
  }
  void add(const Path& path);
  BackwardLeaf leaf() const;

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Node {
    std::size_t first = 0, last = 0;             ///< places
    std::size_t child = kNone, sibling = kNone;  ///< the youngest child and the next older sibling; no two children begin with the same place
  };
  struct Point {
    std::size_t node, place;  ///< what comes next in a node; its `last` at its end
    std::size_t along;        ///< of the path that leads there
  };
  template <class Pass>
  Point follow(const Path& path, const Pass& pass) const;
  void write(std::size_t node, std::int64_t parent, BackwardLeaf& to) const;
  void write_children(std::size_t node, std::int64_t parent, BackwardLeaf& to) const;

  Path places_;                                     ///< of all nodes
  std::vector<Node> nodes_ = std::vector<Node>(1);  ///< the first is the root, without places
};

/// As far as the path stands in the tree: pass(place, of the path).
template <class Pass>
Tree::Point Tree::follow(const Path& path, const Pass& pass) const {
  Point at{0, 0, 0};
  for (; at.along < path.size(); ++at.along) {
    if (at.place == nodes_[at.node].last) {
      std::size_t next = nodes_[at.node].child;  // the youngest first: rollouts of one prompt come one after the other
      while (next != kNone && !places_[nodes_[next].first].same_as(path[at.along])) next = nodes_[next].sibling;
      if (next == kNone) break;
      at.node = next, at.place = nodes_[next].first;
    }
    if (!places_[at.place].same_as(path[at.along])) break;
    pass(at.place++, path[at.along]);
  }
  return at;
}

void Tree::add(const Path& path) {
  const Point end =
      follow(path, [&](std::size_t place, const Place& own) { places_[place].dlogprob += own.dlogprob, places_[place].dentropy += own.dentropy; });
  if (end.along == path.size()) return;
  if (Node& node = nodes_[end.node]; end.place < node.last) {  // it ends here, and what it went on with is its first child
    const Node rest{end.place, node.last, node.child, kNone};
    node.last = end.place, node.child = nodes_.size();
    nodes_.push_back(rest);
  }
  const std::size_t own = nodes_.size();
  nodes_.push_back({places_.size(), places_.size() + path.size() - end.along, kNone, nodes_[end.node].child});
  nodes_[end.node].child = own;
  places_.insert(places_.end(), path.begin() + std::ptrdiff_t(end.along), path.end());
}

/// A node and then what continues it, each as a sequence.
void Tree::write(std::size_t node, std::int64_t parent, BackwardLeaf& to) const {
  model::Leaf& leaf = to.leaf;
  for (std::size_t i = nodes_[node].first; i < nodes_[node].last; ++i) {
    const Place& place = places_[i];
    if (place.learnt) {
      leaf.kept.put(leaf.targets.size(), place.kept);
      leaf.targets.push_back(std::int64_t(leaf.tokens.size()));
      to.derivative.logprob.push_back(float(place.dlogprob)), to.derivative.entropy.push_back(float(place.dentropy));
      to.logprob.push_back(place.logprob);
    }
    leaf.tokens.push_back(place.token);
  }
  leaf.offsets.push_back(std::int64_t(leaf.tokens.size()));
  leaf.parents.push_back(parent);
  write_children(node, std::int64_t(leaf.parents.size()) - 1, to);
}

void Tree::write_children(std::size_t node, std::int64_t parent, BackwardLeaf& to) const {
  std::vector<std::size_t> children;
  for (std::size_t child = nodes_[node].child; child != kNone; child = nodes_[child].sibling) children.push_back(child);
  for (auto child = children.rbegin(); child != children.rend(); ++child) write(*child, parent, to);
}

BackwardLeaf Tree::leaf() const {
  BackwardLeaf made;
  made.leaf.offsets.push_back(0);
  write_children(0, -1, made);
  return made;
}

/// Whether a derivative of the columns [first, last) is other than zero.
bool trains(const model::ColumnGradient& derivative, std::size_t first, std::size_t last) {
  const auto any = [&](const std::vector<float>& values) {
    return std::any_of(values.begin() + std::ptrdiff_t(first), values.begin() + std::ptrdiff_t(last), [](float value) { return value != 0.0F; });
  };
  return any(derivative.logprob) || any(derivative.entropy);
}

/// A rollout's places, in the memory of the last one's. Its columns begin at `column`.
void take_path(const Rollout& rollout, const model::ColumnGradient& derivative, std::span<const float> logprob, std::size_t column, Path& path) {
  expect(rollout.turns.front().role == Role::prompt && !rollout.turns.front().tokens.empty(), "a rollout begins with its prompt");
  path.clear();
  for (const auto& turn : rollout.turns)
    for (std::size_t t = 0; t < turn.tokens.size(); ++t) {
      if (turn.role != Role::policy) {
        path.push_back({turn.tokens[t]});
        continue;
      }
      path.push_back({turn.tokens[t], true, logprob[column], derivative.logprob[column], derivative.entropy[column], turn.kept.of(t)});
      ++column;
    }
}

}  // namespace

std::vector<BackwardLeaf> backward_leaves(const StepBatch& batch, const std::vector<std::size_t>& groups, const model::ColumnGradient& derivative,
                                          std::span<const float> logprob, std::int64_t leaf_tokens) {
  std::vector<BackwardLeaf> leaves;
  Tree tree, before;  // of the leaf at hand and of the last one
  std::int64_t repeated = 0;
  const auto end_leaf = [&] {
    if (tree.tokens() == 0) return;
    leaves.push_back(tree.leaf());
    leaves.back().repeated = std::exchange(repeated, 0);
    before = std::exchange(tree, Tree());
  };
  Path path;
  std::size_t column = 0;
  for (const std::size_t g : groups)
    for (const Rollout& rollout : batch.groups[g].rollouts) {
      const auto first = std::exchange(column, column + std::size_t(policy_tokens(rollout)));
      expect(column <= logprob.size() && column <= derivative.logprob.size(), "every policy token has a derivative");
      if (!trains(derivative, first, column)) continue;
      take_path(rollout, derivative, logprob, first, path);
      std::int64_t known = tree.known(path);
      const std::int64_t growth = std::int64_t(path.size()) - known;
      if (growth > 0 && tree.tokens() > 0 && tree.tokens() + growth > leaf_tokens) end_leaf(), known = 0;
      repeated += std::max<std::int64_t>(before.known(path) - known, 0);
      tree.add(path);
    }
  expect(column == derivative.logprob.size() && column == logprob.size(), "every policy token has a derivative");
  end_leaf();
  return leaves;
}

std::int64_t leaf_count(std::int64_t least, std::int64_t tokens) {
  if (least > kFewLeaves) return least;
  const auto count = std::int64_t(std::bit_ceil(std::uint64_t(std::max<std::int64_t>(least, 2))));
  return tokens / count >= kSmallLeaf ? count : least;
}

std::vector<BackwardLeaf> even_leaves(std::int64_t leaf_tokens, const std::function<std::vector<BackwardLeaf>(std::int64_t limit)>& cut) {
  const auto tokens_of = [](const std::vector<BackwardLeaf>& leaves) {
    return std::accumulate(leaves.begin(), leaves.end(), std::int64_t(0),
                           [](auto sum, const auto& each) { return sum + std::int64_t(each.leaf.tokens.size()); });
  };
  auto full = cut(leaf_tokens);
  const std::int64_t tokens = tokens_of(full), least = std::int64_t(full.size());
  const std::int64_t wanted = leaf_count(least, tokens);
  for (const std::int64_t count : wanted > least ? std::vector{wanted, least} : std::vector{least}) {
    if (count <= 1 || count > kFewLeaves) continue;
    // Rollouts do not part where one would like, and what leaves have in common stands in each: the smallest limit, in sixteenths of an even share, that is enough.
    const std::int64_t share = (tokens + count - 1) / count;
    for (std::int64_t limit = share; limit < leaf_tokens; limit += (share + 15) / 16) {
      auto even = cut(limit);
      if (std::int64_t(even.size()) > count) continue;
      if (tokens_of(even) <= tokens + tokens / kMostRepeated) return even;
      break;
    }
  }
  return full;
}

}  // namespace rollcall::stages
