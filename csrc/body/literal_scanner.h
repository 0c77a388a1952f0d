// Reads one value that is almost JSON as it arrives, and writes it as JSON: Python literals, JSON
// as models slip in it, and dialects with bare words and quotes of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "body/json_scanner.h"
#include "body/scalar.h"
#include "format/schema.h"
#include "text/held.h"
#include "text/marker_set.h"

namespace unspool {

enum class LiteralStyle : std::uint8_t {
  json,    // JSON with single quotes, bare keys, Python's words, commas too many
  python,  // Python literals: strings with prefixes and escapes, tuples, sets
  bare,    // unquoted text is a string; further quotes are markers
};

/// What had to be mended, as bits.
enum Repair : std::uint16_t {
  kSingleQuotes = 1,
  kTrailingComma = 2,
  kPythonLiteral = 4,
  kUnquotedKey = 8,
  kRawNewline = 16,
  kClosed = 32,
  kDuplicateKey = 64,  // of two by one name the first was kept
  kQuotedValue = 128,
  kMissingQuote = 256,
  kMarkup = 512,  // a marker was missing, or not spelled as the format spells it
};

/// One value, resumable at any byte. White space before it is read too.
class LiteralScanner {
 public:
  /// `quotes`: markers that open and close a string without escapes; may be null. `schema`: of the
  /// tool whose arguments the value is; a parameter that is no string by it is none in quotes
  /// either.
  /// `repairs`: in bare style, single quotes are quotes, and a marker quote ends a string that none
  /// has opened.
  explicit LiteralScanner(LiteralStyle style, const MarkerSet* quotes = nullptr,
                          const ToolSchema* schema = nullptr, bool repairs = false);

  /// Reads up to the end of the value; appends JSON to `out`. A bare word has no end of its own: it
  /// ends before a comma, colon, closing bracket or (but in bare style) white space.
  /// `yields`: it stops before a byte that has only shown what stands before it, once that is
  /// written.
  ScanResult put(std::string_view text, std::string& out, bool yields = false);

  /// Reads a token that the format knows by its id.
  ScanResult put_token(Symbol symbol, std::string_view literal, std::string& out);

  /// The input ended: writes what is certain of a word; what was written stays a prefix of JSON.
  void end(std::string& out);

  /// Writes what is missing to make the value whole.
  void close(std::string& out);

  bool has_begun() const { return state_ != State::value || !stack_.empty(); }
  bool is_complete() const;
  bool in_string() const;
  /// Appends what was read and not yet written.
  void add_held(Held& out) const;
  /// The bare word that is being read, or that could not be read.
  std::string_view word() const {
    return state_ == State::word ? std::string_view(word_) : std::string_view{};
  }
  /// The last of what was read that is not written, as it was read: a word, or a comma that counts
  /// only if something follows. After a failure, what could not be read.
  std::string_view unwritten() const { return state_ == State::word ? word_ : pending_; }
  /// What may be the beginning of a marker quote.
  std::string_view cursor_held() const {
    return quotes_ == nullptr ? std::string_view{} : cursor_.held();
  }
  std::uint16_t repairs() const { return repairs_; }
  void reset() { *this = LiteralScanner(style_, quotes_, schema_, mends_); }

 private:
  enum class State : std::uint8_t {
    value,         // a value must come, or the end of a list
    key,           // a key, or the end of the object
    colon,         // :
    after_value,   // , or the end of the container
    quote_open,    // behind one or two quotes of a Python string
    string,        // inside a string
    escape,        // behind a backslash
    code_point,    // inside \x, \u, \U or an octal escape
    maybe_close,   // behind a quote that may be the string's end
    triple_close,  // behind one or two quotes inside a triple-quoted string
    marked,        // inside a string between marker quotes
    word,          // inside a bare word
    bare_string,   // inside a bare word that can only be text
    done,
  };
  enum class Step : std::uint8_t { next, again, failed };
  /// A container: what closes it and what is written. `{` in Python may turn out to be a set.
  enum Frame : char { object = 'o', list = 'a', tuple = 't', set = 's', undecided = 'u' };

  Step step(char byte, std::string& out);
  Step begin_value(char byte, std::string& out);
  Step begin_key(char byte, std::string& out);
  Step begin_container(char byte, std::string& out);
  Step end_container(char byte, std::string& out);
  Step after_value(char byte, std::string& out);
  void begin_word(std::string& out);
  Step read_word(char byte, std::string& out);
  void write_word_beginning(std::string& out);
  Step read_string(char byte, std::string& out);
  Step read_escape(char byte, std::string& out);
  Step read_code_point(char byte, std::string& out);
  Step end_code_point(std::string& out);
  void begin_string(char quote, std::string& out);
  void end_string(std::string& out);
  bool end_word(std::string& out);
  bool write_word(const std::string& word, std::string& out);
  void become_bare_string(std::string& out);
  void bare_text(std::string_view text, std::string& out);
  void begin_element(std::string& out);
  void end_value();
  void decide(Frame frame, std::string& out);
  void decide_cut(std::string& out);
  void quote_key();
  std::string whole_word(const std::string& word) const;
  bool is_terminator(char byte) const;
  bool in_bare_text() const {
    return quotes_ != nullptr && !is_key_ &&
           (state_ == State::word || state_ == State::bare_string);
  }
  std::size_t put_marked(std::string_view text, std::string& out);
  ScanResult put_bare(std::string_view text, std::string& out);
  bool end_bare(std::string& out);
  void on_quote(std::string& out);
  void marked_text(std::string_view text, std::string& out);
  void write_typed(std::string& out);
  /// Where text goes: into `held_` while a brace is undecided.
  std::string& to(std::string& out) {
    return !stack_.empty() && stack_.back() == undecided ? held_ : out;
  }

  LiteralStyle style_;
  const MarkerSet* quotes_;
  const ToolSchema* schema_;
  bool mends_;
  MarkerCursor cursor_;
  State state_ = State::value;
  std::string stack_;
  bool is_key_ = false;  // the string or word being read
  bool is_raw_ = false;
  bool is_triple_ = false;
  char quote_ = 0;
  std::uint8_t count_ = 0;   // quotes seen, or digits of an escape
  std::uint8_t digits_ = 0;  // that the escape has
  std::uint32_t code_point_ = 0;
  char escape_ = 0;
  bool first_ = true;  // nothing has been read in the container
  TypedCandidate candidate_;
  std::string word_;                   // a bare word, or white space at the end of a bare string
  std::string pending_;                // a comma and what followed it
  std::string held_;                   // what follows a brace that may open a set
  std::string parameter_;              // the last key of the outermost object
  const TypeSet* typed_as_ = nullptr;  // of a quoted text that is no string
  std::string typed_;                  // that text
  std::uint16_t repairs_ = 0;
};

/// Appends the value of a quoted text that the schema calls something else than a string: a list or
/// an object as JSON or Python writes it, a number, a word.
void append_typed_literal(std::string_view text, TypeSet types, std::string& out);

}  // namespace unspool
