// JSON inside a JSON string: "{\"city\": \"Paris\"}", decoded and scanned as it arrives.
#pragma once

#include <string>
#include <string_view>

#include "body/call_marks.h"
#include "body/json_string.h"
#include "body/value_reader.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"

namespace unspool {

/// Starts after the opening quote. White space is allowed around the object; an empty string means
/// {}.
class JsonInString {
 public:
  struct Result {
    std::size_t consumed = 0;  // on an error: the bytes before the invalid byte
    bool is_end = false;       // the closing quote was read
    const char* problem = "";
  };

  /// From now on marks the object's members; a copy does so only once it is linked.
  void link(CallMarks* marks) {
    if (marks == nullptr) return;
    if (!members_) members_ = std::make_unique<ValueMarks>();
    members_->link(*marks, reader_);
    reader_.set_listener(&*members_);
  }

  /// Appends the object's text to `out`. `place`: position of the text in the body's put.
  Result put(std::string_view text, std::size_t place, std::string& out);

  /// How many bytes of an unfinished escape have been read.
  std::size_t escape_bytes() const { return escape_bytes_; }

  void reset() {
    decoder_.reset();
    reader_.reset();
    escape_bytes_ = 0;
  }

  void visit(Archive& archive) {
    archive(decoder_, reader_, escape_bytes_);
    if (members_) archive(*members_);
  }

 private:
  std::size_t read(std::string_view text, std::string& out);

  void begin_marks(std::size_t place, const JsonStringDecoder::Piece& piece);

  JsonStringDecoder decoder_;
  ValueReader reader_;
  ClonedPtr<ValueMarks> members_;
  std::size_t escape_bytes_ = 0;  // of an unfinished escape
};

}  // namespace unspool
