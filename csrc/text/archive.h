// Serializes a stream's state. A class with state has one `visit` that both writes and reads it, so
// every member that is written is also read.
//
// Reading validates everything: each number's range, each index's bounds. It allocates no more than
// the length of the input.
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

/// A fingerprint of `text`, unique except by chance. `before`: the fingerprint of the preceding
/// text.
std::uint64_t fingerprint_of(std::string_view text, std::uint64_t before = 0);

class Archive {
 public:
  /// Writes to the end of `out`.
  explicit Archive(std::string& out) : out_(&out) {}
  /// Reads. Members throw ArgumentError if the bytes are not a valid state.
  explicit Archive(std::string_view in) : in_(in) {}

  bool is_reading() const { return out_ == nullptr; }

  /// Members, in order: numbers, texts, containers of them, and classes with a `visit`.
  template <typename... Members>
  void operator()(Members&... members) {
    (item(members), ...);
  }

  /// An enumerator; `last` is the last one of its type.
  template <typename Enum>
  void choice(Enum& value, Enum last) {
    auto number = static_cast<std::underlying_type_t<Enum>>(value);
    item(number);
    expect(number >= 0 && number <= static_cast<std::underlying_type_t<Enum>>(last));
    value = static_cast<Enum>(number);
  }

  /// An index into a list of `count` items.
  template <typename Number>
  void index(Number& value, std::size_t count) {
    item(value);
    expect(std::cmp_less(value, count));
  }

  /// A view of text owned elsewhere, or empty; after reading it lives as long as `texts()`.
  void view(std::string_view& text);
  void literal(const char*& text);

  /// An optional part; `make` creates the object to read into.
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

  /// The arguments of the owner's constructor: throws if they differ from the writer's. `what`:
  /// "format".
  template <typename... Values>
  void same(const char* what, const Values&... values) {
    (same_number(what, static_cast<std::uint64_t>(values)), ...);
  }

  // Not part of the state, but named so that a test can check that `visit` covers every member:
  /// Members that the constructor derives from its arguments, or that the owner links.
  template <typename... Members>
  void given(const Members&...) {}
  /// Members that are empty between two calls.
  template <typename... Members>
  void scratch(const Members&...) {}

  /// Throws if the value that was read is invalid.
  void expect(bool holds) const {
    if (!holds) refuse();
  }
  /// After the last member: throws if input is left.
  void end() const { expect(in_.empty()); }

  /// The valid targets of `pointer`: the schemas of the request's tools.
  std::vector<const void*> known = {};
  /// Upper bound of the format's token symbols.
  std::uint32_t symbol_end = 0;
  /// Upper bound of the ids of paths in the calls' arguments.
  std::size_t path_end = 1;

  /// Owns the texts that views point into.
  std::shared_ptr<const void> texts() const { return texts_; }

 private:
  using Texts = std::deque<std::string>;
  static constexpr int kMaxDepth = 1'100;  // nesting depth; JSON has at most 512 levels

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
      // A class may contain itself, such as an XmlElement, and the bytes may be forged.
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
    if constexpr (std::is_signed_v<T>) {  // small numbers of either sign are short
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
    // A pair with a class that contains such pairs has no default constructor.
    values.emplace_back(A{}, B{});
  }

  std::string* out_ = nullptr;
  std::string_view in_;
  std::shared_ptr<Texts> texts_;
  int depth_ = 0;
};

}  // namespace unspool
