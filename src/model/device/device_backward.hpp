// Private to the model: the backward pass on the device. It has the steps of backward.hpp.
#pragma once

#include "model/block/block.hpp"
#include "model/device/device_backend.hpp"

#include <span>
#include <vector>

namespace rollcall::model {

/// Receives the gradients of a micro-batch in device memory. It must queue the work that reads them
/// before it returns.
class DeviceGradients {
 public:
  virtual ~DeviceGradients() = default;
  // begin_part() and end_part() enclose everything that is added to a part of BackwardParts. Every
  // micro-batch has every part once, in order.
  virtual void begin_part(std::size_t part) = 0;
  virtual void end_part() = 0;
  /// The gradient of a tensor from its element `first` on.
  virtual void add(TensorId tensor, std::int64_t first, const float* values,
                   std::int64_t count) = 0;
  /// The gradient of the embedding `tensor`: a row [tokens, width] for each token.
  virtual void add_rows(TensorId tensor, std::span<const std::int32_t> tokens, const float* rows,
                        std::int64_t width) = 0;
};

/// The backward pass of one micro-batch. Products of gradients are cuda::product on transposed
/// operands. All else is fp32. Every sum has a fixed order, so the bits depend on the micro-batch
/// only.
class DeviceBackward {
 public:
  /// `gradients` receives the gradients of the weights. It is null if only states() is called.
  DeviceBackward(const OnDevice& policy, DeviceBackend& backend, const PackedSequences& sequences,
                 DeviceGradients* gradients);

  /// What the head's backward pass needs from its forward pass. Spans are in host memory, pointers
  /// in device memory.
  struct Predictions {
    std::span<const std::int64_t> rows;                    ///< [M] the rows that predict targets
    std::span<const std::int32_t> targets;                 ///< [M]
    const float *lse, *entropy, *normed;                   ///< [M], [M], [M, hidden]
    const float *dlogprob = nullptr, *dentropy = nullptr;  ///< [M] derivatives of the loss
  };
  /// Computes the gradient with respect to `hidden` [n, hidden], the last block's output. It stays
  /// in this object.
  void head(const float* hidden, const Predictions& predictions, float scale);
  /// Computes only the gradient with respect to the head's inputs `normed`, [M, hidden], which
  /// stays in the arena. A row's bits depend on that row only.
  float* states(const Predictions& predictions, float scale);
  /// Backpropagates through a block. Blocks must come from the last to the first.
  void block(std::size_t i, const BlockRows<DeviceBackend::Rows>& rows);
  void embedding(std::span<const std::int32_t> tokens);

 private:
  using Rows = DeviceBackend::Rows;
  /// A product, and the gradient with respect to its output.
  struct Through {
    const Linear& linear;
    const float* dy;  ///< [n, outputs]
  };
  float* take(std::int64_t rows, std::int64_t width) {
    return backend_->arena().take<float>(rows * width);
  }
  float* zeros(std::int64_t rows, std::int64_t width);
  kernels::ExecutionContext& context() { return backend_->context(); }
  kernels::cuda::Rows16 turned(const float* x, std::int64_t rows, std::int64_t width);
  /// The gradient with respect to x [n, inputs] of several products of the same x: the sum of their
  /// dy W. Adds their gradients with respect to W and bias.
  float* linears(const float* x, std::span<const Through> all);
  void weights(const Linear& linear, std::int64_t first_output, const float* dy,
               const kernels::cuda::Rows16& turned_x);
  void inputs(const Linear& linear, const float* dy, std::int64_t rows, float* dx);
  /// Writes the gradient with respect to the norm's input x into dx, or with `added` adds it to dx.
  void norm(const Norm& norm, const float* x, std::int64_t rows, const float* dy, float* dx,
            bool added);
  struct Heads {
    float *q, *k, *v;
  };
  Heads attention(const AttentionRows<Rows>& rows, const float* dout);

  const PolicyModel::Packed* policy_;
  DeviceBackend* backend_;
  kernels::cuda::AttentionTiles tiles_{};
  DeviceGradients* gradients_;
  std::int64_t n_;
  float* dx_ = nullptr;  ///< [n, hidden] gradient with respect to the rows between two blocks
};

}  // namespace rollcall::model
