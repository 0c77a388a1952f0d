// A stream's state as bytes. A class that holds some has one `visit`, which both writes and reads
// it, so that no member is written and not read.
//
// Reading trusts nothing: each number is checked for its range, each index for what it points into,
// and no more is allocated than the input is long.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "text/cloned_ptr.h"

namespace unspool {

/// A number that another text does not have but by chance; `before`: that of what stands before it.
std::uint64_t fingerprint_of(std::string_view text, std::uint64_t before = 0);

class Archive {
 public:
  /// Writes, at the end of `out`.
  explicit Archive(std::string& out) : out_(&out) {}
  /// Reads. All of it throws ArgumentError where the bytes are no state.
  explicit Archive(std::string_view in) : in_(in) {}

  bool is_reading() const { return out_ == nullptr; }

  /// Members, in their order: numbers, texts, containers of them, and what has a `visit`.
  template <typename... Members>
  void operator()(Members&... members) {
    (item(members), ...);
  }

  /// An enumerator, up to the last of its type.
  template <typename Enum>
  void choice(Enum& value, Enum last) {
    auto number = static_cast<std::underlying_type_t<Enum>>(value);
    item(number);
    expect(number >= 0 && number <= static_cast<std::underlying_type_t<Enum>>(last));
    value = static_cast<Enum>(number);
  }

  /// An index into a list of `count`.
  template <typename Number>
  void index(Number& value, std::size_t count) {
    item(value);
    expect(std::cmp_less(value, count));
  }

  /// A text that lives elsewhere, or nothing; what is read lives as long as `texts()`.
  void view(std::string_view& text);
  void literal(const char*& text);

  /// A part that is there or not; `make` makes one to read into.
  template <typename T, typename Make>
  void part(ClonedPtr<T>& value, Make&& make) {
    bool has = value != nullptr;
    item(has);
    if (is_reading()) value = has ? ClonedPtr<T>(make()) : ClonedPtr<T>();
    if (has) item(*value);
  }

  /// A pointer to one of `known`, or null.
  template <typename T>
  void pointer(const T*& value) {
    const void* any = value;
    known_pointer(any);
    value = static_cast<const T*>(any);
  }

  /// What the owner was made with: throws if that differs from the writer's. `what`: "format".
  template <typename... Values>
  void same(const char* what, const Values&... values) {
    (same_number(what, static_cast<std::uint64_t>(values)), ...);
  }

  // No state, and named so that a test sees every member in `visit`:
  /// What the constructor makes of its arguments, or the owner links.
  template <typename... Members>
  void given(const Members&...) {}
  /// What holds nothing between two calls.
  template <typename... Members>
  void scratch(const Members&...) {}

  /// Throws if what was read cannot be.
  void expect(bool holds) const {
    if (!holds) refuse();
  }
  /// After the last member: throws if something is left.
  void end() const { expect(in_.empty()); }

  /// What `pointer` may point to: the schemas of the request's tools.
  std::vector<const void*> known = {};
  /// The symbols of the format's tokens are below it.
  std::uint32_t symbol_end = 0;
  /// The ids of the places in the calls' arguments are below it.
  std::size_t path_end = 1;

  /// Keeps the texts that views point into.
  std::shared_ptr<const void> texts() const { return texts_; }

 private:
  using Texts = std::deque<std::string>;
  static constexpr int kMaxDepth = 1'100;  // of what is inside each other: JSON has 512 levels

  [[noreturn]] void refuse() const;
  void same_number(const char* what, std::uint64_t own);
  std::uint64_t get();
  void put(std::uint64_t number);
  std::size_t count(std::size_t size);
  const std::string& keep(std::string text);
  void known_pointer(const void*& value);

  void item(std::string& text);
  void item(double& number);
  void item(bool& value);

  template <typename T>
  void item(T& value) {
    if constexpr (std::is_integral_v<T>) {
      number(value);
    } else {
      expect(++depth_ <= kMaxDepth);
      value.visit(*this);
      --depth_;
    }
  }
  template <typename T, std::size_t kSize>
  void item(std::array<T, kSize>& values) {
    for (T& value : values) item(value);
  }
  template <typename A, typename B>
  void item(std::pair<A, B>& pair) {
    item(pair.first);
    item(pair.second);
  }
  template <typename T>
  void item(std::vector<T>& values) {
    list(values);
  }
  template <typename T>
  void item(std::deque<T>& values) {
    list(values);
  }
  template <typename T, typename Less>
  void item(std::set<T, Less>& values) {
    std::vector<T> sorted(values.begin(), values.end());
    list(sorted);
    if (is_reading()) values = {sorted.begin(), sorted.end()};
  }
  template <typename T>
  void item(std::optional<T>& value) {
    bool has = value.has_value();
    item(has);
    if (has && !value) value.emplace();
    if (!has) value.reset();
    if (has) item(*value);
  }
  template <typename T>
  void item(ClonedPtr<T>& value) {
    part(value, [] { return std::make_unique<T>(); });
  }

  template <typename T>
  void number(T& value) {
    using Unsigned = std::make_unsigned_t<T>;
    if constexpr (std::is_signed_v<T>) {  // small ones of both signs are short
      const auto wide = static_cast<std::int64_t>(value);
      std::uint64_t bits =
          (static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63);
      if (!is_reading()) return put(bits);
      bits = get();
      const auto read = static_cast<std::int64_t>((bits >> 1) ^ (0 - (bits & 1)));
      expect(std::in_range<Signed<T>>(read));
      value = static_cast<T>(read);
    } else {
      if (!is_reading()) return put(static_cast<std::uint64_t>(value));
      const std::uint64_t read = get();
      expect(read <= std::numeric_limits<Unsigned>::max());
      value = static_cast<T>(read);
    }
  }
  template <typename T>
  using Signed = std::conditional_t<std::is_same_v<T, char>, signed char, T>;

  template <typename List>
  void list(List& values) {
    const std::size_t size = count(values.size());
    if (is_reading()) values.clear();
    for (std::size_t i = 0; i < size; ++i) {
      if (is_reading()) add_empty(values);
      item(values[i]);
    }
  }
  template <typename List>
  static void add_empty(List& values) {
    values.emplace_back();
  }
  template <typename A, typename B>
  static void add_empty(std::vector<std::pair<A, B>>& values) {
    values.emplace_back(A{}, B{});  // a pair with a class that holds such pairs has no default
  }

  std::string* out_ = nullptr;
  std::string_view in_;
  std::shared_ptr<Texts> texts_;
  int depth_ = 0;
};

}  // namespace unspool
