// Ranks are threads.
#include "comm/world.hpp"

namespace rollcall::comm {

void in_world(const std::function<void(Communicator&)>& body) {
  for (const int ranks : {1, 3, 4}) run_as_threads(ranks, body);
}

}  // namespace rollcall::comm
