// Calls the readers of the parts in the order of the table in part.cpp.
#include "run/checkpoint/restore.hpp"

#include "model/tensors/model_folder.hpp"
#include "run/checkpoint/part_check.hpp"

namespace rollcall::run {

void restore_parts(const io::StoredCheckpoint& checkpoint, Restoring why,
                   const PartReaders& readers) {
  constexpr PartNeeds kOfEveryRun{.reference = false, .value_head = false, .scheduler = false};
  check_parts(checkpoint.files(), kOfEveryRun, checkpoint.name());
  for (const PartRow& row : part_rows()) {
    if (why == Restoring::rollback && row.on_rollback == OnRollback::kept) continue;
    if (const auto reader = readers.find(row.part); reader != readers.end())
      reader->second(checkpoint, why);
  }
}

void restore_weights(const io::StoredCheckpoint& checkpoint, PolicyStore& store,
                     comm::Communicator& node, PolicyVersion version) {
  store.load(version, node, [&](std::span<float> weights) {
    model::read_weights(store.config(), checkpoint.verified(file_of(Part::weights)), weights);
  });
}

}  // namespace rollcall::run
