// Private to the model: the operations of a backward pass on the device. backward.hpp has those for
// the host.
#pragma once

#include "model/block/engine.hpp"
#include "model/device/device_head_gradients.hpp"

#include <cstdint>
#include <span>

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

/// The engine of a backward pass on the device, as Backward is on the host. Products of gradients
/// are those of DeviceGradientProducts. All else is fp32. Every sum has a fixed order, so the bits
/// depend on the micro-batch only. All work is queued, and nothing waits for it.
class DeviceBackward {
 public:
  using Rows = DeviceBackend::Rows;
  using Predictions = DeviceHeadGradients::Predictions;

  /// `gradients` receives the gradients of the weights. It is null if only states_backward() is
  /// called.
  DeviceBackward(const OnDevice& policy, DeviceBackend& backend, const PackedSequences& sequences,
                 DeviceGradients* gradients);

  // Operations for head_backward.
  void begin(std::int64_t targets);
  DeviceHeadGradients head(const Predictions& predictions) {
    return {policy_->head, *backend_, products_, predictions};
  }
  Rows gather(const float* hidden, std::span<const std::int64_t> rows);
  void scatter(Rows d, std::span<const std::int64_t> rows);

  // Operations for block_backward.
  std::int64_t rows() const { return n_; }
  Rows dx() const { return dx_; }
  DeviceArena::Scope scope() { return DeviceArena::Scope(backend_->arena()); }
  template <class Work>
  void part(std::size_t part, const Work& work) {
    products_.gradients().begin_part(part);
    work();
    products_.gradients().end_part();
  }
  Rows linears(Rows x, std::span<const Through<Rows>> all);
  Rows norm(const Norm& norm, std::int64_t rows, Rows x, Rows dy);
  void norm_into_dx(const Norm& norm, Rows x, Rows dy);
  Heads<Rows> attention(const Heads<Rows>& rows, Rows dout);
  void rope(Rows x, int table, int direction) { backend_->rope(x, table, direction); }
  GatedRows<Rows> swiglu(Rows gate, Rows up, Rows dy);

  void embedding(std::span<const std::int32_t> tokens);

 private:
  Rows take(std::int64_t width) { return {products_.take(n_, width), width}; }
  kernels::ExecutionContext& context() { return backend_->context(); }
  /// Writes the gradient with respect to the norm's input x into dx, or with `added` adds it to dx.
  void norm_backward(const Norm& norm, const float* x, std::int64_t rows, const float* dy,
                     float* dx, bool added);

  DeviceGradientProducts products_;
  const PolicyModel::Packed* policy_;
  DeviceBackend* backend_;
  kernels::cuda::AttentionTiles tiles_{};
  std::int64_t n_;
  Rows dx_{};
};

}  // namespace rollcall::model
