// JSON's grammar as a table: what each byte does in each state.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace unspool {

enum class JsonState : std::uint8_t {
  value,          // a value must come
  first_element,  // a value or ]
  first_key,      // a key or }
  key,            // a key must come
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
  minus,            // a digit must come
  zero,             // after a leading 0
  integer,          // in digits
  point,            // a digit must come
  fraction,         // in digits after the point
  exponent,         // a sign or digit must come
  exponent_sign,    // a digit must come
  exponent_digits,  // in the exponent's digits
  done,
};

/// A byte that does more than lead to another state.
enum class JsonAction : std::uint8_t {
  open_object = static_cast<std::uint8_t>(JsonState::done) + 1,
  open_list,
  close_object,
  close_list,
  begin_key,
  end_string,
  end_literal,
  comma,
  begin_number,
  end_number,   // by a byte that is not the number's
  raw_control,  // a control character inside a string
  fail,
};

class JsonStep {
 public:
  constexpr JsonStep() = default;
  constexpr JsonStep(JsonState state) : code_(static_cast<std::uint8_t>(state)) {}
  constexpr JsonStep(JsonAction action) : code_(static_cast<std::uint8_t>(action)) {}

  constexpr bool is_state() const { return code_ <= static_cast<std::uint8_t>(JsonState::done); }
  constexpr JsonState state() const { return static_cast<JsonState>(code_); }
  constexpr JsonAction action() const { return static_cast<JsonAction>(code_); }

 private:
  std::uint8_t code_ = static_cast<std::uint8_t>(JsonAction::fail);
};

using JsonTable =
    std::array<std::array<JsonStep, 256>, static_cast<std::size_t>(JsonState::done) + 1>;

constexpr JsonTable make_json_table() {
  using S = JsonState;
  using A = JsonAction;
  constexpr std::string_view kBlank = " \t\r\n";
  constexpr std::string_view kDigits = "0123456789";
  JsonTable table{};
  for (auto& row : table) row.fill(JsonAction::fail);
  const auto row = [&](S state) -> auto& { return table[static_cast<std::size_t>(state)]; };
  const auto set = [&](S state, std::string_view bytes, JsonStep step) {
    for (const char byte : bytes) row(state)[static_cast<unsigned char>(byte)] = step;
  };
  for (const S state :
       {S::value, S::first_element, S::first_key, S::key, S::colon, S::after_value}) {
    set(state, kBlank, state);
  }
  for (const S state : {S::value, S::first_element}) {
    set(state, "{", A::open_object);
    set(state, "[", A::open_list);
    set(state, "\"", S::string);
    set(state, "t", S::t_rue);
    set(state, "f", S::f_alse);
    set(state, "n", S::n_ull);
    set(state, "-", A::begin_number);
    set(state, kDigits, A::begin_number);
  }
  set(S::first_element, "]", A::close_list);
  set(S::first_key, "}", A::close_object);
  set(S::first_key, "\"", A::begin_key);
  set(S::key, "\"", A::begin_key);
  set(S::colon, ":", S::value);
  set(S::after_value, ",", A::comma);
  set(S::after_value, "}", A::close_object);
  set(S::after_value, "]", A::close_list);
  row(S::string).fill(S::string);
  for (std::size_t byte = 0; byte < 0x20; ++byte) row(S::string)[byte] = A::raw_control;
  set(S::string, "\"", A::end_string);
  set(S::string, "\\", S::escape);
  set(S::escape, "\"\\/bfnrt", S::string);
  set(S::escape, "u", S::hex_1);
  constexpr std::string_view kHex = "0123456789abcdefABCDEF";
  set(S::hex_1, kHex, S::hex_2);
  set(S::hex_2, kHex, S::hex_3);
  set(S::hex_3, kHex, S::hex_4);
  set(S::hex_4, kHex, S::string);
  set(S::t_rue, "r", S::tr_ue);
  set(S::tr_ue, "u", S::tru_e);
  set(S::tru_e, "e", A::end_literal);
  set(S::f_alse, "a", S::fa_lse);
  set(S::fa_lse, "l", S::fal_se);
  set(S::fal_se, "s", S::fals_e);
  set(S::fals_e, "e", A::end_literal);
  set(S::n_ull, "u", S::nu_ll);
  set(S::nu_ll, "l", S::nul_l);
  set(S::nul_l, "l", A::end_literal);
  for (const S state : {S::zero, S::integer, S::fraction, S::exponent_digits}) {
    row(state).fill(A::end_number);
  }
  set(S::minus, kDigits, S::integer);
  set(S::minus, "0", S::zero);
  set(S::integer, kDigits, S::integer);
  for (const S state : {S::zero, S::integer}) set(state, ".", S::point);
  for (const S state : {S::zero, S::integer, S::fraction}) set(state, "eE", S::exponent);
  set(S::point, kDigits, S::fraction);
  set(S::fraction, kDigits, S::fraction);
  set(S::exponent, kDigits, S::exponent_digits);
  set(S::exponent, "+-", S::exponent_sign);
  set(S::exponent_sign, kDigits, S::exponent_digits);
  set(S::exponent_digits, kDigits, S::exponent_digits);
  return table;
}

inline constexpr JsonTable kJsonTable = make_json_table();
static_assert(!kJsonTable.back().back().is_state());

inline JsonStep next_json_step(JsonState state, char byte) {
  return kJsonTable[static_cast<std::size_t>(state)][static_cast<unsigned char>(byte)];
}

}  // namespace unspool
