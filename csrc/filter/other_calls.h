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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "filter/named_start.h"
#include "filter/parser_filter.h"
#include "filter/waiting_text.h"
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
  using Place = WaitingText::Place;

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
  bool has_call() const { return calls_ > first_call_; }
  /// How much more the readers may read.
  std::size_t room() const {
    const std::size_t most = options_.limits.max_held_bytes + 1;
    return most - std::min(most, static_cast<std::size_t>(read_ - waiting_.begin()));
  }
  void search_all(Events& out);
  void search(std::string_view text, Events& out);
  bool begin_at_line(std::string_view text, Events& out);
  void begin(const std::vector<Family>& families, Events& out);
  void put_to_readers(std::string_view text, std::uint64_t token_end, Events& out);
  void act(Events& out);
  Verdict judge(Reader& reader) const;
  void count(Reader& reader, Events& out);
  void send(Reader& reader, Events& out);
  void drop_read(const Reader& reader);
  void end_reading(Events& out);
  void reject(Events& out);
  void finish_waiting(FinishReason reason, std::uint64_t token_end, Events& out);
  void forward(Place to, Events& out);
  void read_again() { read_ = judged_ = waiting_.begin(); }
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
  WaitingText waiting_;                  // text that is not passed on
  Place read_ = 0;                       // what is read next
  Place judged_ = 0;                     // after the last byte that was read and can end a call
  Place searched_ = 0;                   // the end of what was searched before,
  std::uint8_t depth_ = 0;               // and how often
  std::vector<Reader> readers_;          // of the waiting text,
  Place begin_ = 0;                      // and where they began
  std::int32_t first_call_ = 0;          // of the reader
  std::int32_t calls_ = 0;               // that have begun, of all families
  std::vector<std::int32_t> own_calls_;  // the number of each call of the inner parser
  std::deque<Events::Audited> audit_, call_audit_;
  std::deque<Decision> decisions_;
};

}  // namespace unspool
