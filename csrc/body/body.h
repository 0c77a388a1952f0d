// The interface for reading a call inside its region; one reader per grammar.
//
// What its owner (CallReader) may rely on:
//
//   put          any piece of the text. The sink hears of the name, the arguments, the end, in this
//                order, during the put in which they become certain
//   consumed     the bytes that it took. It takes less only at the end of a call, or at a fault
//   unread       bytes of earlier puts that turned out not to be its own: the beginning of a tag
//   undecided_bytes   how many of the last bytes could still become unread
//
// At the end of the output there are three questions: is the call whole (may_end_here), what is
// certain (end), and, with repair, what completes it (complete).
//
// A body never looks at what follows its call, except at the bytes that tell where the call ends.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "body/call_marks.h"
#include "body/value_reader.h"
#include "format/format.h"
#include "format/schema.h"
#include "text/archive.h"
#include "text/byte_classes.h"
#include "text/held.h"
#include "text/letters.h"
#include "text/local_ptr.h"

namespace unspool {

/// Receives what a body reads.
// Calls during a put: a body may announce a call, write its arguments and end it within one text.
class CallSink {
 public:
  /// Called when the call's name is certain. False: the call is rejected, and the body fails.
  virtual bool begin_call(std::string_view name, std::string_view id) = 0;
  virtual void put_arguments(std::string_view fragment) = 0;
  virtual void end_call() = 0;
  /// Puts the text written so far, if any.
  void put_written(std::string& text) {
    if (!text.empty()) put_arguments(text);
    text.clear();
  }
  /// The request's tools; null if they are unknown.
  virtual const ToolSchemas* tools() const = 0;
  /// Whether a name alone identifies a call.
  bool knows_tools() const { return tools() != nullptr; }

 protected:
  ~CallSink() = default;
};

/// Text without a byte of the classes `stops` only continues a string of the arguments, as it is or
/// escaped.
struct BodyRest {
  ByteClasses stops = kAllClasses;
  bool escapes = false;
  bool holds_line_break = false;  // at its end, and nothing else of it
};

struct BodyResult {
  std::size_t consumed = 0;  // on failure: the bytes before the invalid byte
  ScanStatus status = ScanStatus::more;
  std::string_view closer = {};      // the text of the marker that ended the body, if any
  bool closed_section = false;       // it was the closer of the section
  std::string_view unread = {};      // text that was consumed earlier but was not read
  const Letters* letters = nullptr;  // the same text, if it may contain tokens
};

/// Reads one call or several, resumable at any byte. Returns after each call's end, so that the
/// owner knows where the next call begins. After `done` or `failed` it reads no more.
class Body {
 public:
  virtual ~Body() = default;

  /// A copy; it must be linked before use.
  virtual std::unique_ptr<Body> clone() const = 0;

  /// Links its parts with each other and with the stream's marks; null: no marks are needed.
  virtual void link(CallMarks* marks) = 0;

  virtual BodyResult put(std::string_view text, CallSink& sink) = 0;

  /// A token that the format matches by id; fails if it cannot be part of the body.
  virtual BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) = 0;

  /// Whether what follows decides how the last text is read: as a quote, or as a damaged call.
  virtual bool is_undecided() const { return false; }
  /// The input has ended: decides. `is_restart`: the last text begins as the call does.
  virtual BodyResult decide(bool /*is_restart*/, CallSink&) { return {}; }
  /// How often the text that it gives back may still be held and read again.
  virtual std::uint8_t tries() const { return kMaxTries; }
  static constexpr std::uint8_t kMaxTries = 8;

  /// The input has ended: writes what is certain, and adds nothing that the model did not write.
  virtual void end(CallSink& sink) = 0;

  /// Whether the call may end here, with nothing significant missing; writes what completes it.
  virtual bool may_end_here(CallSink& sink) = 0;

  /// The input has ended inside an announced call: writes what completes the call, and ends it.
  virtual void complete(CallSink&) {}

  /// The repairs so far, as bits of Repair.
  virtual std::uint16_t repairs() const { return 0; }

  /// After a failure: the reason.
  virtual const char* problem() const = 0;

  /// After a failure in a list: where the next call begins in a text that follows the faulty one.
  /// The text's size if that needs more of it; `kNoCall` if none does.
  virtual std::size_t find_next(std::string_view, const ToolSchemas*) const { return kNoCall; }
  static constexpr std::size_t kNoCall = std::string_view::npos;

  /// Whether a string of the arguments goes on whatever text comes.
  virtual BodyRest rest() const { return {}; }

  /// How many of the last bytes may turn out to be a closer, or no part of the call.
  virtual std::size_t undecided_bytes() const { return 0; }

  /// Appends what an announced call holds back. Before that, its owner has the raw text.
  virtual void add_held(Held&) const {}

  /// The state. The reader must have been created in the same way, and is linked again afterwards.
  virtual void visit(Archive& archive) = 0;
};

struct BodyOptions {
  const ToolSchema* schema = nullptr;  // of the tool, if its name is outside the body and known
  const ToolSchemas* tools = nullptr;  // the request's, if they are known
  const MarkerTexts* section_close = nullptr;
  std::size_t max_held = 0;    // bytes of a quoted call in a value
  std::uint8_t tries = 0;      // how often the same text may be held and read again
  bool repairs = false;        // accept almost-JSON
  bool in_parameter = false;   // the marker that ended the name also opened the first parameter
  CallMarks* marks = nullptr;  // null: the positions of the call's parts are not needed
};

/// The body of one call.
std::unique_ptr<Body> make_body(const CallRegion& call, const CallMarkers& markers,
                                const BodyOptions& options);

}  // namespace unspool
