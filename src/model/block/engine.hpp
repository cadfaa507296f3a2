// Private to the model: what the modules ask of an engine. A module is written once, and each
// engine computes its operations where its memory is: on the host or on a device.
#pragma once

#include "model/block/modules.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rollcall::model {

/// The operations of a forward pass over packed rows. `Rows` are n rows of one width; an engine
/// knows n. rope() works in place: direction +1 rotates and -1 rotates back. At each residual
/// add_linear(), which is x + linear(y), an engine may give back all rows except the result.
template <class E>
concept ForwardEngine = requires(E& engine, typename E::Rows x, const Linear& linear,
                                 const Norm& norm, std::size_t layer, int table, int direction) {
  { x.width } -> std::convertible_to<std::int64_t>;
  { engine.rms_norm(x, norm) } -> std::same_as<typename E::Rows>;
  { engine.linear(x, linear, linear) } -> std::same_as<std::array<typename E::Rows, 2>>;
  { engine.add_linear(x, x, linear) } -> std::same_as<typename E::Rows>;
  engine.rope(x, table, direction);
  { engine.attention(layer, x, x, x) } -> std::same_as<typename E::Rows>;
  { engine.swiglu(x, x) } -> std::same_as<typename E::Rows>;
};

/// A product, and the gradient with respect to its output [n, outputs].
template <class Rows>
struct Through {
  const Linear& linear;
  Rows dy;
};

/// Rows of all heads, or the gradients with respect to them.
template <class Rows>
struct Heads {
  Rows q, k, v;
};

/// The gradients with respect to both inputs of an MLP's activation.
template <class Rows>
struct GatedRows {
  Rows gate, up;
};

/// The operations of a backward pass. An engine has n = rows() rows and holds dx() [n, hidden], the
/// gradient with respect to the rows between two blocks. Gradients with respect to weights go where
/// the engine's caller wants them. What an operation takes stays until the end of the scope() in
/// which it was taken. Everything that is added to a part of BackwardParts is added within part().
template <class G>
concept BackwardEngine = requires(G& engine, typename G::Rows x, const Norm& norm,
                                  std::int64_t count, int table, int direction, std::size_t part,
                                  void (*work)(),
                                  std::span<const Through<typename G::Rows>> products,
                                  const Heads<typename G::Rows>& heads) {
  { engine.rows() } -> std::same_as<std::int64_t>;
  { engine.dx() } -> std::same_as<typename G::Rows>;
  engine.scope();
  engine.part(part, work);
  // The gradient with respect to x of several products of the same x: the sum of their dy W.
  // Their gradients with respect to W and bias are added.
  { engine.linears(x, products) } -> std::same_as<typename G::Rows>;
  // The gradient with respect to the `count` rows x of a norm, from that with respect to its
  // output, whose memory it may have; or added to dx().
  { engine.norm(norm, count, x, x) } -> std::same_as<typename G::Rows>;
  engine.norm_into_dx(norm, x, x);
  { engine.attention(heads, x) } -> std::same_as<Heads<typename G::Rows>>;
  engine.rope(x, table, direction);
  { engine.swiglu(x, x, x) } -> std::same_as<GatedRows<typename G::Rows>>;
};

}  // namespace rollcall::model
