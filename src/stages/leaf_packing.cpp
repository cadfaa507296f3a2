// Packing, and trees of what rollouts begin with alike.
#include "stages/leaf_packing.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <bit>
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
    for (std::int64_t t = 0; turn->role == Role::policy && t < count; ++t) leaf_->targets.push_back(first + t);
    leaf_->tokens.insert(leaf_->tokens.end(), turn->tokens.begin(), turn->tokens.end());
  }
  end_sequence(prompt_);
}

namespace {

/// A token of a rollout, with its column where it is the policy's.
struct Place {
  std::int32_t token;
  bool learnt = false;
  float logprob = 0.0F;
  double dlogprob = 0.0, dentropy = 0.0;  ///< of the loss, over all rollouts that have it

  /// Behind the same places it is the same place. The forward pass is held against each log-prob, so those that differ stand apart.
  bool same_as(const Place& other) const {
    return token == other.token && learnt == other.learnt && std::bit_cast<std::uint32_t>(logprob) == std::bit_cast<std::uint32_t>(other.logprob);
  }
};
using Path = std::vector<Place>;

/// What rollouts begin with alike, once: a node is the places up to where they part.
class Tree {
 public:
  std::int64_t tokens() const { return tokens_; }
  /// First places of a path that stand in the tree.
  std::int64_t known(const Path& path) const {
    return std::int64_t(follow(path, [](std::size_t, std::size_t, const Place&) {}).along);
  }
  void add(const Path& path);
  BackwardLeaf leaf() const;

 private:
  struct Node {
    Path places;
    std::vector<std::size_t> children;  ///< no two begin with the same place
  };
  struct Point {
    std::size_t node, within;  ///< behind so many places of a node
    std::size_t along;         ///< of the path that leads there
  };
  template <class Pass>
  Point follow(const Path& path, const Pass& pass) const;
  void write(std::size_t node, std::int64_t parent, BackwardLeaf& to) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);  ///< the first is the root, without places
  std::int64_t tokens_ = 0;
};

/// As far as the path stands in the tree: pass(node, place, of the path).
template <class Pass>
Tree::Point Tree::follow(const Path& path, const Pass& pass) const {
  Point at{0, 0, 0};
  while (at.along < path.size()) {
    if (at.within == nodes_[at.node].places.size()) {
      const auto& children = nodes_[at.node].children;
      const auto next = std::find_if(children.rbegin(), children.rend(),  // those of one prompt come one after the other
                                     [&](std::size_t child) { return nodes_[child].places.front().same_as(path[at.along]); });
      if (next == children.rend()) break;
      at.node = *next, at.within = 0;
    }
    if (!nodes_[at.node].places[at.within].same_as(path[at.along])) break;
    pass(at.node, at.within++, path[at.along++]);
  }
  return at;
}

void Tree::add(const Path& path) {
  const Point end = follow(path, [&](std::size_t node, std::size_t place, const Place& own) {
    nodes_[node].places[place].dlogprob += own.dlogprob, nodes_[node].places[place].dentropy += own.dentropy;
  });
  if (end.along == path.size()) return;
  if (end.within < nodes_[end.node].places.size()) {  // the node ends here, and what it went on with is its first child
    Node rest;
    Node& first = nodes_[end.node];
    rest.places.assign(first.places.begin() + std::ptrdiff_t(end.within), first.places.end());
    rest.children = std::exchange(first.children, {nodes_.size()});
    first.places.resize(end.within);
    nodes_.push_back(std::move(rest));
  }
  nodes_[end.node].children.push_back(nodes_.size());
  nodes_.push_back({Path(path.begin() + std::ptrdiff_t(end.along), path.end()), {}});
  tokens_ += std::int64_t(path.size() - end.along);
}

/// A node and then what continues it, each as a sequence.
void Tree::write(std::size_t node, std::int64_t parent, BackwardLeaf& to) const {
  model::Leaf& leaf = to.leaf;
  for (const Place& place : nodes_[node].places) {
    if (place.learnt) {
      leaf.targets.push_back(std::int64_t(leaf.tokens.size()));
      to.derivative.logprob.push_back(float(place.dlogprob)), to.derivative.entropy.push_back(float(place.dentropy));
      to.logprob.push_back(place.logprob);
    }
    leaf.tokens.push_back(place.token);
  }
  leaf.offsets.push_back(std::int64_t(leaf.tokens.size()));
  leaf.parents.push_back(parent);
  const auto own = std::int64_t(leaf.parents.size()) - 1;
  for (const std::size_t child : nodes_[node].children) write(child, own, to);
}

BackwardLeaf Tree::leaf() const {
  BackwardLeaf made;
  made.leaf.offsets.push_back(0);
  for (const std::size_t child : nodes_.front().children) write(child, -1, made);
  return made;
}

/// Whether a derivative of the columns [first, last) is other than zero.
bool trains(const model::ColumnGradient& derivative, std::size_t first, std::size_t last) {
  const auto any = [&](const std::vector<float>& values) {
    return std::any_of(values.begin() + std::ptrdiff_t(first), values.begin() + std::ptrdiff_t(last), [](float value) { return value != 0.0F; });
  };
  return any(derivative.logprob) || any(derivative.entropy);
}

/// Its columns begin at `column`.
Path path_of(const Rollout& rollout, const model::ColumnGradient& derivative, std::span<const float> logprob, std::size_t column) {
  expect(rollout.turns.front().role == Role::prompt && !rollout.turns.front().tokens.empty(), "a rollout begins with its prompt");
  Path path;
  for (const auto& turn : rollout.turns)
    for (const std::int32_t token : turn.tokens) {
      if (turn.role != Role::policy) {
        path.push_back({token});
        continue;
      }
      path.push_back({token, true, logprob[column], derivative.logprob[column], derivative.entropy[column]});
      ++column;
    }
  return path;
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
  std::size_t column = 0;
  for (const std::size_t g : groups)
    for (const Rollout& rollout : batch.groups[g].rollouts) {
      const auto first = std::exchange(column, column + std::size_t(policy_tokens(rollout)));
      expect(column <= logprob.size() && column <= derivative.logprob.size(), "every policy token has a derivative");
      if (!trains(derivative, first, column)) continue;
      const Path path = path_of(rollout, derivative, logprob, first);
      const std::int64_t growth = std::int64_t(path.size()) - tree.known(path);
      if (growth > 0 && tree.tokens() > 0 && tree.tokens() + growth > leaf_tokens) end_leaf();
      repeated += std::max<std::int64_t>(before.known(path) - tree.known(path), 0);
      tree.add(path);
    }
  expect(column == derivative.logprob.size() && column == logprob.size(), "every policy token has a derivative");
  end_leaf();
  return leaves;
}

}  // namespace rollcall::stages
