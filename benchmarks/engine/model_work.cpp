// Decoding and a policy update of a model with random weights.
#include "benchmarks/engine/workloads.hpp"
#include "model/decode/decode.hpp"
#include "model/decode/row_sampler.hpp"
#include "model/train/optimizer.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace rollcall::bench {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Model {
  std::string key;
  model::ModelConfig config;
  std::shared_ptr<model::AlignedFloats> weights;
  const kernels::KernelSet* kernels = nullptr;
  std::unique_ptr<model::PolicyModel> policy;
};

/// The model of the last case, or a new one. It has no end-of-sequence, so every sample has its
/// full length.
Model& model_of(const Json& given) {
  static Model model;
  const std::string config = given.at("config").dump(),
                    numerics = given.value("numerics", kernels::kFp32FixedOrder),
                    key = config + numerics;
  if (model.key == key) return model;
  model = {};
  model.config = model::read_model_config({config, "the case"});
  model.config.eos_token_ids.clear();
  model.kernels = &kernels::selected_kernels(numerics);
  const auto weights = model::initial_weights(model.config, 1);
  model.weights = std::make_shared<model::AlignedFloats>(std::span<const float>(weights));
  model.policy = std::make_unique<model::PolicyModel>(model.config, model.weights, PolicyVersion{0},
                                                      model.kernels);
  model.key = key;
  return model;
}

std::vector<std::int32_t> random_tokens(std::size_t count, std::int64_t vocab, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<std::int32_t> tokens(count);
  for (auto& token : tokens) token = std::int32_t(engine() % unsigned(vocab));
  return tokens;
}

/// A rank's single-process collectives: there is nobody to sum with.
class Alone final : public Collectives {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void sum(std::span<std::int64_t>) override {}
  void maximum(std::span<double>) override {}
  void broadcast(std::span<std::byte>, int) override {}
  void barrier() override {}
};

struct Shape {
  explicit Shape(const Json& given)
      : groups(given.at("groups")),
        members(given.at("members")),
        prompt(given.at("prompt")),
        sampled(given.at("new")),
        threads(given.at("threads")) {}
  int groups, members, prompt, sampled, threads;
};

/// A group's micro-batch: its prompt once, then `members` continuations of it from member `first`
/// on.
model::MicroBatch group_micro_batch(const Shape& shape, std::int64_t vocab, int group,
                                    int members) {
  model::MicroBatch micro_batch;
  micro_batch.tokens =
      random_tokens(std::size_t(shape.prompt + members * shape.sampled), vocab, unsigned(group));
  micro_batch.offsets = {0, shape.prompt};
  micro_batch.parents = {-1};
  for (int member = 0; member < members; ++member) {
    for (int t = 0; t < shape.sampled; ++t)
      micro_batch.targets.push_back(micro_batch.offsets.back() + t);
    micro_batch.offsets.push_back(micro_batch.offsets.back() + shape.sampled);
    micro_batch.parents.push_back(0);
  }
  return micro_batch;
}

}  // namespace

Json decode(const Json& given) {
  const Shape shape(given);
  Model& model = model_of(given);
  SamplingParams sampling;
  sampling.temperature = given.value("temperature", 1.0);
  sampling.top_p = given.value("top_p", 1.0);
  sampling.top_k = given.value("top_k", 0);
  sampling.max_new_tokens = shape.sampled;
  std::vector<model::DecodeRequest> requests;
  for (int group = 0; group < shape.groups; ++group)
    requests.push_back(
        {random_tokens(std::size_t(shape.prompt), model.config.vocab_size, unsigned(group)), 1, 0,
         std::uint64_t(group), 0, std::uint32_t(shape.members), 0});
  const auto start = Clock::now();
  std::int64_t tokens = 0;
  for (const auto& request :
       model::decode(*model.policy, requests, sampling, {}, {.threads = shape.threads}))
    for (const auto& sample : request) tokens += std::int64_t(sample.tokens.size());
  return {{"seconds", since(start)}, {"tokens", tokens}};
}

Json step(const Json& given) {
  const Shape shape(given);
  Model& model = model_of(given);
  SamplingParams sampling;
  sampling.max_new_tokens = 4 + shape.sampled;
  model::Team team(shape.threads);
  Json answer;
  team.lead(model::on_new_threads, [&] {
    model::DecodeSession session(*model.policy, sampling, team,
                                 std::int64_t(given.value("cache_bytes", model::kMostCacheBytes)));
    const auto live = std::uint32_t(shape.members);
    session.open({.prompt = random_tokens(std::size_t(shape.prompt), model.config.vocab_size, 1),
                  .count = live},
                 0, live, {});
    while (session.advancing() < shape.members) session.advance(*model.policy);
    for (int warm = 1; warm < 4; ++warm) session.advance(*model.policy);
    const auto start = Clock::now();
    for (int t = 0; t < shape.sampled; ++t) session.advance(*model.policy);
    answer = {{"seconds", since(start)},
              {"tokens", shape.members * shape.sampled},
              {"cache_bytes", session.cache_bytes()}};
  });
  return answer;
}

Json turns(const Json& given) {
  const Shape shape(given);
  const std::int64_t said = given.at("said"), talks = shape.members;
  Model& model = model_of(given);
  const auto prompt_of = [&](std::int64_t talk, std::int64_t count) {
    return random_tokens(std::size_t(count), model.config.vocab_size, unsigned(talk));
  };
  model::Team team(shape.threads);
  Json answer;
  team.lead(model::on_new_threads, [&] {
    SamplingParams sampling;
    sampling.max_new_tokens = 2 * shape.sampled;
    model::DecodeSession session(*model.policy, sampling, team, model::kMostCacheBytes);
    const auto play = [&] {
      while (!session.idle()) session.advance(*model.policy);
    };
    std::vector<model::DecodeSession::Id> ids;
    for (std::int64_t talk = 0; talk < talks; ++talk)
      ids.push_back(session.open({.prompt = prompt_of(talk, shape.prompt),
                                  .prompt_address = std::uint64_t(talk),
                                  .most = shape.sampled},
                                 0, 1, {}));
    play();
    const std::int64_t before = session.computed_tokens();
    const auto start = Clock::now();
    for (std::int64_t talk = 0; talk < talks; ++talk)
      session.append(ids[std::size_t(talk)], prompt_of(talks + talk, said), shape.sampled);
    play();
    answer = {{"seconds", since(start)},
              {"tokens", talks * (said + shape.sampled)},
              {"computed", session.computed_tokens() - before}};
  });
  return answer;
}

Json makespan(const Json& given) {
  const auto lengths = given.at("lengths").get<std::vector<std::size_t>>();
  const std::int64_t slots = given.at("slots"),
                     total = std::reduce(lengths.begin(), lengths.end(), std::int64_t(0));
  const auto longest = std::int64_t(*std::max_element(lengths.begin(), lengths.end()));
  Model& model = model_of(given);
  model::Team team(given.at("threads").get<int>());
  Json answer;
  team.lead(model::on_new_threads, [&] {
    SamplingParams sampling;
    sampling.max_new_tokens = int(longest);
    model::DecodeSession session(*model.policy, sampling, team, model::kMostCacheBytes, slots);
    const auto start = Clock::now();
    std::int64_t advances = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i)
      session.open({.prompt = random_tokens(32, model.config.vocab_size, unsigned(i)),
                    .prompt_address = i,
                    .count = 1},
                   0, 1, [length = lengths[i]] {
                     return [length](std::span<const std::int32_t> tokens) {
                       return tokens.size() == length;
                     };
                   });
    for (; !session.idle(); ++advances) session.advance(*model.policy);
    answer = {{"seconds", since(start)},
              {"tokens", total},
              {"advances", advances},
              {"least", std::max((total + slots - 1) / slots, longest)}};
  });
  return answer;
}

Json draw(const Json& given) {
  constexpr std::int64_t kept = 16;  // rows of logits, as a step of a group leaves them
  const std::int64_t rows = given.at("rows"), vocab = given.at("vocab");
  const int threads = given.at("threads");
  std::mt19937 engine(1);
  std::normal_distribution<float> normal(0.0F, given.at("spread"));
  model::AlignedFloats logits(std::size_t(kept * vocab));
  for (float& z : logits.span()) z = normal(engine);
  SamplingParams sampling;
  sampling.temperature = given.value("temperature", 1.0);
  sampling.top_p = given.value("top_p", 1.0);
  const auto& kernels = kernels::selected_kernels();
  std::atomic<std::int64_t> sum{0};
  const auto start = Clock::now();
  on_threads(threads, [&](int thread) {
    kernels::ExecutionContext context;
    model::RowSampler drawer(sampling, vocab, kernels);
    std::int64_t drawn = 0;
    for (std::int64_t row = rows * thread / threads; row < rows * (thread + 1) / threads; ++row) {
      drawer.read(context, logits.data() + row % kept * vocab, float(1.0 / sampling.temperature));
      drawn += drawer.draw((double(row) + 0.5) / double(rows)).token;
    }
    sum += drawn;
  });
  return {{"seconds", since(start)}, {"tokens", rows}, {"sum", sum.load()}};
}

namespace {

struct Runner {
  explicit Runner(int threads) : team(threads) {}
  model::Team team;
  model::MicroBatchRunner micro_batches{team};
};

}  // namespace

Json update(const Json& given) {
  const Shape shape(given);
  Model& model = model_of(given);
  const auto layout = model::weight_layout(model.config);
  const model::Threads threads{shape.threads, model::on_new_threads};
  static std::string key;
  static std::unique_ptr<model::GradientSum> sum;
  static model::OptimizerState state;
  if (key != model.key + std::to_string(shape.threads)) {
    key = model.key + std::to_string(shape.threads);
    sum = std::make_unique<model::GradientSum>(layout, threads);
    state = {std::vector<float>(std::size_t(layout.size), 0.0F),
             std::vector<float>(std::size_t(layout.size), 0.0F), 0};
  }
  std::vector<model::MicroBatch> micro_batches;
  for (int group = 0; group < shape.groups; ++group)
    micro_batches.push_back(
        group_micro_batch(shape, model.config.vocab_size, group, shape.members));
  std::int64_t columns = 0;
  for (const auto& micro_batch : micro_batches) columns += std::int64_t(micro_batch.targets.size());
  Alone alone;
  // Memory stays from step to step, as in a run.
  static std::vector<std::unique_ptr<Runner>> runners;
  // micro-batches side by side where there are many, as in run/workers/micro_batch_workers.cpp
  const bool apart = shape.threads == 1 || shape.groups >= 2 * shape.threads;
  const std::size_t wanted = apart ? std::size_t(shape.threads) : 1;
  if (runners.size() != wanted || runners.front()->team.size() != (apart ? 1 : shape.threads)) {
    runners.clear();
    while (runners.size() < wanted)
      runners.push_back(std::make_unique<Runner>(apart ? 1 : shape.threads));
  }
  const auto start = Clock::now();
  const auto run = [&](model::MicroBatchRunner& runner, const model::MicroBatch& micro_batch) {
    const std::size_t m = micro_batch.targets.size();
    model::ColumnGradient derivative{std::vector<float>(m), std::vector<float>(m, 0.0F)};
    for (std::size_t t = 0; t < m; ++t)
      derivative.logprob[t] =
          (t / std::size_t(shape.sampled) % 2 == 0 ? 1.0F : -1.0F) / float(columns);
    runner.forward_backward(
        *model.policy, micro_batch, 1.0, derivative,
        [&](model::TensorId tensor, std::int64_t first, std::span<const float> values) {
          sum->add(tensor, first, values);
        });
    sum->end_micro_batch();
  };
  do {
    sum->start();
    if (apart) {
      std::atomic<std::size_t> next{0};
      on_threads(shape.threads, [&](int thread) {
        for (std::size_t i = next++; i < micro_batches.size(); i = next++)
          run(runners[std::size_t(thread)]->micro_batches, micro_batches[i]);
      });
    } else {
      runners.front()->team.lead(model::on_new_threads, [&] {
        for (const model::MicroBatch& micro_batch : micro_batches)
          run(runners.front()->micro_batches, micro_batch);
      });
    }
  } while (sum->finish(alone) == model::GradientSum::Outcome::repeat);
  model::apply_adamw(layout, OptimizerSection{}, 1e-6, sum->gradient(), model.weights->span(),
                     state, threads);
  model.policy->renew(PolicyVersion{std::uint64_t(state.step)}, threads);
  return {{"seconds", since(start)}, {"tokens", columns}};
}

}  // namespace rollcall::bench
