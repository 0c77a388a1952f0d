// A tokenizer's decoder chain as plain data, and the effect of each step on one token.
//
// The reference implementation is the `decoders` module of the Rust crate `tokenizers`. Steps that
// look at one token at a time are applied when the table is built; steps that look at the whole
// text (joining, stripping, runs of byte tokens) are applied by the detokenizer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace unspool {

enum class DecoderKind : std::uint8_t {
  byte_level,     // letters of GPT-2's byte alphabet stand for bytes; joins
  byte_fallback,  // <0x0A> stands for a byte, and a run of them for text
  fuse,           // joins
  strip,       // removes `content` from the ends: of each token, or of the text if an earlier step
               // joined it
  replace,     // `content` becomes `replacement`
  metaspace,   // `content` becomes a space; dropped in the first token
  word_piece,  // a space before each token except the first; none before `content`
  bpe_suffix,  // `content` becomes a space; dropped in the last token
};

struct DecoderStep {
  DecoderKind kind = DecoderKind::fuse;
  std::string content;
  std::string replacement;
  std::uint32_t start = 0;  // strip: maximum count at the beginning
  std::uint32_t stop = 0;   // strip: maximum count at the end
  bool prepends = true;     // metaspace: the scheme is not "never"
  bool cleans_up = false;   // word_piece: its cleanup option
};

/// Maximum length of a token's text after each step.
inline constexpr std::size_t kMaxTokenBytes = 1 << 20;

/// Throws VocabularyError if the text would become longer than `kMaxTokenBytes`.
void replace_all(std::string& text, std::string_view from, std::string_view to);

/// Turns letters of the byte alphabet into bytes; text with any other letter is unchanged.
std::string byte_level_bytes(std::string_view token);

/// The byte that <0xNN> stands for, or -1 for any other token.
int byte_fallback_value(std::string_view token);

/// Removes up to `start` copies of the character `content` from the beginning and `stop` from the
/// end.
void strip_token(std::string& token, std::string_view content, std::uint32_t start,
                 std::uint32_t stop);

/// A token as WordPiece's decoder writes it, with cleanup if enabled.
void word_piece_token(std::string& token, const DecoderStep& step, bool is_first);

}  // namespace unspool
