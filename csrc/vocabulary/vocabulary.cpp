// A tokenizer's decoder is a chain of steps over all tokens. Most steps look at one token at a
// time, or at whether it is the first or last one. So each token is decoded three times here, and
// the table has its text in the middle, at the beginning and at the end of a text:
//
//   token        middle    first    last
//   ▁Hello       " Hello"  "Hello"  " Hello"    Metaspace
//   wor</w>      "wor "    "wor "   "wor"       BPEDecoder
//   <0x0A>       the byte 0A, in a run          ByteFallback
//
// Steps that look at the joined text (Fuse, then Strip) remain for the detokenizer. A chain that
// fits neither is refused.
#include "vocabulary/vocabulary.h"

#include <algorithm>
#include <unordered_set>

#include "text/error.h"
#include "text/json_escape.h"
#include "text/utf8.h"

namespace unspool {

namespace {

// A longer token is rare. Bounds the memory of a damaged file's texts.
constexpr std::size_t kMaxPlainBytes = 64;

}  // namespace

Vocabulary::Vocabulary(VocabularySource source)
    : unknown_(source.unknown),
      special_breaks_text_(source.special_breaks_text),
      is_sentencepiece_(source.is_sentencepiece) {
  check(source);
  std::size_t size = 0;
  for (const auto& [id, token] : source.tokens) size = std::max<std::size_t>(size, id + 1ULL);
  for (const AddedToken& token : source.added) size = std::max<std::size_t>(size, token.id + 1ULL);
  const std::size_t count = source.tokens.size() + source.added.size();
  // The table has an entry per id, so one large id in a damaged file would cost gigabytes.
  if (const std::size_t bound = std::max(kMaxId, 4 * count); size > bound) {
    throw VocabularyError("the token id " + std::to_string(size - 1) + " is too large: with " +
                          std::to_string(count) + " tokens an id must be below " +
                          std::to_string(bound));
  }
  entries_.resize(size);
  // A tokenizer omits special tokens by their text, whatever its origin.
  std::unordered_set<std::string_view> specials;
  for (const AddedToken& token : source.added) {
    if (token.is_special) specials.insert(token.content);
  }
  const auto skipped = [&](const std::string& text) {
    return specials.contains(text) ? static_cast<std::uint8_t>(kSkipped) : std::uint8_t{0};
  };
  for (const auto& [id, token] : source.tokens) {
    add(id, token, static_cast<std::uint8_t>(kKnown | skipped(token)), source);
  }
  for (const AddedToken& token : source.added) {
    const std::uint8_t special = token.is_special ? kSpecial : 0;
    add(token.id, token.decoded,
        static_cast<std::uint8_t>(kKnown | kAdded | special | skipped(token.decoded)), source);
    list(token);
  }
  blob_.shrink_to_fit();
  make_texts();
}

// An entry of `texts_` has all that a token costs which changes nothing.
void Vocabulary::make_texts() {
  const auto is_plain = [](const Entry& entry) {
    return (entry.flags & (kPlain | kSkipped)) == kPlain && entry.text.size <= kMaxPlainBytes;
  };
  const auto classes_of_front = [](std::string_view line) {
    return line.size() == 1 ? ByteClasses{0} : classes_of(line.substr(0, line.size() - 1));
  };
  std::string escaped;
  const auto escape = [&](const Entry& entry) {
    escaped.clear();
    append_json_escaped(slice(entry.text), escaped);
    return escaped.size() != entry.text.size;
  };
  std::size_t size = blob_.size() + kTextRoom;
  for (const Entry& entry : entries_) {
    if (is_plain(entry) && escape(entry)) size += entry.text.size + escaped.size();
  }
  blob_.reserve(size);  // from here on, the texts stay where they are
  texts_.resize(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (!is_plain(entry)) continue;
    const std::string text(slice(entry.text));
    const bool is_escaped = escape(entry);
    const char* const begin = blob_.data() + (is_escaped ? blob_.size() : entry.text.begin);
    if (is_escaped) blob_.append(text).append(escaped);
    const bool is_line = text.ends_with('\n');
    texts_[i] = {classes_of(text), is_line ? classes_of_front(text) : ByteClasses{kUnplain}, begin,
                 entry.text.size, static_cast<std::uint32_t>(escaped.size())};
  }
  blob_.append(kTextRoom, '\0');
}

// Checks that the chain can be decoded token by token, and what remains for the text as a whole.
void Vocabulary::check(const VocabularySource& source) {
  bool is_joined = false;
  bool has_bytes = false;
  joins_bytes_ = source.is_bytes;
  const auto refuse = [](const std::string& what) {
    throw VocabularyError("the tokenizer's decoder cannot be compiled: " + what +
                          "; use unspool.SlowDetokenizer, which asks the tokenizer itself");
  };
  for (const DecoderStep& step : source.steps) {
    if (step.kind == DecoderKind::strip && is_joined) {
      if (!strip_.empty() && strip_ != step.content) refuse("it strips two characters");
      if (strip_start_ + strip_stop_ > 0) refuse("it strips the text twice");
      strip_ = step.content;
      strip_start_ = step.start;
      strip_stop_ = step.stop;
      continue;
    }
    if (step.kind == DecoderKind::fuse) {
      is_joined = true;
      continue;
    }
    // It would see across tokens, which a table of tokens cannot.
    if (is_joined) refuse("a step after the text is joined looks at the whole of it");
    if (has_bytes) refuse("a step after ByteFallback looks at the text that a run of bytes makes");
    // Byte-level tokens are bytes: the text exists only once they are joined.
    if (step.kind == DecoderKind::byte_level) is_joined = joins_bytes_ = true;
    if (step.kind == DecoderKind::byte_fallback) has_bytes = true;
  }
}

namespace {

/// Applies a step to a token; returns true if the token becomes a single byte.
bool decode_step(const DecoderStep& step, bool is_first, bool is_last, std::string& token) {
  switch (step.kind) {
    case DecoderKind::byte_level: token = byte_level_bytes(token); break;
    case DecoderKind::byte_fallback:
      if (const int value = byte_fallback_value(token); value >= 0) {
        token.assign(1, static_cast<char>(value));
        return true;
      }
      break;
    case DecoderKind::fuse: break;
    case DecoderKind::strip: strip_token(token, step.content, step.start, step.stop); break;
    case DecoderKind::replace: replace_all(token, step.content, step.replacement); break;
    case DecoderKind::metaspace:
      replace_all(token, step.content, is_first && step.prepends ? "" : " ");
      break;
    case DecoderKind::word_piece: word_piece_token(token, step, is_first); break;
    case DecoderKind::bpe_suffix: replace_all(token, step.content, is_last ? "" : " "); break;
  }
  return false;
}

}  // namespace

std::string Vocabulary::decode(std::string token, const VocabularySource& source, bool is_first,
                               bool is_last, bool& is_byte) {
  bool is_joined = false;
  for (const DecoderStep& step : source.steps) {
    // Each step may make a token longer. The sum bounds the time that a hostile file takes.
    decoded_bytes_ += token.size() + 1;
    if (decoded_bytes_ > kMaxDecodedBytes) {
      throw VocabularyError("the tokenizer's decoder has " + std::to_string(source.steps.size()) +
                            " steps that handle more than " + std::to_string(kMaxDecodedBytes) +
                            " bytes of its tokens, which is the limit; is the file damaged?");
    }
    // Stripping after the text is joined is left to the detokenizer.
    if (step.kind == DecoderKind::strip && is_joined) continue;
    is_byte |= decode_step(step, is_first, is_last, token);
    is_joined |= step.kind == DecoderKind::byte_level || step.kind == DecoderKind::fuse;
  }
  if (source.joins_with_space && !is_first) token.insert(token.begin(), ' ');
  return token;
}

Vocabulary::Slice Vocabulary::store(std::string_view text) {
  if (text.size() > kMaxTokenBytes) {
    throw VocabularyError("a token has " + std::to_string(text.size()) + " bytes; at most " +
                          std::to_string(kMaxTokenBytes) + " are read");
  }
  if (blob_.size() + text.size() > kMaxTableBytes) {
    throw VocabularyError("the tokens' texts take more than " + std::to_string(kMaxTableBytes) +
                          " bytes, which is the limit; is this a tokenizer?");
  }
  const Slice slice{static_cast<std::uint32_t>(blob_.size()),
                    static_cast<std::uint32_t>(text.size())};
  blob_ += text;
  return slice;
}

void Vocabulary::add(TokenId id, const std::string& token, std::uint8_t flags,
                     const VocabularySource& source) {
  Entry& entry = entries_[id];
  bool is_byte = false;
  const std::string text = decode(token, source, false, false, is_byte);
  const std::string first = decode(token, source, true, false, is_byte);
  const std::string last = decode(token, source, false, true, is_byte);
  entry.text = store(text);
  // Shared in most entries, so the table is hardly larger than the texts.
  entry.first = first == text ? entry.text : store(first);
  entry.last = last == text ? entry.text : store(last);
  set_flags(entry, static_cast<std::uint8_t>(flags | (is_byte ? kByte : 0)));
}

// Derives from the rest whether a token is plain.
void Vocabulary::set_flags(Entry& entry, std::uint8_t flags) const {
  // An added token may be a marker or special, so it always takes the long path.
  const bool is_plain = (flags & (kByte | kAdded)) == 0 && entry.first == entry.text &&
                        entry.last == entry.text && is_valid_utf8(slice(entry.text));
  entry.flags = static_cast<std::uint8_t>((flags & ~kPlain) | (is_plain ? kPlain : 0));
}

void Vocabulary::list(AddedToken token) {
  id_of_added_.emplace(token.content, token.id);
  added_index_.emplace(token.id, added_.size());
  added_.push_back(std::move(token));
}

std::string_view Vocabulary::content(TokenId id) const {
  const auto it = added_index_.find(id);
  return it == added_index_.end() ? std::string_view{} : added_[it->second].content;
}

std::optional<TokenId> Vocabulary::find_added(std::string_view content) const {
  const auto it = id_of_added_.find(std::string(content));
  if (it == id_of_added_.end()) return std::nullopt;
  return it->second;
}

std::string unknown_id_message(TokenId id, const Vocabulary& vocabulary) {
  return "token id " + std::to_string(id) + " is not in the vocabulary, which has ids below " +
         std::to_string(vocabulary.size()) + "; is this the model's tokenizer?";
}

}  // namespace unspool
