// A call as one JSON object that holds name and arguments; one object, or an array of them.
#pragma once

#include <string>

#include "body/body.h"
#include "body/json_in_string.h"
#include "body/json_string.h"

namespace unspool {

class JsonCall final : public Body {
 public:
  /// `is_tentative`: nothing marks this as a call, so it is not announced before it has arguments.
  JsonCall(const JsonCallSpec& spec, bool is_tentative)
      : spec_(spec), is_tentative_(is_tentative) {}

  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  void end(CallSink&) override {}
  bool may_end_here(CallSink& sink) override;
  const char* problem() const override { return problem_; }
  std::size_t undecided_bytes() const override { return unread_.size(); }

 private:
  enum class State : std::uint8_t {
    start,             // { or [
    first_element,     // { or ]
    element,           // {
    after_element,     // , or ]
    first_key,         // a key or }
    key,               // a key
    key_string,        // inside a key
    colon,             // :
    value,             // a value, whose meaning the key tells
    name_string,       // inside the name
    id_string,         // inside the id
    arguments_object,  // inside the arguments
    arguments_string,  // inside a string that holds the arguments
    arguments_null,    // inside null
    flat_value,        // inside an argument that stands beside the name
    skipped_value,     // inside a value that means nothing here
    after_value,       // , or }
  };
  enum class Key : std::uint8_t { other, name, arguments, id, wrapper, flat };
  enum class Step : std::uint8_t { next, again, call_ended, failed, done };

  BodyResult read(std::string_view text, CallSink& sink);
  bool in_string() const;
  std::size_t put_string(std::string_view text, std::string& into, bool& is_end);
  std::size_t put_arguments_string(std::string_view text, CallSink& sink);
  std::size_t put_scanned(std::string_view text, CallSink& sink);
  Step step(char byte, CallSink& sink);
  Step begin_object();
  Step end_object(CallSink& sink);
  Step end_member(CallSink& sink);
  Step begin_value(char byte, CallSink& sink);
  bool begin_flat(CallSink& sink);
  void keep_unread(std::size_t from);
  Step fail(const char* problem);
  Key classify_key();
  bool announce(CallSink& sink);
  void say_arguments(std::string_view text, CallSink& sink);

  const JsonCallSpec& spec_;
  bool is_tentative_;
  State state_ = State::start;
  Key key_kind_ = Key::other;
  bool in_array_ = false;
  bool has_calls_ = false;
  std::uint8_t depth_ = 0;  // 1 in the call, 2 in a wrapper object inside it
  // Of the call being read:
  bool has_name_ = false;
  bool has_arguments_ = false;  // their key has been seen
  bool arguments_done_ = false;
  bool is_announced_ = false;
  std::uint8_t name_depth_ = 0;
  std::uint8_t other_depths_ = 0;  // where keys stood that mean nothing, as bits
  bool is_flat_ = false;           // the arguments stand beside the name
  std::string name_, id_, key_;
  std::string held_arguments_;  // written before the name
  std::string out_;             // of this call of put
  ValueReader reader_;
  JsonStringDecoder decoder_;
  bool keeps_unread_ = false;    // it may turn out to be lost
  std::size_t unread_from_ = 0;  // where it begins in the text of this call of put
  std::string unread_;           // what stands between the name and the arguments
  JsonInString inner_;           // of a string that holds the arguments
  const char* problem_ = "";
};

}  // namespace unspool
