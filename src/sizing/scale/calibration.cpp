// Levenberg-Marquardt over the logarithms of the costs (Marquardt 1963), with numerical
// derivatives.
#include "sizing/scale/calibration.hpp"

#include "base/errors/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rollcall::sizing::scale {
namespace {

constexpr double kPrior = 1e-2;  // weight of the prior: a cost that differs from its default by a
                                 // factor of e counts like an error of 1 % of a step, which matters
                                 // only without other evidence
constexpr double kFirmPrior = 1e-1;   // weight of the prior for costs about which runs on few ranks
                                      // say little; with a smaller weight they would absorb what
                                      // the simulation lacks
constexpr double kStepWeight = 2.0;   // weight of the step's error: its parts are maxima over ranks
                                      // and overlap where ranks share cores, so it counts more
constexpr double kOwnWeight = 0.5;    // weight of the error in scheduling and columns, which are
                                      // tiny in these runs but large with a million prompts: the
                                      // logarithm of simulated over measured time
constexpr double kDifference = 1e-3;  // change of a cost's logarithm for numerical derivatives
constexpr double kMostStep = 1.0;     // one iteration changes a cost by at most a factor of e
constexpr int kIterations = 60;

using Vector = std::vector<double>;

Vector logarithms(const Costs& costs) {
  Vector x;
  for (const auto& cost : cost_names()) x.push_back(std::log(costs.*cost.value));
  return x;
}

Costs costs_of(const Vector& x) {
  Costs costs;
  for (std::size_t i = 0; i < x.size(); ++i) costs.*cost_names()[i].value = std::exp(x[i]);
  return costs;
}

/// Simulated minus measured times, as fractions of the run's step (for scheduling and columns, the
/// logarithm of their ratio), followed by the prior's terms.
Vector residuals(const std::vector<MeasuredRun>& runs, const Vector& x) {
  static const Vector defaults = logarithms(Costs());
  const Costs costs = costs_of(x);
  Vector all;
  for (const auto& run : runs) {
    const StepTimes simulated = simulate_step(run.cluster, run.work, costs);
    for (const auto part : {&StepTimes::generation, &StepTimes::generation_mean,
                            &StepTimes::archive, &StepTimes::update, &StepTimes::step}) {
      const double weight = part == &StepTimes::step ? kStepWeight : 1.0;
      all.push_back(weight * (simulated.*part - run.times.*part) / run.times.step);
    }
    for (const auto part : {&StepTimes::scheduling, &StepTimes::columns}) {
      if (run.times.*part > 0)
        all.push_back(kOwnWeight * std::log(simulated.*part / run.times.*part));
    }
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto cost = cost_names()[i].value;
    const bool firm = cost == &Costs::message || cost == &Costs::gather_rollout;
    all.push_back((firm ? kFirmPrior : kPrior) * (x[i] - defaults[i]));
  }
  return all;
}

double squares(const Vector& r) {
  double sum = 0.0;
  for (const double value : r) sum += value * value;
  return sum;
}

/// Solves a positive definite system by Gaussian elimination.
Vector solve(std::vector<Vector> a, Vector b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t row = i + 1; row < n; ++row) {
      const double factor = a[row][i] / a[i][i];
      for (std::size_t column = i; column < n; ++column) a[row][column] -= factor * a[i][column];
      b[row] -= factor * b[i];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t column = i + 1; column < n; ++column) b[i] -= a[i][column] * b[column];
    b[i] /= a[i][i];
  }
  return b;
}

/// The next change in the logarithms for this damping.
Vector descent(const std::vector<Vector>& jacobian, const Vector& r, double damping) {
  const std::size_t n = jacobian.size();
  std::vector<Vector> a(n, Vector(n, 0.0));
  Vector b(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < r.size(); ++k) a[i][j] += jacobian[i][k] * jacobian[j][k];
    for (std::size_t k = 0; k < r.size(); ++k) b[i] -= jacobian[i][k] * r[k];
    a[i][i] += damping * (a[i][i] + kPrior * kPrior);
  }
  Vector step = solve(std::move(a), std::move(b));
  for (double& value : step) value = std::clamp(value, -kMostStep, kMostStep);
  return step;
}

}  // namespace

const std::vector<CostName>& cost_names() {
  static const std::vector<CostName> names{
      {"decode_step", "core us", "a decoding step of a rank", &Costs::decode_step},
      {"decode_token", "core us", "a token that a rank decodes, or of a prompt",
       &Costs::decode_token},
      {"draft", "core us",
       "shards of ranks that update on them, by their aggregator; the file is written in spare "
       "time",
       &Costs::draft},
      {"file", "core us",
       "shard and scores of any other rank with their files, or unpacking another's", &Costs::file},
      {"file_wait", "us elapsed", "until those files are stored", &Costs::file_wait},
      {"gather_rollout", "core us",
       "a rollout of another rank, taken in by its aggregator or the first update rank",
       &Costs::gather_rollout},
      {"unpack_step", "core us", "columns of a step on the first update rank, however few",
       &Costs::unpack_step},
      {"unpack_rollout", "core us",
       "a rollout of the whole step, its columns on the first update rank", &Costs::unpack_rollout},
      {"train_token", "core us", "a token's forward and backward pass", &Costs::train_token},
      {"micro-batch", "core us", "a micro-batch of them, however few", &Costs::micro_batch},
      {"optimizer_weight", "core us", "a weight, on the rank that has its moments",
       &Costs::optimizer_weight},
      {"publish_weight", "core us", "a weight, on every rank that holds the policy",
       &Costs::publish_weight},
      {"hop", "core us", "of each rank in a collective, log2(ranks) times", &Costs::hop},
      {"turn", "us elapsed",
       "that ranks end later than by even shares, where more of them generate than a node has "
       "cores",
       &Costs::turn},
      {"message", "core us", "on rank 0, for each that it sends or receives", &Costs::message},
      {"schedule_prompt", "core us", "on rank 0, choosing and learning, each",
       &Costs::schedule_prompt},
      {"crowding", "percent", "more time for the same work when all cores of a node are busy",
       &Costs::crowding},
  };
  return names;
}

Costs fit(const std::vector<MeasuredRun>& runs) {
  require<InputError>(!runs.empty(), "no runs to fit", "costs come from measured runs",
                      "give --from RUN");
  Vector x = logarithms(Costs());
  Vector r = residuals(runs, x);
  double damping = 1e-2;
  for (int iteration = 0; iteration < kIterations && damping < 1e8; ++iteration) {
    std::vector<Vector> jacobian;  // [costs][residuals]
    for (std::size_t i = 0; i < x.size(); ++i) {
      Vector moved = x;
      moved[i] += kDifference;
      Vector slope = residuals(runs, moved);
      for (std::size_t k = 0; k < slope.size(); ++k) slope[k] = (slope[k] - r[k]) / kDifference;
      jacobian.push_back(std::move(slope));
    }
    for (; damping < 1e8; damping *= 4) {
      Vector next = x;
      const Vector step = descent(jacobian, r, damping);
      for (std::size_t i = 0; i < x.size(); ++i) next[i] += step[i];
      Vector there = residuals(runs, next);
      if (squares(there) >= squares(r)) continue;
      x = std::move(next), r = std::move(there);
      damping = std::max(1e-6, damping / 8);
      break;
    }
  }
  return costs_of(x);
}

}  // namespace rollcall::sizing::scale
