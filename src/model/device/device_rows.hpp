// Private to the model: the arrays that describe the rows of a pass on the device.
#pragma once

#include "model/device/device.hpp"
#include "model/engine/packed_rows.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::model {

/// The rows of a pass, with pointers to device memory. A place is where a row's keys and values are
/// stored. The first `rows` places are those of the rows in order. Further places are second copies
/// of some rows.
struct PassRows {
  std::int64_t rows = 0, stored = 0;                           ///< rows, and places for them
  const std::int32_t *tokens = nullptr, *positions = nullptr;  ///< [rows]
  const std::int32_t* source = nullptr;                        ///< [stored] the row of each place
  const kernels::AttentionRow* places = nullptr;               ///< [stored]
  const KeyValues* memory = nullptr;                           ///< gives the offset of each layer
};

/// Sends the rows of a pass to the device.
PassRows upload_rows(Device& device, std::span<const std::int32_t> tokens,
                     std::span<const std::int32_t> positions, const KeyValues& memory);

/// Copies the tables of pages of `places` to the device. Returns the places with these tables.
std::vector<kernels::AttentionRow> with_device_tables(Device& device,
                                                      std::vector<kernels::AttentionRow> places);

}  // namespace rollcall::model
