#include "parser/echo_reader.h"

#include <utility>

#include "text/white_space.h"

namespace unspool {

bool EchoReader::read(const Letter& letter) {
  Echo& echo = core_.echo;
  // It may stand between the call and its echo.
  if (!echo.is_begun() && is_blank(letter.text)) return false;
  if (!echo.is_begun()) echo.choose(letter);
  if (!echo.fits(letter) || !(echo.is_begun() || may_begin())) {
    give_up();
    return false;
  }
  // The cursor holds only white space, which comes before the echo.
  if (!echo.is_begun()) flush_cursor();
  echo.put(letter);
  if (echo.is_whole()) drop();
  return true;
}

bool EchoReader::may_begin() const {
  return at_.state == State::content &&
         (!core_.trial.is_on() || core_.trial.follows_call || core_.waits_for_more()) &&
         at_.idle.empty() && at_.boundary == Boundary::after_markup &&
         is_blank(core_.cursor.held());
}

// The echo is part of the call's text, and is recorded in its repairs.
void EchoReader::drop() {
  core_.put_call_text(Fate::whitespace, std::exchange(at_.space, {}));
  core_.put_call_text(Fate::tool_call, core_.echo.held());
  const bool is_restart = core_.echo.is_restart();
  core_.echo.accept();
  if (core_.calls.end_waits()) {
    core_.calls.mend_end(kMarkup);
  } else if (!core_.calls.is_over() && core_.calls.number() >= 0) {
    // A second end of the same call, which adds a repair; CallEndFilter joins the two.
    core_.events().add_end(core_.calls.number(), CallStatus::complete, core_.token_end,
                           std::uint16_t{kMarkup});
  }
  core_.after_markup(is_restart ? std::string_view() : core_.call().close.after);
}

}  // namespace unspool
