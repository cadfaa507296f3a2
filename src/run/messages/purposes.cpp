// Splits and names of the purposes.
#include "run/messages/purposes.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

namespace rollcall::run {

Split split_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::train:
    case Purpose::greedy: return Split::train;
    case Purpose::validation: return Split::validation;
    case Purpose::eval: return Split::heldout;
  }
  throw ProtocolError("a message names a purpose that does not exist");
}

const char* purpose_name(Purpose purpose) {
  switch (purpose) {
    case Purpose::train: return "train";
    case Purpose::validation: return "validation";
    case Purpose::eval: return "eval";
    case Purpose::greedy: return "greedy";
  }
  throw ProtocolError("a message names a purpose that does not exist");
}

std::string sample_id(Purpose purpose, const GroupId& group, std::uint32_t sample) {
  return fmt::format("{}/{}/{}/{}/{}", purpose_name(purpose), group.step, group.prompt.value,
                     group.draw, sample);
}

}  // namespace rollcall::run
