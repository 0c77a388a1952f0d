#include "vocabulary/vocabulary_file.h"

#include <cstdint>

#include "text/archive.h"
#include "text/error.h"
#include "text/utf8.h"

namespace unspool {

namespace {

constexpr std::string_view kMagic = "unspoolV";
constexpr std::uint32_t kVersion = 1;

// Flags of the whole vocabulary.
constexpr std::uint32_t kRefusesUnknown = 1;
constexpr std::uint32_t kSpecialBreaksText = 2;
constexpr std::uint32_t kIsSentencepiece = 4;
constexpr std::uint32_t kJoinsBytes = 8;

// Flags of an id, in addition to Vocabulary's own.
constexpr std::uint8_t kHasFirst = 64;
constexpr std::uint8_t kHasLast = 128;

void write_u32(std::uint32_t value, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>((value >> shift) & 0xFF);
}

void write_text(std::string_view text, std::string& out) {
  write_u32(static_cast<std::uint32_t>(text.size()), out);
  out += text;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::size_t size) {
    if (size > rest_.size()) throw VocabularyError("the vocabulary file is cut off");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::uint8_t u8() { return static_cast<std::uint8_t>(take(1)[0]); }
  std::uint32_t u32() {
    std::uint32_t value = 0;
    int shift = 0;
    for (const char byte : take(4)) {
      value |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(byte)) << shift;
      shift += 8;
    }
    return value;
  }
  std::string_view text() { return take(u32()); }
  std::string_view utf8() {
    const std::string_view taken = text();
    if (!is_valid_utf8(taken))
      throw VocabularyError("the vocabulary file is damaged: a text is not UTF-8");
    return taken;
  }

  /// A count of items of at least one byte each: never more than the remaining bytes.
  std::uint32_t count() {
    const std::uint32_t count = u32();
    // Before memory is reserved for them.
    if (count > rest_.size()) throw VocabularyError("the vocabulary file is cut off");
    return count;
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

struct VocabularyFile {
  static void write(const Vocabulary& vocabulary, std::string& out);
  static std::shared_ptr<const Vocabulary> read(std::string_view bytes);
};

void VocabularyFile::write(const Vocabulary& vocabulary, std::string& out) {
  out += kMagic;
  write_u32(kVersion, out);
  write_u32((vocabulary.unknown_ == UnknownId::refused ? kRefusesUnknown : 0) |
                (vocabulary.special_breaks_text_ ? kSpecialBreaksText : 0) |
                (vocabulary.is_sentencepiece_ ? kIsSentencepiece : 0) |
                (vocabulary.joins_bytes_ ? kJoinsBytes : 0),
            out);
  write_text(vocabulary.strip_, out);
  write_u32(vocabulary.strip_start_, out);
  write_u32(vocabulary.strip_stop_, out);
  write_u32(static_cast<std::uint32_t>(vocabulary.entries_.size()), out);
  for (const Vocabulary::Entry& entry : vocabulary.entries_) {
    const bool has_first = entry.first != entry.text;
    const bool has_last = entry.last != entry.text;
    out += static_cast<char>(entry.flags | (has_first ? kHasFirst : 0) | (has_last ? kHasLast : 0));
    write_text(vocabulary.slice(entry.text), out);
    if (has_first) write_text(vocabulary.slice(entry.first), out);
    if (has_last) write_text(vocabulary.slice(entry.last), out);
  }
  write_u32(static_cast<std::uint32_t>(vocabulary.added_.size()), out);
  for (const AddedToken& token : vocabulary.added_) {
    write_u32(token.id, out);
    out += static_cast<char>(token.is_special);
    write_text(token.content, out);
    write_text(token.decoded, out);
  }
}

std::shared_ptr<const Vocabulary> VocabularyFile::read(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    throw VocabularyError(
        "this is not a vocabulary file: write one with `unspool export-vocabulary tokenizer.json`");
  }
  Reader reader(bytes.substr(kMagic.size()));
  if (reader.u32() != kVersion)
    throw VocabularyError("the vocabulary file is of another version: export it with this unspool");
  const std::shared_ptr<Vocabulary> vocabulary(new Vocabulary());
  const std::uint32_t flags = reader.u32();
  vocabulary->unknown_ = (flags & kRefusesUnknown) != 0 ? UnknownId::refused : UnknownId::ignored;
  vocabulary->special_breaks_text_ = (flags & kSpecialBreaksText) != 0;
  vocabulary->is_sentencepiece_ = (flags & kIsSentencepiece) != 0;
  vocabulary->joins_bytes_ = (flags & kJoinsBytes) != 0;
  vocabulary->strip_ = reader.utf8();
  vocabulary->strip_start_ = reader.u32();
  vocabulary->strip_stop_ = reader.u32();
  vocabulary->entries_.resize(reader.count());
  for (Vocabulary::Entry& entry : vocabulary->entries_) {
    const std::uint8_t entry_flags = reader.u8();
    const bool is_bytes = vocabulary->joins_bytes_ || (entry_flags & Vocabulary::kByte) != 0;
    // Only tokens that are joined may be parts of characters; any other text is emitted as it is.
    const auto read_text = [&] {
      return vocabulary->store(is_bytes ? reader.text() : reader.utf8());
    };
    entry.text = entry.first = entry.last = read_text();
    if ((entry_flags & kHasFirst) != 0) entry.first = read_text();
    if ((entry_flags & kHasLast) != 0) entry.last = read_text();
    // Whether a token is plain is derived and not believed: it decides what is checked later.
    vocabulary->set_flags(entry, static_cast<std::uint8_t>(entry_flags & ~(kHasFirst | kHasLast)));
  }
  const std::uint32_t added_count = reader.count();
  for (std::uint32_t i = 0; i < added_count; ++i) {
    AddedToken token;
    token.id = reader.u32();
    token.is_special = reader.u8() != 0;
    token.content = reader.utf8();
    token.decoded = reader.utf8();
    // An id without an entry would be looked up outside the table.
    if (!vocabulary->is_added(token.id) || vocabulary->added_index_.contains(token.id))
      throw VocabularyError("the vocabulary file is damaged: an added token has no id of its own");
    vocabulary->list(std::move(token));
  }
  if (!reader.is_at_end()) throw VocabularyError("the vocabulary file has bytes after its end");
  // Held as long as the process, and shared by all streams of a model.
  vocabulary->blob_.shrink_to_fit();
  vocabulary->make_texts();
  return vocabulary;
}

void write_vocabulary(const Vocabulary& vocabulary, std::string& out) {
  VocabularyFile::write(vocabulary, out);
}

std::shared_ptr<const Vocabulary> read_vocabulary(std::string_view bytes) {
  return VocabularyFile::read(bytes);
}

std::uint64_t Vocabulary::fingerprint() const {
  if (const std::uint64_t known = fingerprint_.load(); known != 0) return known;
  std::string bytes;
  write_vocabulary(*this, bytes);
  // Never 0, which means that it is not known yet. Two threads may compute it: they agree.
  const std::uint64_t hash = fingerprint_of(bytes) | 1;
  fingerprint_.store(hash);
  return hash;
}

}  // namespace unspool
