// Private to the model: finds the architecture of a config.json and refuses keys that the engine
// does not support.
#pragma once

#include "model/config/architectures.hpp"
#include "model/config/config_reader.hpp"

namespace rollcall::model {

/// The row that "architectures" and "model_type" name. Throws InputError if there is no such row,
/// or if the two keys name different ones.
const ArchitectureRow& find_row(const ConfigReader& in);

/// Throws InputError naming the first key, in file order, whose value `row` does not support. Keys
/// that do not change the model's results are ignored.
void check_keys(const ConfigReader& in, const ArchitectureRow& row);

}  // namespace rollcall::model
