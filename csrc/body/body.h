// How a call is written inside its region: one reader for each grammar, with this interface.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "body/call_marks.h"
#include "body/value_reader.h"
#include "format/format.h"
#include "format/schema.h"
#include "text/archive.h"
#include "text/held.h"
#include "text/letters.h"
#include "text/local_ptr.h"

namespace unspool {

/// What a body has read goes here.
class CallSink {
 public:
  /// A call's name is certain. False: this call is refused, and the body fails.
  virtual bool begin_call(std::string_view name, std::string_view id) = 0;
  virtual void put_arguments(std::string_view fragment) = 0;
  virtual void end_call() = 0;
  /// Puts what has been written so far, if anything has.
  void put_written(std::string& text) {
    if (!text.empty()) put_arguments(text);
    text.clear();
  }
  /// The request's tools; null where they are not known.
  virtual const ToolSchemas* tools() const = 0;
  /// Whether a name alone shows that something is a call.
  bool knows_tools() const { return tools() != nullptr; }

 protected:
  ~CallSink() = default;
};

struct BodyResult {
  std::size_t consumed = 0;  // on failure: the bytes before the one that cannot be
  ScanStatus status = ScanStatus::more;
  std::string_view closer = {};      // the text of the marker that ended the body, if one did
  bool closed_section = false;       // it was the section's
  std::string_view unread = {};      // text that was consumed before but is not read
  const Letters* letters = nullptr;  // the same where it may hold tokens
};

/// Reads one call, or several, resumable at any byte. Returns after each call's end, so that its
/// owner knows where the next one begins. After `done` or `failed` it reads no more.
class Body {
 public:
  virtual ~Body() = default;

  /// A copy that has yet to be linked.
  virtual std::unique_ptr<Body> clone() const = 0;

  /// Links its parts with each other, and with the marks of its stream; null: no one asks for them.
  virtual void link(CallMarks* marks) = 0;

  virtual BodyResult put(std::string_view text, CallSink& sink) = 0;

  /// A token that the format knows by its id; fails where it cannot be part of the body.
  virtual BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) = 0;

  /// The input ended here: writes what is certain. Adds nothing that was not written.
  virtual void end(CallSink& sink) = 0;

  /// Whether nothing that matters is missing if the call ends here; writes what completes it.
  virtual bool may_end_here(CallSink& sink) = 0;

  /// The input ended inside an announced call: writes what completes it, and ends it.
  virtual void complete(CallSink&) {}

  /// What had to be mended so far, as bits of Repair.
  virtual std::uint16_t repairs() const { return 0; }

  /// After a failure: what was wrong.
  virtual const char* problem() const = 0;

  /// How many of the last bytes read may turn out to be a closer, or not the call's at all.
  virtual std::size_t undecided_bytes() const { return 0; }

  /// Appends what an announced call holds. Before that its owner has the call's raw text.
  virtual void add_held(Held&) const {}

  /// What it has read: of one that was made in the same way, which is linked once more after that.
  virtual void visit(Archive& archive) = 0;
};

struct BodyOptions {
  const ToolSchema* schema = nullptr;  // of the tool, where its name stands outside and is known
  const MarkerTexts* section_close = nullptr;
  bool repairs = false;        // almost-JSON is read as JSON
  bool in_parameter = false;   // the marker that ended the name opened the first parameter
  CallMarks* marks = nullptr;  // null: no one asks where the parts of the call stand
};

/// The body of one call.
std::unique_ptr<Body> make_body(const CallRegion& call, const CallMarkers& markers,
                                const BodyOptions& options);

}  // namespace unspool
