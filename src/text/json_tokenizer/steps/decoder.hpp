// The decoders of tokenizer.json, which are steps from the strings of tokens to one string.
#pragma once

#include "text/json_tokenizer/fields.hpp"

#include <functional>
#include <string>
#include <vector>

namespace rollcall::text::json_tokenizer {

using Texts = std::vector<std::string>;
using DecoderStep = std::function<void(Texts&)>;

/// Supports ByteLevel, Metaspace, ByteFallback, Fuse, Replace, Strip, BPEDecoder and Sequence.
/// Throws InputError with name and place for others.
std::vector<DecoderStep> read_decoder(const Field& field);

/// The byte of a byte token's text, such as 10 for "<0x0A>"; -1 for any other text.
int fallback_byte(const std::string& text);

}  // namespace rollcall::text::json_tokenizer
