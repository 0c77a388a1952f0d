// A dialect is a table: for each state and byte, the next state or an action of the reader. JSON's
// table is made first; a looser dialect then overwrites the entries that differ. So all dialects
// are read by one loop, and what a dialect accepts costs the others nothing:
//
//   state        byte    JSON           kNearlyJson
//   value        '       fail           begin_string
//   value        T       fail           begin_word      True
//   after_value  ,       comma          hold_comma      [1, 2,]
//   first_key    a       fail           begin_key_word  {a: 1}
//
// The tables are made by the compiler.
#include "body/dialect.h"

namespace unspool {

namespace {

using S = ValueState;
using A = ValueAction;

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";
constexpr std::string_view kPlainKey =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.$";

constexpr auto& row(Dialect& dialect, S state) {
  return dialect.table[static_cast<std::size_t>(state)];
}

constexpr void set_step(Dialect& dialect, S state, std::string_view bytes, ValueStep step) {
  for (const char byte : bytes) row(dialect, state)[static_cast<unsigned char>(byte)] = step;
}

constexpr void add_structure(Dialect& made) {
  for (const S state :
       {S::value, S::first_element, S::element, S::first_key, S::key, S::colon, S::after_value}) {
    set_step(made, state, kBlank, state);
  }
  for (const S state : {S::value, S::first_element, S::element}) {
    set_step(made, state, "{[", A::open);
    set_step(made, state, "\"", A::begin_string);
    set_step(made, state, "tfn-", A::begin_scalar);
    set_step(made, state, kDigits, A::begin_scalar);
  }
  set_step(made, S::first_element, "]", A::close);
  set_step(made, S::first_key, "}", A::close);
  for (const S state : {S::first_key, S::key}) set_step(made, state, "\"", A::begin_key);
  set_step(made, S::colon, ":", A::colon);
  set_step(made, S::after_value, ",", A::comma);
  set_step(made, S::after_value, "}]", A::close);
}

constexpr void add_strings(Dialect& made) {
  row(made, S::string).fill(S::string);
  for (std::size_t byte = 0; byte < 0x20; ++byte) {
    row(made, S::string)[byte] = made.rules.raw_controls ? A::raw_control : A::fail;
  }
  set_step(made, S::string, "\"", A::end_string);
  set_step(made, S::string, "\\", S::escape);
  set_step(made, S::escape, "\"\\/bfnrt", S::string);
  set_step(made, S::escape, "u", S::hex_1);
  set_step(made, S::hex_1, kHexDigits, S::hex_2);
  set_step(made, S::hex_2, kHexDigits, S::hex_3);
  set_step(made, S::hex_3, kHexDigits, S::hex_4);
  set_step(made, S::hex_4, kHexDigits, S::string);
}

constexpr void add_scalars(Dialect& made) {
  set_step(made, S::t_rue, "r", S::tr_ue);
  set_step(made, S::tr_ue, "u", S::tru_e);
  set_step(made, S::tru_e, "e", A::end_literal);
  set_step(made, S::f_alse, "a", S::fa_lse);
  set_step(made, S::fa_lse, "l", S::fal_se);
  set_step(made, S::fal_se, "s", S::fals_e);
  set_step(made, S::fals_e, "e", A::end_literal);
  set_step(made, S::n_ull, "u", S::nu_ll);
  set_step(made, S::nu_ll, "l", S::nul_l);
  set_step(made, S::nul_l, "l", A::end_literal);
  for (const S state : {S::zero, S::integer, S::fraction, S::exponent_digits}) {
    // Whatever follows a number ends it, and is then read in the state after the value.
    row(made, state).fill(A::end_number);
  }
  // A leading zero stands alone in JSON: `01` is rejected.
  set_step(made, S::minus, kDigits, S::integer);
  set_step(made, S::minus, "0", S::zero);
  set_step(made, S::integer, kDigits, S::integer);
  for (const S state : {S::zero, S::integer}) set_step(made, state, ".", S::point);
  for (const S state : {S::zero, S::integer, S::fraction}) set_step(made, state, "eE", S::exponent);
  set_step(made, S::point, kDigits, S::fraction);
  set_step(made, S::fraction, kDigits, S::fraction);
  set_step(made, S::exponent, kDigits, S::exponent_digits);
  set_step(made, S::exponent, "+-", S::exponent_sign);
  set_step(made, S::exponent_sign, kDigits, S::exponent_digits);
  set_step(made, S::exponent_digits, kDigits, S::exponent_digits);
}

// Allows words for JSON's numbers and literals, unquoted keys, and extra commas.
constexpr void loosen(Dialect& made) {
  for (const S state : {S::value, S::first_element, S::element}) {
    // Any byte may begin a word; whether it is one is known at its end.
    row(made, state).fill(A::begin_word);
    set_step(made, state, kBlank, state);
    set_step(made, state, ",:)}]", A::fail);
    set_step(made, state, made.rules.tuples ? "{[(" : "{[", A::open);
    set_step(made, state, "\"", A::begin_string);
    if (made.rules.single_quotes) set_step(made, state, "'", A::begin_string);
  }
  // `[1, 2, ]`: the comma before it was held, and is dropped.
  for (const S state : {S::first_element, S::element}) set_step(made, state, ")}]", A::close);
  for (const S state : {S::first_key, S::key}) {
    row(made, state).fill(A::begin_key_word);
    set_step(made, state, kBlank, state);
    set_step(made, state, ",:)]{[", A::fail);
    set_step(made, state, "}", A::close);
    set_step(made, state, "\"'", A::begin_key);
  }
  if (made.rules.sets) {
    set_step(made, S::first_key, "{[(", A::open_in_set);
    // A colon after the first element of a set: it was a dict's key.
    set_step(made, S::after_value, ":", A::colon_of_key);
  }
  // White space after a held comma belongs to it.
  for (const S state : {S::element, S::key}) set_step(made, state, kBlank, A::hold_space);
  set_step(made, S::after_value, ",", A::hold_comma);
  set_step(made, S::after_value, ")", A::close);
  // Whether a line break may stand here depends on the string's quotes.
  for (std::size_t byte = 0; byte < 0x20; ++byte) row(made, S::string)[byte] = A::step;
  set_step(made, S::string, "\"'\\", A::step);
  for (const S state : {S::escape, S::quote_open, S::code_point, S::maybe_close, S::triple_close,
                        S::word, S::key_word, S::bare_string}) {
    row(made, state).fill(A::step);
  }
}

constexpr void add_plain_keys(Dialect& made) {
  for (const S state : {S::first_key, S::key}) {
    set_step(made, state, kPlainKey, A::begin_key_word);
    for (std::size_t byte = 0x80; byte < 256; ++byte) row(made, state)[byte] = A::begin_key_word;
  }
  // Letters of any script: all their bytes are above 0x7F.
  for (std::size_t byte = 0x80; byte < 256; ++byte) row(made, S::key_word)[byte] = A::step;
  for (const std::string_view bytes : {kPlainKey, kBlank, std::string_view(":")}) {
    set_step(made, S::key_word, bytes, A::step);
  }
}

constexpr Dialect make_dialect(const DialectRules& rules) {
  Dialect made{rules};
  for (auto& state : made.table) state.fill(A::fail);
  add_structure(made);
  add_strings(made);
  add_scalars(made);
  if (rules.loose) loosen(made);
  if (rules.plain_keys) add_plain_keys(made);
  return made;
}

}  // namespace

constinit const Dialect kJson = make_dialect({});
constinit const Dialect kStrictJson = make_dialect({.raw_controls = false});
constinit const Dialect kNearlyJson = make_dialect({.loose = true, .single_quotes = true});
constinit const Dialect kPython = make_dialect(
    {.loose = true, .single_quotes = true, .tuples = true, .python_strings = true, .sets = true});
constinit const Dialect kDicts =
    make_dialect({.loose = true, .single_quotes = true, .tuples = true, .python_strings = true});
constinit const Dialect kBareText = make_dialect({.loose = true, .bare_text = true});
constinit const Dialect kNearlyBare =
    make_dialect({.loose = true, .single_quotes = true, .bare_text = true});
constinit const Dialect kPlainKeys = make_dialect({.plain_keys = true});

}  // namespace unspool
