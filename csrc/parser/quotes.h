// Where content quotes, as Markdown does. A call there may be an example.
//
//   ```xml                    a fence of backquotes or tildes, up to its end
//   <tool_call>…
//   ```
//   Write `<tool_call>…`      backquotes, up to a blank line
//   - <tool_call>…            an item of a list, and `1.`; with the indented lines after it
//   > <tool_call>…            a quotation, on its line
//
// After a quoted call, `has_prose` says whether anything but such markup has followed.
#pragma once

#include <cstdint>
#include <string_view>

#include "parser/rest.h"
#include "text/archive.h"

namespace unspool {

class Quotes {
 public:
  void put(std::string_view text);
  /// A marker precedes what comes next, which may begin a line.
  void after_marker() { phase_ = Phase::prefix; }
  /// The same if that is not quoted.
  void begin_line() {
    end_line();
    ticks_ = 0;
    is_in_list_ = false;
  }

  /// Whether what comes next is quoted.
  bool is_quoting() const;
  /// Whether it stands in a fence or between backquotes.
  bool is_in_code() const;

  void expect_no_prose() { has_prose_ = false; }
  bool has_prose() const { return has_prose_; }

  /// Whether the quote ends in the text, and prose follows it there.
  bool precedes_prose(std::string_view text) const;

  /// Whether text without a line break or a backquote changes nothing.
  bool is_at_rest() const { return phase_ == Phase::text; }
  /// Whether lines without `kLineMarks` change no more than the phase.
  bool passes_lines() const {
    return (phase_ == Phase::text || phase_ == Phase::prefix) && ticks_ == 0 && !is_item_ &&
           !is_in_list_;
  }
  void pass_over(PassedLine line);

  void visit(Archive& archive) {
    archive.choice(phase_, Phase::text);
    archive(fence_, fence_size_, ticks_, mark_, run_, begins_line_, is_item_, is_in_list_, indent_,
            has_prose_);
  }
  bool operator==(const Quotes&) const = default;

 private:
  enum class Phase : std::uint8_t {
    prefix,  // of a line: spaces, `>`, bullets and numbers
    bullet,  // a possible one at hand; a space completes it
    run,     // backquotes or tildes
    info,    // after the opening run of a fence
    after_run,
    text,
  };

  void put(char byte);
  void begin_run(char byte);
  void end_run(char next);
  void be_text();
  void end_line();
  bool continues_item() const {
    return is_in_list_ && indent_ >= kItemIndent && phase_ == Phase::prefix;
  }

  static constexpr std::uint8_t kItemIndent = 2;

  Phase phase_ = Phase::prefix;
  char fence_ = 0;  // its character; 0: no fence is open
  std::uint8_t fence_size_ = 0;
  std::uint8_t ticks_ = 0;    // of the open backquotes
  char mark_ = 0;             // of the run or bullet; after a fence, the last letter of its line
  std::uint8_t run_ = 0;      // its size
  bool begins_line_ = false;  // of the run
  bool is_item_ = false;      // the line is an item of a list or a quotation
  bool is_in_list_ = false;   // an item precedes the line
  std::uint8_t indent_ = 0;   // then: of the line, while it has nothing else
  bool has_prose_ = false;
};

}  // namespace unspool
