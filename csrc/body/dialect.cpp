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

constexpr void add_structure(Dialect& dialect) {
  for (const S state :
       {S::value, S::first_element, S::element, S::first_key, S::key, S::colon, S::after_value}) {
    set_step(dialect, state, kBlank, state);
  }
  for (const S state : {S::value, S::first_element, S::element}) {
    set_step(dialect, state, "{[", A::open);
    set_step(dialect, state, "\"", A::begin_string);
    set_step(dialect, state, "tfn-", A::begin_scalar);
    set_step(dialect, state, kDigits, A::begin_scalar);
  }
  set_step(dialect, S::first_element, "]", A::close);
  set_step(dialect, S::first_key, "}", A::close);
  for (const S state : {S::first_key, S::key}) set_step(dialect, state, "\"", A::begin_key);
  set_step(dialect, S::colon, ":", A::colon);
  set_step(dialect, S::after_value, ",", A::comma);
  set_step(dialect, S::after_value, "}]", A::close);
}

constexpr void add_strings(Dialect& dialect) {
  row(dialect, S::string).fill(S::string);
  for (std::size_t byte = 0; byte < 0x20; ++byte) {
    row(dialect, S::string)[byte] = dialect.rules.raw_controls ? A::raw_control : A::fail;
  }
  set_step(dialect, S::string, "\"", A::end_string);
  set_step(dialect, S::string, "\\", S::escape);
  set_step(dialect, S::escape, "\"\\/bfnrt", S::string);
  set_step(dialect, S::escape, "u", S::hex_1);
  set_step(dialect, S::hex_1, kHexDigits, S::hex_2);
  set_step(dialect, S::hex_2, kHexDigits, S::hex_3);
  set_step(dialect, S::hex_3, kHexDigits, S::hex_4);
  set_step(dialect, S::hex_4, kHexDigits, S::string);
}

constexpr void add_scalars(Dialect& dialect) {
  set_step(dialect, S::t_rue, "r", S::tr_ue);
  set_step(dialect, S::tr_ue, "u", S::tru_e);
  set_step(dialect, S::tru_e, "e", A::end_literal);
  set_step(dialect, S::f_alse, "a", S::fa_lse);
  set_step(dialect, S::fa_lse, "l", S::fal_se);
  set_step(dialect, S::fal_se, "s", S::fals_e);
  set_step(dialect, S::fals_e, "e", A::end_literal);
  set_step(dialect, S::n_ull, "u", S::nu_ll);
  set_step(dialect, S::nu_ll, "l", S::nul_l);
  set_step(dialect, S::nul_l, "l", A::end_literal);
  for (const S state : {S::zero, S::integer, S::fraction, S::exponent_digits}) {
    // Whatever follows a number ends it, and is then read in the state after the value.
    row(dialect, state).fill(A::end_number);
  }
  // A leading zero stands alone in JSON: `01` is rejected.
  set_step(dialect, S::minus, kDigits, S::integer);
  set_step(dialect, S::minus, "0", S::zero);
  set_step(dialect, S::integer, kDigits, S::integer);
  for (const S state : {S::zero, S::integer}) set_step(dialect, state, ".", S::point);
  for (const S state : {S::zero, S::integer, S::fraction})
    set_step(dialect, state, "eE", S::exponent);
  set_step(dialect, S::point, kDigits, S::fraction);
  set_step(dialect, S::fraction, kDigits, S::fraction);
  set_step(dialect, S::exponent, kDigits, S::exponent_digits);
  set_step(dialect, S::exponent, "+-", S::exponent_sign);
  set_step(dialect, S::exponent_sign, kDigits, S::exponent_digits);
  set_step(dialect, S::exponent_digits, kDigits, S::exponent_digits);
}

// Allows words for JSON's numbers and literals, unquoted keys, and extra commas.
constexpr void loosen(Dialect& dialect) {
  for (const S state : {S::value, S::first_element, S::element}) {
    // Any byte may begin a word; whether it is one is known at its end.
    row(dialect, state).fill(A::begin_word);
    set_step(dialect, state, kBlank, state);
    set_step(dialect, state, ",:)}]", A::fail);
    set_step(dialect, state, dialect.rules.tuples ? "{[(" : "{[", A::open);
    set_step(dialect, state, "\"", A::begin_string);
    if (dialect.rules.single_quotes) set_step(dialect, state, "'", A::begin_string);
  }
  // `[1, 2, ]`: the comma before it was held, and is dropped.
  for (const S state : {S::first_element, S::element}) set_step(dialect, state, ")}]", A::close);
  for (const S state : {S::first_key, S::key}) {
    row(dialect, state).fill(A::begin_key_word);
    set_step(dialect, state, kBlank, state);
    set_step(dialect, state, ",:)]{[", A::fail);
    set_step(dialect, state, "}", A::close);
    set_step(dialect, state, "\"'", A::begin_key);
  }
  // {city=Paris}: bare keys are Python's, and so may be what follows them.
  if (dialect.rules.mends_bare) set_step(dialect, S::colon, "=", A::step);
  if (dialect.rules.sets) {
    set_step(dialect, S::first_key, "{[(", A::open_in_set);
    // A colon after the first element of a set: it was a dict's key.
    set_step(dialect, S::after_value, ":", A::colon_of_key);
  }
  // White space after a held comma belongs to it.
  for (const S state : {S::element, S::key}) set_step(dialect, state, kBlank, A::hold_space);
  set_step(dialect, S::after_value, ",", A::hold_comma);
  set_step(dialect, S::after_value, ")", A::close);
  // Whether a line break may stand here depends on the string's quotes.
  for (std::size_t byte = 0; byte < 0x20; ++byte) row(dialect, S::string)[byte] = A::step;
  set_step(dialect, S::string, "\"'\\", A::step);
  for (const S state : {S::escape, S::quote_open, S::code_point, S::maybe_close, S::after_closer,
                        S::triple_close, S::word, S::key_word, S::bare_string}) {
    row(dialect, state).fill(A::step);
  }
}

constexpr void add_plain_keys(Dialect& dialect) {
  for (const S state : {S::first_key, S::key}) {
    set_step(dialect, state, kPlainKey, A::begin_key_word);
    for (std::size_t byte = 0x80; byte < 256; ++byte) row(dialect, state)[byte] = A::begin_key_word;
  }
  // Letters of any script: all their bytes are above 0x7F.
  for (std::size_t byte = 0x80; byte < 256; ++byte) row(dialect, S::key_word)[byte] = A::step;
  for (const std::string_view bytes : {kPlainKey, kBlank, std::string_view(":")}) {
    set_step(dialect, S::key_word, bytes, A::step);
  }
}

constexpr Dialect make_dialect(const DialectRules& rules) {
  Dialect dialect{rules};
  for (auto& state : dialect.table) state.fill(A::fail);
  add_structure(dialect);
  add_strings(dialect);
  add_scalars(dialect);
  if (rules.loose) loosen(dialect);
  if (rules.plain_keys) add_plain_keys(dialect);
  return dialect;
}

}  // namespace

constinit const Dialect kJson = make_dialect({});
constinit const Dialect kStrictJson = make_dialect({.raw_controls = false});
constinit const Dialect kNearlyJson = make_dialect({.loose = true, .single_quotes = true});
constinit const Dialect kPython = make_dialect(
    {.loose = true, .single_quotes = true, .tuples = true, .python_strings = true, .sets = true});
constinit const Dialect kDicts =
    make_dialect({.loose = true, .single_quotes = true, .tuples = true, .python_strings = true});
constinit const Dialect kBareText =
    make_dialect({.loose = true, .single_quotes = true, .bare_text = true});
constinit const Dialect kNearlyBare =
    make_dialect({.loose = true, .single_quotes = true, .bare_text = true, .mends_bare = true});
constinit const Dialect kPlainKeys = make_dialect({.plain_keys = true});

}  // namespace unspool
