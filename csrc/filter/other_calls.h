// Reads calls that the model wrote in another family's way, from the text that its own family's
// parser leaves: the content, and what it reports as malformed outside of a call (`also`).
//
//   Hi. <function=f>…</function> bye     own parser: all of it is content
//       └── a family's opener: its parsers read from here, and the text waits
//                            └── a whole call of an offered tool: the call counts, its text goes
//   Hi. <function=f> is a tag.           no parser finds such a call: the text goes on as it came
//
// A parser of each family that may begin there reads the text side by side; the first one that has
// read a call wins, and goes on until text follows. A text that held no call is searched once more
// behind its first letter. That happens four times at most, so the cost stays linear.
//
// The own family's calls without their markers are read the same way (`unmarked_calls`): each
// begins with a tool's name at the start of a line, and its parser first gets the opener that is
// missing.
//
// What is quoted, in a fence for example, waits until the output ends: prose after it shows that it
// is an example (parser/quotes.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "filter/named_start.h"
#include "filter/parser_filter.h"
#include "format/other_families.h"
#include "parser/quotes.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"
#include "text/marker_set.h"

namespace unspool {

/// Used directly after a parser, with a CallFilter after it, which numbers and counts the calls.
class OtherCalls final : public ParserFilter {
 public:
  /// `options`: the inner parser's. They have tools: without these, no call counts.
  OtherCalls(std::unique_ptr<EventParser> inner, std::shared_ptr<const Format> own,
             const ParserOptions& options);

  std::unique_ptr<EventParser> clone() const override {
    return std::make_unique<OtherCalls>(*this);
  }
  void put_special(std::string_view text, std::uint64_t token_end, Events& out) override;
  bool reads_special() const override { return !readers_.empty() || ParserFilter::reads_special(); }
  Progress progress() const override;
  void add_held(Held& out) const override;
  void add_held_text(Held& out) const override;

  void visit(Archive& archive) override;

 private:
  using Family = OtherFamilies::Index;

  /// Text of the inner parser that waits, as it came.
  struct Piece {
    EventKind kind = EventKind::content;
    const char* reason = "";
    std::string text = {};
    std::uint64_t token_end = 0;

    void visit(Archive& archive);
  };
  /// A parser that reads the waiting text.
  struct Reader {
    Family family = 0;
    ClonedPtr<EventParser> parser = {};
    NamedStart start = {};  // of a call without markers
    Events events = {};
    std::size_t judged = 0, sent = 0;  // of the events
    std::string name = {};             // of the call that is open,
    std::size_t begin = 0;             // and its first event
    Quotes quotes = {};                // of its text, where the call is quoted
    std::size_t text_read = 0;         // of the event that is judged next
    bool has_quoted = false;           // a whole call, which prose may follow
  };
  enum class Verdict : std::uint8_t { open, call, text, none };
  /// What becomes of the next bytes of text: they stay, or they are a call's, which has an audit of
  /// its own.
  struct Decision {
    std::size_t bytes = 0;
    bool is_call = false;

    void visit(Archive& archive) { archive(bytes, is_call); }
  };

  void pass(const Events& in, std::uint64_t token_end, Events& out) override;
  void pass_event(const Event& event, const Events& in, Events& out);
  bool is_plain(std::string_view text) const;
  std::string_view next_text() const;
  void advance(std::size_t bytes);
  bool has_call() const { return calls_ > first_call_; }
  std::size_t most_bytes() const { return options_.limits.max_held_bytes + 1; }
  void search_all(Events& out);
  void search(std::string_view text, Events& out);
  bool begin_at_line(std::string_view text, Events& out);
  void begin(const std::vector<Family>& families, std::size_t opener_bytes, Events& out);
  void put_to_readers(std::string_view text, std::uint64_t token_end, Events& out);
  void act(Events& out);
  Verdict judge(Reader& reader) const;
  void count(Reader& reader, Events& out);
  void send(Reader& reader, Events& out);
  void drop_read(const Reader& reader);
  void end_reading(Events& out);
  void reject(Events& out);
  void finish_waiting(FinishReason reason, std::uint64_t token_end, Events& out);
  void forward(std::size_t bytes, Events& out);
  template <typename Use>
  void take(std::size_t bytes, Use&& use);
  void read_again();
  void decide(std::size_t bytes, bool is_call);
  void follow_line(std::string_view text);
  void pass_audit(const Events& in, Events& out);
  std::unique_ptr<EventParser> make_parser(Family family) const;
  bool is_sound() const;

  std::shared_ptr<const Format> own_;
  const OtherFamilies* families_;  // of `own_`
  ParserOptions options_;
  MarkerCursor cursor_;
  bool at_line_begin_ = true;
  Quotes quotes_;                        // of the text that was passed on
  bool is_quoted_ = false;               // what the readers read
  bool is_ending_ = false;               // no text follows
  std::deque<Piece> waiting_;            // text that is not passed on
  std::size_t first_byte_ = 0;           // of the first piece
  std::size_t piece_ = 0;                // the piece that is read next,
  std::size_t piece_bytes_ = 0;          // where in it,
  std::size_t read_bytes_ = 0;           // and what has been read of all pieces
  std::size_t judged_bytes_ = 0;         // and up to the last byte that can end a call
  std::size_t searched_bytes_ = 0;       // of what waits: searched before,
  std::uint8_t depth_ = 0;               // and how often
  std::vector<Reader> readers_;          // of the waiting text, from its begin
  std::uint8_t begin_depth_ = 0;         // where that text begins
  std::size_t call_bytes_ = 0;           // of the calls that the one reader has read; for the audit
  std::int32_t first_call_ = 0;          // of the reader
  std::int32_t calls_ = 0;               // that have begun, of all families
  std::vector<std::int32_t> own_calls_;  // the number of each call of the inner parser
  std::deque<Events::Audited> audit_, call_audit_;
  std::deque<Decision> decisions_;
};

}  // namespace unspool
