// The tensors of a model, one by one: what each is called, and what it is.
#pragma once

#include "base/numbers/id.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace rollcall::model {

/// The place of a tensor in its model's table, in layout order from 0 on. It stays the same when a
/// layout has only some of the model's tensors.
using TensorId = Id<struct TensorTag>;
/// The id of a tensor that a model does not have, for example of an absent bias.
inline constexpr TensorId kNoTensor{std::numeric_limits<std::uint64_t>::max()};

/// Tensors with consecutive ids, from the first one to the last one. Both belong to it.
struct TensorRange {
  TensorId first{}, last{};
};

/// The values of a tensor in a new model: drawn from Normal(0, initializer_range), zeros or ones.
enum class Initial { normal, zeros, ones };

/// One tensor of a model, with its Hugging Face name.
struct TensorSpec {
  TensorId id{};
  std::string name;
  std::vector<std::int64_t> shape;
  bool decay = false;  ///< whether weight decay applies: to matrices except embeddings and head
  Initial initial = Initial::normal;

  std::int64_t count() const {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    return elements;
  }
};

}  // namespace rollcall::model
