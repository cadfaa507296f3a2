// (long: all passes of one model) Passes over rows in device memory. Products of the backward pass
// are products of transposed operands, as in src/model.
#include "benchmarks/gpu_check/transformer.hpp"

#include "kernels/cuda/device_memory.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <stdexcept>

namespace rollcall::gpu_check {
namespace {

using kernels::AttentionRow;
using kernels::Bf16;
using kernels::ExecutionContext;
using kernels::cuda::Rows16;
using kernels::cuda::stepped;
namespace device = kernels::cuda;

constexpr int kExponent = 34;  ///< of the integer sum: gradients of a mean over tokens are below
                               ///< 2^28
constexpr std::int64_t kHeadRows = 512;
constexpr double kBeta1 = 0.9, kBeta2 = 0.95, kEpsilon = 1e-8;
constexpr float kNormEpsilon = 1e-6F;

void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess)
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}

template <class T>
struct OnDevice {
  std::shared_ptr<void> memory;
  std::int64_t count = 0;
  explicit OnDevice(std::int64_t size)
      : memory(device_memory(std::size_t(size) * sizeof(T))), count(size) {}
  T* get() const { return static_cast<T*>(memory.get()); }
  void zero() const { check(cudaMemset(get(), 0, std::size_t(count) * sizeof(T)), "cudaMemset"); }
  std::vector<T> values() const {
    std::vector<T> all(static_cast<std::size_t>(count));
    copy(all.data(), get(), all.size() * sizeof(T));
    return all;
  }
};

struct Parameter {
  std::int64_t rows, columns;
  int slices;
  OnDevice<float> weight, m, v;
  OnDevice<std::int64_t> sum;
  OnDevice<Bf16> published;
  Parameter(std::int64_t o, std::int64_t k, int parts)
      : rows(o),
        columns(k),
        slices(parts),
        weight(o * k),
        m(o * k),
        v(o * k),
        sum(o * k),
        published(o * stepped(k)) {
    m.zero(), v.zero(), sum.zero();
  }
  Rows16 rows16() const { return {published.get(), rows, columns}; }
};

/// Rows of a pass that the backward pass needs again, of a layer.
struct Layer {
  float *x, *h, *q, *k, *v, *a, *y, *h2, *gate, *up, *inner;
};

struct Pass {
  std::int64_t n;
  const std::int32_t *token, *position;
  const AttentionRow* rows;
  std::vector<Layer> layers;
  float *x, *normed;
};

}  // namespace

std::shared_ptr<void> device_memory(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, std::max<std::size_t>(bytes, 16)), "cudaMalloc");
  return {memory, [](void* taken) { cudaFree(taken); }};
}

void copy(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
}

void* Arena::take_bytes(std::size_t bytes) {
  const std::size_t place = used_;
  used_ += (bytes + 255) / 256 * 256;
  if (used_ > bytes_) throw std::runtime_error("the work memory of a pass is too small");
  return static_cast<std::byte*>(memory_.get()) + place;
}

struct Transformer::State {
  Shape shape;
  ExecutionContext context{};
  std::map<std::string, Parameter> all{};
  Arena arena;
  OnDevice<std::byte> pages;
  OnDevice<const void*> table;  ///< [sequences, pages of one]
  OnDevice<float> cos, sin, scratch, largest;
  std::int64_t pages_each, page_bytes, steps = 0;

  State(const Shape& s, std::int64_t sequences, std::size_t work_bytes)
      : shape(s),
        arena(work_bytes),
        pages(sequences * kernels::pages_of(s.positions) * s.layers * device::page_bytes(s.heads)),
        table(sequences * kernels::pages_of(s.positions)),
        cos(s.positions * (s.heads.head_dim / 2)),
        sin(cos.count),
        // of the largest parameter
        scratch(std::max({s.vocabulary, s.inner, s.q_width()}) * s.hidden),
        largest(1),
        pages_each(kernels::pages_of(s.positions)),
        page_bytes(s.layers * device::page_bytes(s.heads)) {
    std::vector<const void*> places;
    for (std::int64_t p = 0; p < table.count; ++p) places.push_back(pages.get() + p * page_bytes);
    copy(table.get(), places.data(), places.size() * sizeof(void*));
    std::vector<float> c, t;
    for (std::int64_t i = 0; i < cos.count; ++i) {
      const std::int64_t half = s.heads.head_dim / 2;
      const double angle = s.angle(i / half, i % half, half);
      c.push_back(float(std::cos(angle))), t.push_back(float(std::sin(angle)));
    }
    copy(cos.get(), c.data(), c.size() * sizeof(float)),
        copy(sin.get(), t.data(), t.size() * sizeof(float));
    largest.zero();
    const auto add = [&](const std::string& name, std::int64_t o, std::int64_t k, int slices) {
      all.try_emplace(name, o, k, slices);
    };
    add("embedding", s.vocabulary, s.hidden, 1), add("norm", 1, s.hidden, 1);
    if (!s.tied) add("head", s.vocabulary, s.hidden, 1);
    for (std::int64_t l = 0; l < s.layers; ++l) {
      const std::string p = std::to_string(l) + ".";
      add(p + "norm1", 1, s.hidden, 1), add(p + "norm2", 1, s.hidden, 1),
          add(p + "q", s.q_width(), s.hidden, 1), add(p + "k", s.kv_width(), s.hidden, 1);
      add(p + "v", s.kv_width(), s.hidden, 1), add(p + "o", s.hidden, s.q_width(), 8),
          add(p + "gate", s.inner, s.hidden, 1);
      add(p + "up", s.inner, s.hidden, 1), add(p + "down", s.hidden, s.inner, 8);
    }
  }

  Parameter& head() { return all.at(shape.tied ? "embedding" : "head"); }

  Pass begin(const Tokens& rows) {
    arena.give_back(0);
    Pass pass{rows.count(),
              arena.upload<std::int32_t>(rows.token),
              arena.upload<std::int32_t>(rows.position),
              nullptr,
              {},
              nullptr,
              nullptr};
    std::vector<AttentionRow> keys;
    for (std::int64_t i = 0; i < pass.n; ++i)
      keys.push_back({table.get() + rows.sequence[std::size_t(i)] * pages_each,
                      rows.position[std::size_t(i)] + 1});
    pass.rows = arena.upload<AttentionRow>(keys);
    return pass;
  }

  /// y [n, outputs] = added + x W^T of the weights named.
  void add_linear(const std::string& name, const Rows16& x, const float* added, float* y) {
    const Parameter& p = all.at(name);
    const auto mark = arena.mark();
    device::product(context, x, p.rows16(), nullptr, p.slices, y,
                    arena.take<float>(device::sliced_floats(x.count, p.rows, p.slices)), added);
    arena.give_back(mark);
  }
  /// y [n, outputs] of weights that are not cut in slices, in one launch.
  struct Named {
    std::string name;
    float* y;
  };
  void linears(const Rows16& x, std::initializer_list<Named> named) {
    std::vector<device::Factor> factors;
    for (const auto& [name, y] : named) factors.push_back({all.at(name).rows16(), nullptr, y});
    device::products(context, x, factors);
  }
  Rows16 rounded(const float* x, std::int64_t n, std::int64_t k) {
    Bf16* to = arena.take<Bf16>(n * stepped(k));
    device::round_rows(context, x, n, k, to);
    return {to, n, k};
  }
  Rows16 turned(const float* x, std::int64_t n, std::int64_t k) {
    Bf16* to = arena.take<Bf16>(k * stepped(n));
    device::round_transposed(context, x, n, k, to);
    return {to, k, n};
  }

  /// `keep`: all rows stay for the backward pass.
  void forward(Pass& pass, bool keep) {
    const Shape& s = shape;
    const std::int64_t n = pass.n;
    pass.x = arena.take<float>(n * s.hidden), pass.normed = arena.take<float>(n * s.hidden);
    Bf16* const rounded = arena.take<Bf16>(n * stepped(std::max({s.hidden, s.q_width(), s.inner})));
    device::embed(context, all.at("embedding").rows16(), pass.token, n, pass.x);
    for (std::int64_t l = 0; l < s.layers; ++l) {
      const std::string p = std::to_string(l) + ".";
      const auto mark = arena.mark();
      const auto take = [&](std::int64_t width) { return arena.take<float>(n * width); };
      Layer a{pass.x,
              take(s.hidden),
              take(s.q_width()),
              take(s.kv_width()),
              take(s.kv_width()),
              take(s.q_width()),
              take(s.hidden),
              take(s.hidden),
              take(s.inner),
              take(s.inner),
              take(s.inner)};
      if (!keep) a.y = a.x;
      device::rms_norm(context, a.x, n, s.hidden, all.at(p + "norm1").weight.get(), kNormEpsilon,
                       a.h, rounded);
      linears({rounded, n, s.hidden}, {{p + "q", a.q}, {p + "k", a.k}, {p + "v", a.v}});
      device::rope(context, a.q, n, s.heads.q_heads, s.heads.head_dim, pass.position, cos.get(),
                   sin.get(), 1);
      device::rope(context, a.k, n, s.heads.kv_heads, s.heads.head_dim, pass.position, cos.get(),
                   sin.get(), 1);
      device::store_positions(context, a.k, a.v, pass.rows, n, s.heads,
                              l * device::page_bytes(s.heads));
      device::attention(context, a.q, pass.rows, n, s.heads,
                        {l * device::page_bytes(s.heads), 0, s.heads.kv_heads}, a.a, rounded);
      add_linear(p + "o", {rounded, n, s.q_width()}, a.x, a.y);
      device::rms_norm(context, a.y, n, s.hidden, all.at(p + "norm2").weight.get(), kNormEpsilon,
                       a.h2, rounded);
      linears({rounded, n, s.hidden}, {{p + "gate", a.gate}, {p + "up", a.up}});
      device::swiglu(context, a.gate, a.up, n, s.inner, a.inner, rounded);
      if (keep) pass.x = take(s.hidden);
      add_linear(p + "down", {rounded, n, s.inner}, a.y, pass.x);
      if (keep) pass.layers.push_back(a);
      else arena.give_back(mark);
    }
    device::rms_norm(context, pass.x, n, s.hidden, all.at("norm").weight.get(), kNormEpsilon,
                     pass.normed);
  }
  void keep_rows(float* to, const float* from, std::int64_t count) {
    check(cudaMemcpyAsync(to, from, std::size_t(count) * sizeof(float), cudaMemcpyDeviceToDevice,
                          static_cast<cudaStream_t>(context.stream)),
          "cudaMemcpyAsync");
  }

  struct Head {
    float *logits, *logprob, *entropy, *lse;
    kernels::BlockMass* blocks;
  };
  Head run_head(const float* normed, std::int64_t n, const std::int32_t* target) {
    const std::int64_t v = shape.vocabulary;
    Head h{arena.take<float>(n * v), arena.take<float>(n), arena.take<float>(n),
           arena.take<float>(n),
           arena.take<kernels::BlockMass>(n * (kernels::vocabulary_blocks(v) + 1))};
    device::product(context, rounded(normed, n, shape.hidden), head().rows16(), nullptr, 1,
                    h.logits);
    device::token_columns(context, h.logits, n, v, 1.0F, target, h.logprob, h.entropy, h.lse,
                          h.blocks, arena.take<float>(device::column_floats(n, v)));
    return h;
  }

  /// The gradient dy^T x of a parameter joins its sum.
  void join(Parameter& p, const Rows16& dy_turned, const Rows16& x_turned) {
    device::product(context, dy_turned, x_turned, nullptr, 1, scratch.get());
    device::accumulate_fixed_point(context, scratch.get(), p.rows * p.columns, kExponent,
                                   p.sum.get(), largest.get());
  }
  /// dx [n, inputs] = dy W, and the parameter's own gradient.
  float* linear_backward(Parameter& p, const float* x, const float* dy, std::int64_t n) {
    float* dx = arena.take<float>(n * p.columns);
    const auto mark = arena.mark();
    join(p, turned(dy, n, p.rows), turned(x, n, p.columns));
    arena.give_back(mark);
    device::product(context, rounded(dy, n, p.rows), turned(p.weight.get(), p.rows, p.columns),
                    nullptr, 1, dx);
    arena.give_back(mark);
    return dx;
  }
  float* norm_backward(const std::string& name, const float* x, const float* dy, std::int64_t n) {
    Parameter& p = all.at(name);
    float *dx = arena.take<float>(n * shape.hidden), *dweight = arena.take<float>(shape.hidden);
    check(cudaMemsetAsync(dweight, 0, std::size_t(shape.hidden) * sizeof(float),
                          static_cast<cudaStream_t>(context.stream)),
          "cudaMemsetAsync");
    device::rms_norm_backward(context, x, n, shape.hidden, p.weight.get(), kNormEpsilon, dy, dx,
                              dweight);
    device::accumulate_fixed_point(context, dweight, shape.hidden, kExponent, p.sum.get(),
                                   largest.get());
    return dx;
  }

  /// From the gradient by the last block's output [n, hidden] down to the embedding.
  void backward(const Pass& pass, const Tokens& tokens, float* dx) {
    const Shape& s = shape;
    const std::int64_t n = pass.n, d = s.heads.head_dim;
    std::vector<device::AttentionSequence> sequences;
    for (std::int64_t first = 0, last = 0; first < n; first = last) {
      while (last < n && tokens.sequence[std::size_t(last)] == tokens.sequence[std::size_t(first)])
        ++last;
      sequences.push_back({-1, 0, first, last - first});
    }
    const device::AttentionTileTable cut = device::attention_tiles(sequences);
    const device::AttentionTiles tiles{arena.upload<device::AttentionSequence>(sequences),
                                       arena.upload<device::AttentionTiles::Tile>(cut.tiles),
                                       std::int64_t(cut.tiles.size()), nullptr};
    for (std::int64_t l = s.layers; l-- > 0;) {
      const std::string p = std::to_string(l) + ".";
      const Layer& a = pass.layers[std::size_t(l)];
      const auto mark = arena.mark();
      const float* dinner = linear_backward(all.at(p + "down"), a.inner, dx, n);
      float *dgate = arena.take<float>(n * s.inner), *dup = arena.take<float>(n * s.inner);
      device::swiglu_backward(context, a.gate, a.up, n, s.inner, dinner, dgate, dup);
      float* dh = linear_backward(all.at(p + "gate"), a.h2, dgate, n);
      device::add(context, linear_backward(all.at(p + "up"), a.h2, dup, n), n * s.hidden, dh);
      device::add(context, norm_backward(p + "norm2", a.y, dh, n), n * s.hidden, dx);
      const float* da = linear_backward(all.at(p + "o"), a.a, dx, n);
      float *dq = arena.take<float>(n * s.q_width()), *dk = arena.take<float>(n * s.kv_width()),
            *dv = arena.take<float>(n * s.kv_width());
      device::attention_backward(context, a.q, a.k, a.v, da, n, s.heads, tiles, dq, dk, dv);
      device::rope(context, dq, n, s.heads.q_heads, d, pass.position, cos.get(), sin.get(), -1);
      device::rope(context, dk, n, s.heads.kv_heads, d, pass.position, cos.get(), sin.get(), -1);
      dh = linear_backward(all.at(p + "q"), a.h, dq, n);
      device::add(context, linear_backward(all.at(p + "k"), a.h, dk, n), n * s.hidden, dh);
      device::add(context, linear_backward(all.at(p + "v"), a.h, dv, n), n * s.hidden, dh);
      device::add(context, norm_backward(p + "norm1", a.x, dh, n), n * s.hidden, dx);
      arena.give_back(mark);
    }
    device::embed_backward(context, dx, pass.token, n, s.hidden, std::ldexp(1.0, kExponent),
                           all.at("embedding").sum.get());
  }
};

Transformer::Transformer(const Shape& shape, std::int64_t sequences, std::size_t work_bytes)
    : state_(std::make_unique<State>(shape, sequences, work_bytes)) {
  std::mt19937 engine(7);
  for (auto& [name, p] : state_->all) {
    std::normal_distribution<float> normal(
        0.0F, name == "embedding" ? 0.02F : 1.0F / std::sqrt(float(p.columns)));
    std::vector<float> values(static_cast<std::size_t>(p.rows * p.columns), 1.0F);
    if (p.rows > 1)
      for (float& x : values) x = normal(engine);
    set(name, values);
  }
}
Transformer::~Transformer() = default;

void Transformer::set(const std::string& parameter, std::span<const float> values) {
  Parameter& p = state_->all.at(parameter);
  copy(p.weight.get(), values.data(), values.size_bytes());
  device::round_rows(state_->context, p.weight.get(), p.rows, p.columns, p.published.get());
}

std::vector<float> Transformer::gradient(const std::string& parameter) {
  Parameter& p = state_->all.at(parameter);
  device::from_fixed_point(state_->context, p.sum.get(), p.rows * p.columns, kExponent,
                           state_->scratch.get());
  std::vector<float> values(static_cast<std::size_t>(p.rows * p.columns));
  copy(values.data(), state_->scratch.get(), values.size() * sizeof(float));
  return values;
}

std::int64_t Transformer::parameters() const {
  std::int64_t count = 0;
  for (const auto& [name, p] : state_->all) count += p.rows * p.columns;
  return count;
}

std::vector<std::int32_t> Transformer::draw(const Tokens& rows, std::span<const float> u,
                                            std::vector<float>* logprob) {
  State& s = *state_;
  Pass pass = s.begin(rows);
  s.forward(pass, false);
  const std::vector<std::int32_t> none(rows.token.size(), -1);
  std::vector<std::int32_t> drawn(rows.token.size());
  if (logprob) logprob->resize(rows.token.size());
  for (std::int64_t first = 0; first < pass.n; first += kHeadRows) {
    const auto mark = s.arena.mark();
    const std::int64_t n = std::min(kHeadRows, pass.n - first);
    const auto part = [&](auto& all) {
      return std::span(all).subspan(std::size_t(first), std::size_t(n));
    };
    const auto head = s.run_head(pass.normed + first * s.shape.hidden, n,
                                 s.arena.upload<std::int32_t>(part(none)));
    auto* token = s.arena.take<std::int32_t>(n);
    device::sample(s.context, head.logits, n, s.shape.vocabulary, {s.shape.vocabulary, 1.0F},
                   head.blocks, s.arena.upload<float>(part(u)), token);
    copy(drawn.data() + first, token, std::size_t(n) * sizeof(std::int32_t));
    if (logprob) {
      device::token_columns(s.context, head.logits, n, s.shape.vocabulary, 1.0F, token,
                            head.logprob, head.entropy, head.lse, head.blocks);
      copy(logprob->data() + first, head.logprob, std::size_t(n) * sizeof(float));
    }
    s.arena.give_back(mark);
  }
  return drawn;
}

Transformer::Graph Transformer::draw_graph(const Tokens& rows, std::span<const float> u) {
  State& s = *state_;
  Pass pass = s.begin(rows);
  if (pass.n > kHeadRows)
    throw std::runtime_error("a graph draws from the rows that logits exist for at a time");
  const std::vector<std::int32_t> none(rows.token.size(), -1);
  const auto* target = s.arena.upload<std::int32_t>(none);
  const auto* numbers = s.arena.upload<float>(u);
  auto* drawn = s.arena.take<std::int32_t>(pass.n);
  ExecutionContext capturing;
  capturing.stream = device::new_stream();
  std::swap(s.context, capturing);  // the default stream is not captured
  const auto graph = std::make_shared<device::Graph>(s.context, [&] {
    s.forward(pass, false);
    const auto head = s.run_head(pass.normed, pass.n, target);
    device::sample(s.context, head.logits, pass.n, s.shape.vocabulary, {s.shape.vocabulary, 1.0F},
                   head.blocks, numbers, drawn);
  });
  std::swap(s.context, capturing);
  return {[graph, &s] { graph->launch(s.context); }, drawn};
}

Transformer::Columns Transformer::learn(const Tokens& rows, std::span<const std::int32_t> target,
                                        std::span<const float> coefficient) {
  State& s = *state_;
  Pass pass = s.begin(rows);
  s.forward(pass, !coefficient.empty());
  Columns columns{std::vector<float>(rows.token.size()), std::vector<float>(rows.token.size())};
  float* dnormed = coefficient.empty() ? nullptr : s.arena.take<float>(pass.n * s.shape.hidden);
  const std::vector<float> zeros(rows.token.size(), 0.0F);
  for (std::int64_t first = 0; first < pass.n; first += kHeadRows) {
    const auto mark = s.arena.mark();
    const std::int64_t n = std::min(kHeadRows, pass.n - first), v = s.shape.vocabulary;
    const auto part = [&](auto& all) {
      return std::span(all).subspan(std::size_t(first), std::size_t(n));
    };
    const float* normed = pass.normed + first * s.shape.hidden;
    const auto* targets = s.arena.upload<std::int32_t>(part(target));
    const auto head = s.run_head(normed, n, targets);
    copy(columns.logprob.data() + first, head.logprob, std::size_t(n) * sizeof(float)),
        copy(columns.entropy.data() + first, head.entropy, std::size_t(n) * sizeof(float));
    if (dnormed) {
      float* dlogits = s.arena.take<float>(n * v);
      device::token_columns_backward(s.context, head.logits, n, v, 1.0F, targets, head.lse,
                                     head.entropy, s.arena.upload<float>(part(coefficient)),
                                     s.arena.upload<float>(part(zeros)), dlogits);
      s.keep_rows(dnormed + first * s.shape.hidden, s.linear_backward(s.head(), normed, dlogits, n),
                  n * s.shape.hidden);
    }
    s.arena.give_back(mark);
  }
  if (dnormed) s.backward(pass, rows, s.norm_backward("norm", pass.x, dnormed, pass.n));
  return columns;
}

Transformer::Columns Transformer::columns(const Tokens& rows,
                                          std::span<const std::int32_t> target) {
  return learn(rows, target, {});
}

double Transformer::update(double lr, double most) {
  State& s = *state_;
  double squares = 0.0;
  const auto block = std::int64_t(kernels::kNormBlock);
  s.arena.give_back(0);
  for (const auto& [name, p] : s.all) {
    const std::int64_t count = p.rows * p.columns, blocks = (count + block - 1) / block;
    device::from_fixed_point(s.context, p.sum.get(), count, kExponent, s.scratch.get());
    auto* of_blocks = s.arena.take<double>(blocks);
    device::sums_of_squares(s.context, s.scratch.get(), count, of_blocks);
    std::vector<double> values(static_cast<std::size_t>(blocks));
    copy(values.data(), of_blocks, values.size() * sizeof(double));
    for (const double x : values) squares += x;
    s.arena.give_back(0);
  }
  const double norm = std::sqrt(squares), scale = norm > most ? most / norm : 1.0;
  ++s.steps;
  for (const auto& [name, p] : s.all) {
    device::from_fixed_point(s.context, p.sum.get(), p.rows * p.columns, kExponent,
                             s.scratch.get());
    device::adamw(s.context, p.weight.get(), p.rows, p.columns, s.scratch.get(), p.m.get(),
                  p.v.get(),
                  {.lr = lr,
                   .beta1 = kBeta1,
                   .beta2 = kBeta2,
                   .eps = kEpsilon,
                   .weight_decay = 0.0,
                   .gradient_scale = scale,
                   .step = s.steps},
                  p.published.get());
    p.sum.zero();
  }
  return norm;
}

}  // namespace rollcall::gpu_check
