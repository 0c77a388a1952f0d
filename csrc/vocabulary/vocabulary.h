// The bytes of each token id: a tokenizer's decoder chain compiled into one table.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/byte_classes.h"
#include "vocabulary/decoder_steps.h"
#include "vocabulary/token_id.h"

namespace unspool {

/// A token that the tokenizer keeps outside its model: special, or added to the vocabulary.
struct AddedToken {
  TokenId id = 0;
  std::string content;  // its literal text
  std::string decoded;  // the decoder's input; differs from `content` only for normalized tokens
  bool is_special = false;
};

/// How a tokenizer handles an id that it does not have.
enum class UnknownId : std::uint8_t { ignored, refused };

/// A tokenizer as its files describe it. Each id is in `tokens` or `added`; `added` wins.
struct VocabularySource {
  std::vector<std::pair<TokenId, std::string>> tokens;  // as the tokenizer spells them
  std::vector<AddedToken> added;
  std::vector<DecoderStep> steps;  // for `tokens` and `added`
  bool is_bytes = false;           // `tokens` and `added` are already bytes; there are no steps
  bool joins_with_space = false;   // for a tokenizer without a decoder
  UnknownId unknown = UnknownId::ignored;
  bool special_breaks_text = false;  // a special token ends a character, even if it is skipped
  bool is_sentencepiece = false;     // one U+FFFD per invalid byte; eager runs of byte tokens
};

class Vocabulary {
 public:
  /// Limits that bound the cost of a damaged or hostile file by its size. An id is below `kMaxId`
  /// or four times the number of tokens; a token's text is at most `kMaxTokenBytes` long; the table
  /// holds at most `kMaxTableBytes`; and the decoder's steps process at most `kMaxDecodedBytes` in
  /// total.
  static constexpr std::size_t kMaxId = 1 << 20;
  static constexpr std::size_t kMaxTableBytes = 1 << 28;
  static constexpr std::size_t kMaxDecodedBytes = 1 << 29;

  /// Throws VocabularyError if the decoder chain cannot be compiled or a limit is exceeded.
  explicit Vocabulary(VocabularySource source);

  /// The highest id plus 1.
  std::size_t size() const { return entries_.size(); }
  bool is_known(TokenId id) const {
    return id < entries_.size() && (entries_[id].flags & kKnown) != 0;
  }
  bool is_special(TokenId id) const { return has(id, kSpecial); }
  /// Whether `skip_special_tokens` omits it.
  bool is_skipped(TokenId id) const { return has(id, kSkipped); }
  bool is_added(TokenId id) const { return has(id, kAdded); }
  /// The literal text of an added token; empty for other tokens.
  std::string_view content(TokenId id) const;
  std::optional<TokenId> find_added(std::string_view content) const;
  const std::vector<AddedToken>& added_tokens() const { return added_; }
  /// The bytes of the token in the middle of a text.
  std::string_view bytes(TokenId id) const { return is_known(id) ? slice(entries_[id].text) : ""; }
  UnknownId unknown() const { return unknown_; }

  /// A token's text, if the detokenizer only appends it, and what it may mean to a parser.
  struct Text {
    ByteClasses classes = kUnplain;
    ByteClasses front = kUnplain;  // of a line without the line break that it ends with
    const char* begin = nullptr;
    std::uint32_t size = 0;
    std::uint32_t escaped_size =
        0;  // as the inside of a JSON string, which follows it if it differs

    std::string_view text() const { return {begin, size}; }
    std::string_view escaped() const {
      return {escaped_size == size ? begin : begin + size, escaped_size};
    }
    /// The same without the line break.
    std::string_view text_of_line() const { return text().substr(0, size - 1); }
    std::string_view escaped_of_line() const { return escaped().substr(0, escaped_size - 2); }
  };
  /// By id. A text has `kTextRoom` more bytes that can be read.
  std::span<const Text> texts() const { return texts_; }
  static constexpr std::size_t kTextRoom = 16;

  /// A fingerprint, unique except by chance. Takes a few milliseconds, once.
  std::uint64_t fingerprint() const;

 private:
  friend class Detokenizer;
  friend struct VocabularyFile;

  Vocabulary() = default;

  enum Flag : std::uint8_t {
    kKnown = 1,
    kAdded = 2,
    kSpecial = 4,
    kSkipped = 8,  // omitted with skip_special_tokens
    kByte = 16,    // a byte of a run (byte fallback)
    kPlain = 32,   // well-formed text on its own, the same in first and last position
  };
  struct Slice {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    bool operator==(const Slice&) const = default;
  };
  struct Entry {
    Slice text;   // in the middle of a text
    Slice first;  // as the first token
    Slice last;   // as the last token
    std::uint8_t flags = 0;
  };

  bool has(TokenId id, Flag flag) const {
    return id < entries_.size() && (entries_[id].flags & flag) != 0;
  }
  std::string_view slice(Slice slice) const {
    return std::string_view(blob_).substr(slice.begin, slice.size);
  }
  void check(const VocabularySource& source);
  void add(TokenId id, const std::string& token, std::uint8_t flags,
           const VocabularySource& source);
  std::string decode(std::string token, const VocabularySource& source, bool is_first, bool is_last,
                     bool& is_byte);
  Slice store(std::string_view text);
  void set_flags(Entry& entry, std::uint8_t flags) const;
  void list(AddedToken token);
  void make_texts();

  std::vector<Entry> entries_;
  std::string blob_;
  std::vector<Text> texts_;
  std::size_t decoded_bytes_ = 0;  // by all steps
  std::vector<AddedToken> added_;
  std::unordered_map<std::string, TokenId> id_of_added_;
  std::unordered_map<TokenId, std::size_t> added_index_;
  UnknownId unknown_ = UnknownId::ignored;
  bool special_breaks_text_ = false;
  bool is_sentencepiece_ = false;
  bool joins_bytes_ = false;                           // tokens may hold parts of characters
  std::string strip_;                                  // cut off the whole text: this character,
  std::uint32_t strip_start_ = 0;                      // at most so many at its beginning
  std::uint32_t strip_stop_ = 0;                       // and so many at its end
  mutable std::atomic<std::uint64_t> fingerprint_{0};  // 0: no one has asked
};

/// The error for an id that the vocabulary refuses.
std::string unknown_id_message(TokenId id, const Vocabulary& vocabulary);

}  // namespace unspool
