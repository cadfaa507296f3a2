// A transformer that lives in device memory: what the GPU check trains and times, made of the
// device's kernels and nothing else.
#pragma once

#include "kernels/cuda/device_kernels.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rollcall::gpu_check {

/// Qwen3's blocks without its norms of queries and keys. Embedding and head share their weights
/// where `tied`.
struct Shape {
  std::string name;
  std::int64_t hidden, inner, layers;
  kernels::HeadShape heads;
  std::int64_t vocabulary, positions;
  bool tied = true;
  /// Of the rotary embedding, of pair j of `half`.
  double (*angle)(std::int64_t position, std::int64_t j, std::int64_t half) =
      [](std::int64_t position, std::int64_t j, std::int64_t half) {
        return double(position) * std::pow(1e6, -double(j) / double(half));
      };
  std::int64_t q_width() const { return heads.q_heads * heads.head_dim; }
  std::int64_t kv_width() const { return heads.kv_heads * heads.head_dim; }
};

/// Device memory, freed with its owner; `count` elements of T that nobody has written. Throws
/// std::runtime_error.
std::shared_ptr<void> device_memory(std::size_t bytes);
void copy(void* to, const void* from, std::size_t bytes);

/// One block of device memory, handed out piece by piece and taken back to a mark.
class Arena {
 public:
  explicit Arena(std::size_t bytes) : memory_(device_memory(bytes)), bytes_(bytes) {}
  template <class T>
  T* take(std::int64_t count) {
    return static_cast<T*>(take_bytes(std::size_t(count) * sizeof(T)));
  }
  template <class T>
  T* upload(std::span<const T> values) {
    T* to = take<T>(std::int64_t(values.size()));
    copy(to, values.data(), values.size_bytes());
    return to;
  }
  std::size_t mark() const { return used_; }
  void give_back(std::size_t mark) { used_ = mark; }

 private:
  void* take_bytes(std::size_t bytes);
  std::shared_ptr<void> memory_;
  std::size_t bytes_, used_ = 0;
};

/// Rows of tokens, [n] each: whose they are and where in their sequence. Those of a sequence stand
/// together in a training pass.
struct Tokens {
  std::vector<std::int32_t> token{}, sequence{}, position{};
  std::int64_t count() const { return std::int64_t(token.size()); }
  void add(std::int32_t t, std::int32_t s, std::int32_t p) {
    token.push_back(t), sequence.push_back(s), position.push_back(p);
  }
};

class Transformer {
 public:
  /// `sequences` of up to shape.positions tokens each; `work_bytes` for the rows of a pass.
  Transformer(const Shape& shape, std::int64_t sequences, std::size_t work_bytes);
  ~Transformer();

  struct Columns {
    std::vector<float> logprob, entropy;  ///< [n]; log-prob 0 where target is -1
  };
  /// One token of each row, drawn at u [n]. Keys and values of all earlier positions were stored by
  /// earlier calls.
  std::vector<std::int32_t> draw(const Tokens& rows, std::span<const float> u,
                                 std::vector<float>* logprob = nullptr);
  /// What draw() launches, as one graph, which each call of `launch` queues; `drawn` [n] on the
  /// device. Until the next pass; of as many rows as logits exist for.
  struct Graph {
    std::function<void()> launch;
    const std::int32_t* drawn;
  };
  Graph draw_graph(const Tokens& rows, std::span<const float> u);
  /// Forward and backward pass of whole sequences: adds the gradient of sum_i coefficient[i]
  /// logprob[i] to the integer sum.
  Columns learn(const Tokens& rows, std::span<const std::int32_t> target,
                std::span<const float> coefficient);
  Columns columns(const Tokens& rows, std::span<const std::int32_t> target);
  /// AdamW on the sum, of which the norm is at most `most`, and publishes. Returns the norm.
  double update(double lr, double most);
  std::vector<float> gradient(const std::string& parameter);  ///< of the sum so far
  void set(const std::string& parameter, std::span<const float> values);
  std::int64_t parameters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rollcall::gpu_check
