// Keeps a table of the model folders whose files are mapped.
#include "model/tensors/base_files.hpp"

#include <map>
#include <mutex>

namespace rollcall::model {

std::shared_ptr<const WeightFiles> shared_files(const std::filesystem::path& folder) {
  static std::mutex mutex;
  static std::map<std::filesystem::path, std::weak_ptr<const WeightFiles>> opened;
  const auto whole = std::filesystem::weakly_canonical(folder);
  const std::lock_guard lock(mutex);
  if (const auto known = opened.find(whole); known != opened.end())
    if (auto files = known->second.lock()) return files;
  auto files = std::make_shared<const WeightFiles>(WeightFiles::open(folder));
  opened[whole] = files;
  return files;
}

}  // namespace rollcall::model
