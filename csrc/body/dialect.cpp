#include "body/dialect.h"

namespace unspool {

namespace {

using S = ValueState;
using A = ValueAction;

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHex = "0123456789abcdefABCDEF";
constexpr std::string_view kPlainKey =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.$";

constexpr auto& row(Dialect& dialect, S state) {
  return dialect.table[static_cast<std::size_t>(state)];
}

constexpr void set(Dialect& dialect, S state, std::string_view bytes, ValueStep step) {
  for (const char byte : bytes) row(dialect, state)[static_cast<unsigned char>(byte)] = step;
}

constexpr void add_structure(Dialect& made) {
  for (const S state :
       {S::value, S::first_element, S::element, S::first_key, S::key, S::colon, S::after_value}) {
    set(made, state, kBlank, state);
  }
  for (const S state : {S::value, S::first_element, S::element}) {
    set(made, state, "{[", A::open);
    set(made, state, "\"", A::begin_string);
    set(made, state, "tfn-", A::begin_scalar);
    set(made, state, kDigits, A::begin_scalar);
  }
  set(made, S::first_element, "]", A::close);
  set(made, S::first_key, "}", A::close);
  for (const S state : {S::first_key, S::key}) set(made, state, "\"", A::begin_key);
  set(made, S::colon, ":", A::colon);
  set(made, S::after_value, ",", A::comma);
  set(made, S::after_value, "}]", A::close);
}

constexpr void add_strings(Dialect& made) {
  row(made, S::string).fill(S::string);
  for (std::size_t byte = 0; byte < 0x20; ++byte) {
    row(made, S::string)[byte] = made.rules.raw_controls ? A::raw_control : A::fail;
  }
  set(made, S::string, "\"", A::end_string);
  set(made, S::string, "\\", S::escape);
  set(made, S::escape, "\"\\/bfnrt", S::string);
  set(made, S::escape, "u", S::hex_1);
  set(made, S::hex_1, kHex, S::hex_2);
  set(made, S::hex_2, kHex, S::hex_3);
  set(made, S::hex_3, kHex, S::hex_4);
  set(made, S::hex_4, kHex, S::string);
}

constexpr void add_scalars(Dialect& made) {
  set(made, S::t_rue, "r", S::tr_ue);
  set(made, S::tr_ue, "u", S::tru_e);
  set(made, S::tru_e, "e", A::end_literal);
  set(made, S::f_alse, "a", S::fa_lse);
  set(made, S::fa_lse, "l", S::fal_se);
  set(made, S::fal_se, "s", S::fals_e);
  set(made, S::fals_e, "e", A::end_literal);
  set(made, S::n_ull, "u", S::nu_ll);
  set(made, S::nu_ll, "l", S::nul_l);
  set(made, S::nul_l, "l", A::end_literal);
  for (const S state : {S::zero, S::integer, S::fraction, S::exponent_digits}) {
    row(made, state).fill(A::end_number);
  }
  set(made, S::minus, kDigits, S::integer);
  set(made, S::minus, "0", S::zero);
  set(made, S::integer, kDigits, S::integer);
  for (const S state : {S::zero, S::integer}) set(made, state, ".", S::point);
  for (const S state : {S::zero, S::integer, S::fraction}) set(made, state, "eE", S::exponent);
  set(made, S::point, kDigits, S::fraction);
  set(made, S::fraction, kDigits, S::fraction);
  set(made, S::exponent, kDigits, S::exponent_digits);
  set(made, S::exponent, "+-", S::exponent_sign);
  set(made, S::exponent_sign, kDigits, S::exponent_digits);
  set(made, S::exponent_digits, kDigits, S::exponent_digits);
}

// Allows words for JSON's numbers and literals, unquoted keys, and extra commas.
constexpr void loosen(Dialect& made) {
  for (const S state : {S::value, S::first_element, S::element}) {
    row(made, state).fill(A::begin_word);
    set(made, state, kBlank, state);
    set(made, state, ",:)}]", A::fail);
    set(made, state, made.rules.tuples ? "{[(" : "{[", A::open);
    set(made, state, "\"", A::begin_string);
    if (made.rules.single_quotes) set(made, state, "'", A::begin_string);
  }
  for (const S state : {S::first_element, S::element}) set(made, state, ")}]", A::close);
  for (const S state : {S::first_key, S::key}) {
    row(made, state).fill(A::begin_key_word);
    set(made, state, kBlank, state);
    set(made, state, ",:)]{[", A::fail);
    set(made, state, "}", A::close);
    set(made, state, "\"'", A::begin_key);
  }
  if (made.rules.sets) {
    set(made, S::first_key, "{[(", A::open_in_set);
    set(made, S::after_value, ":", A::colon_of_key);
  }
  for (const S state : {S::element, S::key}) set(made, state, kBlank, A::hold_space);
  set(made, S::after_value, ",", A::hold_comma);
  set(made, S::after_value, ")", A::close);
  for (std::size_t byte = 0; byte < 0x20; ++byte) row(made, S::string)[byte] = A::step;
  set(made, S::string, "\"'\\", A::step);
  for (const S state : {S::escape, S::quote_open, S::code_point, S::maybe_close, S::triple_close,
                        S::word, S::key_word, S::bare_string}) {
    row(made, state).fill(A::step);
  }
}

constexpr void add_plain_keys(Dialect& made) {
  for (const S state : {S::first_key, S::key}) {
    set(made, state, kPlainKey, A::begin_key_word);
    for (std::size_t byte = 0x80; byte < 256; ++byte) row(made, state)[byte] = A::begin_key_word;
  }
  for (std::size_t byte = 0x80; byte < 256; ++byte) row(made, S::key_word)[byte] = A::step;
  for (const std::string_view bytes : {kPlainKey, kBlank, std::string_view(":")}) {
    set(made, S::key_word, bytes, A::step);
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
