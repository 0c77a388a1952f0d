// Value dialects, JSON and almost-JSON, as tables of the effect of each byte.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace unspool {

enum class ValueState : std::uint8_t {
  value,          // expects a value
  first_element,  // a value, or the end of the list
  element,        // after a comma in a list
  first_key,      // a key or }
  key,            // after a comma in an object
  colon,          // :
  after_value,    // , or the end of the container
  string,         // inside a string
  escape,         // after a backslash
  hex_1,          // inside \uXXXX: how many digits have been read, plus one
  hex_2,
  hex_3,
  hex_4,
  t_rue,  // inside true: what has been read, and what must come
  tr_ue,
  tru_e,
  f_alse,
  fa_lse,
  fal_se,
  fals_e,
  n_ull,
  nu_ll,
  nul_l,
  minus,            // expects a digit
  zero,             // after a leading 0
  integer,          // in digits
  point,            // expects a digit
  fraction,         // in digits after the point
  exponent,         // expects a sign or digit
  exponent_sign,    // expects a digit
  exponent_digits,  // in the exponent's digits
  // Not in JSON:
  quote_open,    // after one or two quotes of a Python string
  code_point,    // inside \x, \u, \U or an octal escape
  maybe_close,   // after a quote that may end the string
  after_closer,  // after such a quote and a byte that may end the argument
  triple_close,  // after one or two quotes inside a triple-quoted string
  word,          // inside a word or number whose end is not known yet
  key_word,      // inside a key without quotes
  bare_string,   // inside a word that can only be text
  marked,        // inside a string between marker quotes
  opening,       // inside a text that may open a string with its own delimiter
  delimited,     // inside such a string
  done,
};

/// The effect of a byte that does more than change the state.
enum class ValueAction : std::uint8_t {
  none = static_cast<std::uint8_t>(ValueState::done),  // only changes the state
  open,
  open_in_set,  // a brace that contains a container opens a set
  close,
  begin_key,
  begin_string,
  begin_scalar,  // a number or a word that is JSON
  begin_word,
  begin_key_word,
  end_string,
  end_literal,
  end_number,  // by a byte that does not belong to the number
  colon,
  colon_of_key,  // in a brace that may be a set
  comma,
  hold_comma,  // counts only if another element follows
  hold_space,
  raw_control,  // a control character inside a string
  step,         // as the state's own function decides
  fail,
};

class ValueStep {
 public:
  constexpr ValueStep() = default;
  constexpr ValueStep(ValueState state) : code_(static_cast<std::uint8_t>(state)) {}
  constexpr ValueStep(ValueAction action) : code_(static_cast<std::uint8_t>(action)) {}

  // Actions are numbered after the states, so one byte holds either, and a table has one per entry.
  constexpr bool is_state() const { return code_ <= static_cast<std::uint8_t>(ValueState::done); }
  constexpr ValueState state() const { return static_cast<ValueState>(code_); }
  constexpr ValueAction action() const { return static_cast<ValueAction>(code_); }

 private:
  std::uint8_t code_ = static_cast<std::uint8_t>(ValueAction::fail);
};

/// How the notation of values differs from JSON.
struct DialectRules {
  bool raw_controls = true;     // control characters in strings are accepted and escaped
  bool loose = false;           // Python's words and numbers, unquoted keys, extra commas
  bool single_quotes = false;   // 'text' is a string
  bool tuples = false;          // (1, 2) is a list
  bool python_strings = false;  // escapes, prefixes and three quotes
  bool sets = false;            // a brace may open a set
  bool bare_text = false;       // any other word is a string
  bool mends_bare = false;      // = after a key is a colon; a marker quote may end bare text
  bool plain_keys = false;      // a key of letters, digits and _-.$ needs no quotes
};

struct Dialect {
  DialectRules rules;
  std::array<std::array<ValueStep, 256>, static_cast<std::size_t>(ValueState::done) + 1> table{};

  ValueStep next(ValueState state, char byte) const {
    return table[static_cast<std::size_t>(state)][static_cast<unsigned char>(byte)];
  }

  /// Consumes bytes that only change the state, up to the end of the text or into a string. Returns
  /// the action of the byte that stops it.
  ValueAction follow(ValueState& state, std::string_view text, std::size_t& i) const {
    while (i < text.size()) {
      const ValueStep step = next(state, text[i]);
      if (!step.is_state()) return step.action();
      state = step.state();
      ++i;
      // The inside of a string is searched sixteen bytes at a time instead.
      if (state == ValueState::string) break;
    }
    return ValueAction::none;
  }
};

extern const Dialect kJson;
extern const Dialect kStrictJson;  // exact JSON
extern const Dialect kNearlyJson;  // JSON with common model mistakes
extern const Dialect kPython;      // Python literals
extern const Dialect kDicts;       // Python's dicts and lists, in place of JSON
extern const Dialect kBareText;    // unquoted text is a string
extern const Dialect kNearlyBare;  // the same, with common model mistakes
extern const Dialect kPlainKeys;   // JSON with plain keys

/// Whether a byte ends a word; a colon and a round bracket do so only in some places.
inline bool ends_word(char byte) {
  return byte == ',' || byte == '}' || byte == ']' || byte == ')' || byte == ':';
}

}  // namespace unspool
