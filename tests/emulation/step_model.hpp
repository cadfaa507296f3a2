// A small transformer's passes, written once over the device's kernels and the plain loops, for the
// test of whole steps.
#pragma once

#include "kernels/on_device.hpp"

#include <cstddef>
#include <map>
#include <string>

namespace rollcall::kernels {

inline constexpr std::int64_t kHidden = 64, kInner = 128, kVocabulary = 96, kLayers = 2,
                              kPrompt = 3, kAnswer = 4, kTokens = kPrompt + kAnswer,
                              kSequences = 16;
inline constexpr HeadShape kHeads{4, 2, 16};
inline constexpr std::int64_t kQ = 64, kKV = 32;

struct Matrix {
  std::int64_t o, k;
  int slices = 1;
};
inline const std::map<std::string, Matrix> kMatrices = [] {
  std::map<std::string, Matrix> all{{"embedding", {kVocabulary, kHidden}},
                                    {"head", {kVocabulary, kHidden}},
                                    {"norm", {1, kHidden}}};
  for (const char* layer : {"0.", "1."})
    for (const auto& [name, matrix] : std::map<std::string, Matrix>{{"norm1", {1, kHidden}},
                                                                    {"norm2", {1, kHidden}},
                                                                    {"q", {kQ, kHidden}},
                                                                    {"k", {kKV, kHidden}},
                                                                    {"v", {kKV, kHidden}},
                                                                    {"o", {kHidden, kQ, 8}},
                                                                    {"gate", {kInner, kHidden}},
                                                                    {"up", {kInner, kHidden}},
                                                                    {"down", {kHidden, kInner, 8}}})
      all[layer + name] = matrix;
  return all;
}();
using Parameters = std::map<std::string, Floats>;

inline Parameters first_weights() {
  Parameters all;
  unsigned seed = 100;
  for (const auto& [name, m] : kMatrices) {
    all[name] = random_floats(m.o * m.k, ++seed, m.o == 1 ? 0.1F : 1.0F / std::sqrt(float(m.k)));
    if (m.o == 1)
      for (float& x : all[name]) x += 1.0F;
  }
  return all;
}

inline Floats transposed(const Floats& x, std::int64_t n, std::int64_t k) {
  Floats y(x.size());
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < k; ++j) y[std::size_t(j * n + i)] = x[std::size_t(i * k + j)];
  return y;
}

/// Rows of tokens: whose they are, and where in the sequence.
struct Rows {
  std::vector<std::int32_t> token, sequence, position;
  std::int64_t count() const { return std::int64_t(token.size()); }
};

/// The operations that differ between the device and the plain loops; the rest is the table of
/// either.
struct Math {
  const KernelSet* set;
  virtual ~Math() = default;
  virtual Floats embed(const Floats& table, const Rows& rows) = 0;
  virtual Floats product(const Floats& x, std::int64_t n, const Floats& w, std::int64_t o,
                         std::int64_t k, int slices) = 0;
  /// Stores k and v, then attends.
  virtual Floats attention(std::int64_t layer, const Floats& q, const Floats& k, const Floats& v,
                           const Rows& rows) = 0;
  virtual void attention_backward(const float* q, const float* k, const float* v, const float* dout,
                                  float* dq, float* dk, float* dv) = 0;
};

struct Plain : Math {
  std::vector<Floats> pages{std::size_t(kLayers * kSequences),
                            Floats(std::size_t(page_bytes_fp32(kHeads)) / 4)};
  Plain() { set = &reference_kernels(); }
  Floats embed(const Floats& table, const Rows& rows) override {
    Floats x;
    for (const std::int32_t token : rows.token)
      x.insert(x.end(), table.begin() + token * kHidden, table.begin() + (token + 1) * kHidden);
    return x;
  }
  Floats product(const Floats& x, std::int64_t n, const Floats& w, std::int64_t o, std::int64_t k,
                 int) override {
    Floats y(std::size_t(n * o));
    linear_of(*set, x.data(), n, k, packed(w, o, k).data(), o, nullptr, 1, y.data());
    return y;
  }
  Floats attention(std::int64_t layer, const Floats& q, const Floats& k, const Floats& v,
                   const Rows& rows) override {
    std::vector<const void*> places;
    for (std::int64_t i = 0; i < rows.count(); ++i) {
      Floats& page = pages[std::size_t(layer * kSequences + rows.sequence[std::size_t(i)])];
      store_position_fp32(k.data() + i * kKV, v.data() + i * kKV, kHeads,
                          rows.position[std::size_t(i)], page.data());
      places.push_back(page.data());
    }
    std::vector<AttentionRow> asked;
    for (std::size_t i = 0; i < places.size(); ++i)
      asked.push_back({&places[i], rows.position[i] + 1});
    ExecutionContext context;
    Floats out(q.size());
    set->attention(context, q.data(), asked.data(), rows.count(), kHeads, {0, 0, kHeads.kv_heads},
                   out.data());
    return out;
  }
  void attention_backward(const float* q, const float* k, const float* v, const float* dout,
                          float* dq, float* dk, float* dv) override {
    ExecutionContext context;
    set->attention_backward(context, q, k, v, dout, kTokens, kTokens, kHeads, 0, kHeads.kv_heads,
                            dq, dk, dv);
  }
};

struct Device : Math {
  OnDevice<std::byte> pages{kLayers * kSequences * cuda::page_bytes(kHeads)};
  Device() { set = &device_set(); }
  Floats embed(const Floats& table, const Rows& rows) override {
    ExecutionContext context;
    const OnDevice<float> on_table(table), x(rows.count() * kHidden);
    const OnDevice<Bf16> rounded(kVocabulary * kHidden);
    const OnDevice<std::int32_t> token(rows.token);
    cuda::round_rows(context, on_table, kVocabulary, kHidden, rounded);
    cuda::embed(context, {rounded, kVocabulary, kHidden}, token, rows.count(), x);
    return x.values();
  }
  Floats product(const Floats& x, std::int64_t n, const Floats& w, std::int64_t o, std::int64_t k,
                 int slices) override {
    ExecutionContext context;
    const OnDevice<float> on_x(x), on_w(w), y(n * o);
    const OnDevice<Bf16> rounded(o * cuda::stepped(k));
    cuda::round_rows(context, on_w, o, k, rounded);
    cuda::linear(context, on_x, n, {rounded, o, k}, nullptr, slices, y);
    return y.values();
  }
  Floats attention(std::int64_t layer, const Floats& q, const Floats& k, const Floats& v,
                   const Rows& rows) override {
    ExecutionContext context;
    std::vector<const void*> places;
    for (const std::int32_t s : rows.sequence)
      places.push_back(static_cast<std::byte*>(pages) +
                       (layer * kSequences + s) * cuda::page_bytes(kHeads));
    const OnDevice<const void*> table(places);
    std::vector<AttentionRow> asked;
    for (std::int64_t i = 0; i < rows.count(); ++i)
      asked.push_back({table + i, rows.position[std::size_t(i)] + 1});
    const OnDevice<AttentionRow> on_rows(asked);
    const OnDevice<float> on_q(q), on_k(k), on_v(v), out(std::int64_t(q.size()));
    cuda::store_positions(context, on_k, on_v, on_rows, rows.count(), kHeads, 0);
    cuda::attention(context, on_q, on_rows, rows.count(), kHeads, {0, 0, kHeads.kv_heads}, out);
    return out.values();
  }
  void attention_backward(const float* q, const float* k, const float* v, const float* dout,
                          float* dq, float* dk, float* dv) override {
    ExecutionContext context;
    const OnDevice<float> on_q(q, kTokens * kQ), on_k(k, kTokens * kKV), on_v(v, kTokens * kKV),
        on_dout(dout, kTokens * kQ);
    const OnDevice<float> on_dq(kTokens * kQ), on_dk(kTokens * kKV), on_dv(kTokens * kKV);
    kernels::attention_backward(context, on_q, on_k, on_v, on_dout, kTokens, kTokens, kHeads, on_dq,
                                on_dk, on_dv);
    on_dq.read(dq), on_dk.read(dk), on_dv.read(dv);
  }
};

/// A model's passes over rows; what the backward pass needs is kept by name.
class Model {
 public:
  Model(Math& math, const Parameters& weights) : math_(math), w_(weights) {
    for (std::int64_t i = 0; i < kTokens * 8; ++i)
      cos_.push_back(std::cos(0.3F * float(i / 8) / float(1 + i % 8))),
          sin_.push_back(std::sin(0.3F * float(i / 8) / float(1 + i % 8)));
  }

  Floats logits(const Rows& rows) {
    rows_ = rows, n_ = rows.count();
    Floats x = math_.embed(w_.at("embedding"), rows);
    for (std::int64_t l = 0; l < kLayers; ++l) {
      const std::string p = std::to_string(l) + ".";
      kept_[p + "x"] = x;
      const Floats& h = kept_[p + "h1"] = norm(p + "norm1", x);
      Floats q = linear(p + "q", h), k = linear(p + "k", h);
      rope(q, kHeads.q_heads, 1), rope(k, kHeads.kv_heads, 1);
      kept_[p + "v"] = linear(p + "v", h), kept_[p + "q"] = q, kept_[p + "k"] = k;
      kept_[p + "a"] = math_.attention(l, q, k, kept_[p + "v"], rows);
      add(x, linear(p + "o", kept_[p + "a"]));
      kept_[p + "y"] = x;
      const Floats& h2 = kept_[p + "h2"] = norm(p + "norm2", x);
      kept_[p + "gate"] = linear(p + "gate", h2), kept_[p + "up"] = linear(p + "up", h2);
      Floats& inner = kept_[p + "inner"] = Floats(std::size_t(n_ * kInner));
      ExecutionContext context;
      math_.set->swiglu(context, kept_[p + "gate"].data(), kept_[p + "up"].data(), n_, kInner,
                        inner.data());
      add(x, linear(p + "down", inner));
    }
    kept_["x"] = x;
    return linear("head", kept_["h"] = norm("norm", x));
  }

  /// Derivatives of all weights, of whole sequences one after the other.
  Parameters backward(const Floats& dlogits) {
    for (const auto& [name, m] : kMatrices) d_[name] = Floats(std::size_t(m.o * m.k));
    Floats dx = norm_backward("norm", kept_["x"], linear_backward("head", kept_["h"], dlogits));
    for (std::int64_t l = kLayers; l-- > 0;) {
      const std::string p = std::to_string(l) + ".";
      const Floats dinner = linear_backward(p + "down", kept_[p + "inner"], dx);
      Floats dgate(dinner.size()), dup(dinner.size());
      ExecutionContext context;
      math_.set->swiglu_backward(context, kept_[p + "gate"].data(), kept_[p + "up"].data(), n_,
                                 kInner, dinner.data(), dgate.data(), dup.data());
      Floats dh = linear_backward(p + "gate", kept_[p + "h2"], dgate);
      add(dh, linear_backward(p + "up", kept_[p + "h2"], dup));
      add(dx, norm_backward(p + "norm2", kept_[p + "y"], dh));
      const Floats da = linear_backward(p + "o", kept_[p + "a"], dx);
      Floats dq(da.size()), dk(std::size_t(n_ * kKV)), dv(dk.size());
      for (std::int64_t r = 0; r < n_; r += kTokens)
        math_.attention_backward(
            &kept_[p + "q"][std::size_t(r * kQ)], &kept_[p + "k"][std::size_t(r * kKV)],
            &kept_[p + "v"][std::size_t(r * kKV)], &da[std::size_t(r * kQ)],
            &dq[std::size_t(r * kQ)], &dk[std::size_t(r * kKV)], &dv[std::size_t(r * kKV)]);
      rope(dq, kHeads.q_heads, -1), rope(dk, kHeads.kv_heads, -1);
      dh = linear_backward(p + "q", kept_[p + "h1"], dq);
      add(dh, linear_backward(p + "k", kept_[p + "h1"], dk)),
          add(dh, linear_backward(p + "v", kept_[p + "h1"], dv));
      add(dx, norm_backward(p + "norm1", kept_[p + "x"], dh));
    }
    for (std::int64_t i = 0; i < n_ * kHidden; ++i)
      d_["embedding"][std::size_t(rows_.token[std::size_t(i / kHidden)] * kHidden + i % kHidden)] +=
          dx[std::size_t(i)];
    return d_;
  }

 private:
  static void add(Floats& to, const Floats& x) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += x[i];
  }
  Floats linear(const std::string& name, const Floats& x) {
    const Matrix& m = kMatrices.at(name);
    return math_.product(x, n_, w_.at(name), m.o, m.k, m.slices);
  }
  Floats linear_backward(const std::string& name, const Floats& x, const Floats& dy) {
    const Matrix& m = kMatrices.at(name);
    d_[name] = math_.product(transposed(dy, n_, m.o), m.o, transposed(x, n_, m.k), m.k, n_, 1);
    return math_.product(dy, n_, transposed(w_.at(name), m.o, m.k), m.k, m.o, 1);
  }
  Floats norm(const std::string& name, const Floats& x) {
    ExecutionContext context;
    Floats y(x.size());
    math_.set->rms_norm(context, x.data(), n_, kHidden, w_.at(name).data(), 1e-6F, y.data());
    return y;
  }
  Floats norm_backward(const std::string& name, const Floats& x, const Floats& dy) {
    ExecutionContext context;
    Floats dx(x.size());
    math_.set->rms_norm_backward(context, x.data(), n_, kHidden, w_.at(name).data(), 1e-6F,
                                 dy.data(), dx.data(), d_[name].data());
    return dx;
  }
  void rope(Floats& x, std::int64_t heads, int direction) {
    ExecutionContext context;
    math_.set->rope(context, x.data(), n_, heads, kHeads.head_dim, rows_.position.data(),
                    cos_.data(), sin_.data(), direction);
  }

  Math& math_;
  const Parameters& w_;
  Floats cos_, sin_;
  Rows rows_;
  std::int64_t n_ = 0;
  std::map<std::string, Floats> kept_;
  Parameters d_;
};

}  // namespace rollcall::kernels
