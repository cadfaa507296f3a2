// The decoders of tokenizer.json: steps from the texts of tokens to a text.
#pragma once

#include "text/json_tokenizer/fields.hpp"

#include <functional>
#include <string>
#include <vector>

namespace rollcall::text::json_tokenizer {

using Texts = std::vector<std::string>;
using DecoderStep = std::function<void(Texts&)>;

/// Supported: ByteLevel, Metaspace, ByteFallback, Fuse, Replace, Strip, BPEDecoder, Sequence.
/// Others are refused by name and place.
std::vector<DecoderStep> read_decoder(const Field& field);

/// "<0x0A>", a byte token's text, to 10; -1: another text.
int fallback_byte(const std::string& text);

}  // namespace rollcall::text::json_tokenizer
