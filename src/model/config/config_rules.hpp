// Private to the model: the architecture of a config.json, and its keys that the engine does not
// run.
#pragma once

#include "model/config/architectures.hpp"
#include "model/config/config_reader.hpp"

namespace rollcall::model {

/// The row that "architectures" and "model_type" name. Throws InputError where there is no such
/// row, or where the two keys name different ones.
const ArchitectureRow& find_row(const ConfigReader& in);

/// Throws InputError naming the first key, in the file's order, whose value `row` does not run.
/// Keys that do not change the model's results are ignored.
void check_keys(const ConfigReader& in, const ArchitectureRow& row);

}  // namespace rollcall::model
