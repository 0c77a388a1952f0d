// A tokenizer's decoder chain as plain data, and what each step does to one token.
//
// Rules: reference implementation is the Rust crate `tokenizers`, module decoders. A step that
// looks at one token at a time is applied when the table is built; what looks at the whole text
// (joining, stripping, runs of byte tokens) is left to the detokenizer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace unspool {

enum class DecoderKind : std::uint8_t {
  byte_level,     // letters of GPT-2's byte alphabet stand for bytes; joins
  byte_fallback,  // <0x0A> stands for a byte; a run of them for text
  fuse,           // joins
  strip,          // cuts `content` off the ends: of a token, or of the text once it is joined
  replace,        // `content` becomes `replacement`
  metaspace,      // `content` becomes a space, and nothing in the first token
  word_piece,     // a space before each token but the first, none before `content`
  bpe_suffix,     // `content` becomes a space, and nothing in the last token
};

struct DecoderStep {
  DecoderKind kind = DecoderKind::fuse;
  std::string content;
  std::string replacement;
  std::uint32_t start = 0;  // strip: at most so many at the beginning
  std::uint32_t stop = 0;   // strip: at most so many at the end
  bool prepends = true;     // metaspace: the scheme is not "never"
  bool cleans_up = false;   // word_piece: its cleanup option
};

/// A token's text is at most this long, after each step.
inline constexpr std::size_t kMaxTokenBytes = 1 << 20;

/// Throws VocabularyError where the text would become longer than `kMaxTokenBytes`.
void replace_all(std::string& text, std::string_view from, std::string_view to);

/// Turns letters of the byte alphabet into bytes; text with any other letter stays as it is.
std::string byte_level_bytes(std::string_view token);

/// The byte that <0xNN> stands for, -1 for any other token.
int byte_fallback_value(std::string_view token);

/// Cuts up to `start` of the character `content` off the beginning, up to `stop` off the end.
void strip_token(std::string& token, std::string_view content, std::uint32_t start,
                 std::uint32_t stop);

/// WordPiece's way to write a token, with its cleanup where asked for.
void word_piece_token(std::string& token, const DecoderStep& step, bool is_first);

}  // namespace unspool
