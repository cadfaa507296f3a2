// The files of models on which adapters are based: mapped once in a process, whoever reads them.
#pragma once

#include "model/tensors/weight_files.hpp"

#include <filesystem>
#include <memory>

namespace rollcall::model {

/// The weight files of a model folder. As long as anybody has them, everybody who asks for the same
/// folder gets the same ones, also by another path to it. Files that are replaced in the meantime
/// are seen as they were. Throws as WeightFiles::open() does. Any thread may call it.
std::shared_ptr<const WeightFiles> shared_files(const std::filesystem::path& folder);

}  // namespace rollcall::model
