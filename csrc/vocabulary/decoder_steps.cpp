#include "vocabulary/decoder_steps.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/error.h"

namespace unspool {

namespace {

// GPT-2's alphabet: printable bytes map to themselves, the others to U+0100 and up, in order.
constexpr std::array<std::int16_t, 0x180> kByteOf = [] {
  std::array<std::int16_t, 0x180> table{};
  for (auto& entry : table) entry = -1;
  std::int16_t next = 0x100;
  for (std::int16_t byte = 0; byte < 256; ++byte) {
    const bool is_printable =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    // GPT-2 writes bytes as letters that are visible in a text file: a space is `Ġ`, a line break
    // `Ċ`.
    table[static_cast<std::size_t>(is_printable ? byte : next++)] = byte;
  }
  return table;
}();
static_assert(kByteOf['A'] == 'A' && kByteOf[0x120] == ' ' && kByteOf[0x10A] == '\n' &&
              kByteOf[' '] == -1);

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kWordPieceCleanup{{
    {" .", "."},
    {" ?", "?"},
    {" !", "!"},
    {" ,", ","},
    {" ' ", "'"},
    {" n't", "n't"},
    {" 'm", "'m"},
    {" do not", " don't"},
    {" 's", "'s"},
    {" 've", "'ve"},
    {" 're", "'re"},
}};

}  // namespace

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  std::size_t at = text.find(from);
  if (at == std::string::npos) return;
  std::string replaced;
  std::size_t begin = 0;
  for (; at != std::string::npos; at = text.find(from, begin)) {
    // A replacement may be longer than its pattern, step after step.
    if (replaced.size() + (at - begin) + to.size() > kMaxTokenBytes) {
      throw VocabularyError("the tokenizer's decoder makes a token longer than " +
                            std::to_string(kMaxTokenBytes) +
                            " bytes, which is the limit; is the file damaged?");
    }
    replaced.append(text, begin, at - begin).append(to);
    begin = at + from.size();
  }
  replaced.append(text, begin);
  text = std::move(replaced);
}

std::string byte_level_bytes(std::string_view token) {
  std::string bytes;
  bytes.reserve(token.size());
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::uint32_t letter = static_cast<unsigned char>(token[i]);
    if (letter >= 0x80) {
      // The alphabet ends at U+0143: at most two bytes of UTF-8.
      if (letter < 0xC2 || letter > 0xC5 || i + 1 == token.size()) return std::string(token);
      letter = ((letter & 0x1F) << 6) | (static_cast<unsigned char>(token[++i]) & 0x3F);
    }
    // As the library does: a token with any other letter is text as it stands.
    if (letter >= kByteOf.size() || kByteOf[letter] < 0) return std::string(token);
    bytes += static_cast<char>(kByteOf[letter]);
  }
  return bytes;
}

int byte_fallback_value(std::string_view token) {
  // Exactly this form: `<0x0A >` is a token's text.
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int value = 0;
  for (std::size_t i = 3; i < 5; ++i) {
    const char c = token[i];
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

void strip_token(std::string& token, std::string_view content, std::uint32_t start,
                 std::uint32_t stop) {
  if (content.empty()) return;
  std::string_view rest = token;
  // At most so many: Llama's decoder strips one space, and a second one is the model's.
  for (; start > 0 && rest.starts_with(content); --start) rest.remove_prefix(content.size());
  for (; stop > 0 && rest.ends_with(content); --stop) rest.remove_suffix(content.size());
  if (rest.size() < token.size()) token = std::string(rest);
}

void word_piece_token(std::string& token, const DecoderStep& step, bool is_first) {
  if (!is_first) {
    // `##ing` continues the word before it.
    if (token.starts_with(step.content)) {
      token.erase(0, step.content.size());
    } else {
      token.insert(token.begin(), ' ');
    }
  }
  if (!step.cleans_up) return;
  for (const auto& [from, to] : kWordPieceCleanup) replace_all(token, from, to);
}

}  // namespace unspool
