// Private to the model: which keys of config.json the engine does not run.
#pragma once

#include "model/config/architectures.hpp"
#include "model/config/config_reader.hpp"

namespace rollcall::model {

/// The row that "architectures" and "model_type" name. Throws InputError where there is none, or
/// they name two.
const ArchitectureRow& find_row(const ConfigReader& in);

/// Throws InputError naming the first key, in the file's order, whose value `row` does not run.
/// Keys that change nothing are passed over.
void check_keys(const ConfigReader& in, const ArchitectureRow& row);

}  // namespace rollcall::model
