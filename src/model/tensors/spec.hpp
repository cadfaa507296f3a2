// What identifies a tensor of a model.
#pragma once

#include "base/numbers/id.hpp"

namespace rollcall::model {

/// The place of a tensor in its model's table, in layout order from 0 on. It stays the same when a
/// layout has only some of the model's tensors.
using TensorId = Id<struct TensorTag>;

}  // namespace rollcall::model
