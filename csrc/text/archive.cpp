// The bytes are members in the order of the `visit` functions, without names or types: a snapshot
// is read by the same version that wrote it.
//
//   number         7 bits a byte, the lowest first; signed ones with the sign in the lowest bit
//   text, list     the count, then the bytes or items
//   pointer        the number of its target in `known`
//   a constructor's argument (`same`)    written, and compared when read
#include "text/archive.h"

#include <algorithm>
#include <bit>

#include "text/error.h"

namespace unspool {

namespace {

// A stream has fewer reasons and markers than this.
constexpr std::size_t kMaxTexts = 256;

}  // namespace

std::uint64_t fingerprint_of(std::string_view text, std::uint64_t before) {
  // With the size: `ab`, `c` and `a`, `bc` one after the other must differ.
  std::uint64_t hash = (before ^ text.size()) * 0x9E3779B97F4A7C15ULL + 0xcbf29ce484222325;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash ^ (hash >> 32);
}

void Archive::same_number(const char* what, std::uint64_t own) {
  if (!is_reading()) return put(own);
  if (get() == own) return;
  throw ArgumentError(std::string("the snapshot is of a stream with another ") + what +
                      "; pass what that stream was made with");
}

void Archive::refuse() const {
  throw ArgumentError(
      "the snapshot is damaged: it is not the state of such a stream; take a new one");
}

void Archive::put(std::uint64_t number) {
  // Seven bits a byte: nearly all numbers of a state are small.
  for (; number >= 0x80; number >>= 7) *out_ += static_cast<char>(number | 0x80);
  *out_ += static_cast<char>(number);
}

std::uint64_t Archive::get() {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    expect(!in_.empty());
    const auto byte = static_cast<unsigned char>(in_[0]);
    in_.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      // The tenth byte has room for one bit only.
      expect(shift < 63 || byte <= 1);
      return number;
    }
  }
  refuse();
}

// Each element takes at least one byte, so the input's size bounds the allocation.
std::size_t Archive::count(std::size_t size) {
  if (!is_reading()) {
    put(size);
    return size;
  }
  const std::uint64_t read = get();
  expect(read <= in_.size());
  return static_cast<std::size_t>(read);
}

void Archive::item(bool& value) {
  auto number = static_cast<std::uint8_t>(value);
  this->number(number);
  expect(number <= 1);
  value = number != 0;
}

void Archive::item(double& value) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  number(bits);
  value = std::bit_cast<double>(bits);
}

void Archive::item(std::string& text) {
  const std::size_t size = count(text.size());
  if (!is_reading()) {
    *out_ += text;
    return;
  }
  text = in_.substr(0, size);
  in_.remove_prefix(size);
}

const std::string& Archive::keep(std::string text) {
  if (!texts_) texts_ = std::make_shared<Texts>();
  // Few different reasons and markers occur, many times each.
  const auto same = std::find(texts_->begin(), texts_->end(), text);
  if (same != texts_->end()) return *same;
  expect(texts_->size() < kMaxTexts);
  return texts_->emplace_back(std::move(text));
}

void Archive::view(std::string_view& text) {
  std::string own;
  if (!is_reading()) own = text;
  item(own);
  if (is_reading()) text = own.empty() ? std::string_view{} : std::string_view(keep(own));
}

void Archive::literal(const char*& text) {
  std::string own;
  if (!is_reading()) own = text;
  item(own);
  // The text is used as a C string.
  expect(own.find('\0') == std::string::npos);
  if (is_reading()) text = own.empty() ? "" : keep(own).c_str();
}

void Archive::known_pointer(const void*& value) {
  std::size_t place = 0;  // one more than the index; 0: null
  if (!is_reading() && value != nullptr) {
    const auto at = std::find(known.begin(), known.end(), value);
    // Only if the owner forgot to declare the tools.
    if (at == known.end()) throw StreamError("this stream refers to what a snapshot cannot hold");
    place = static_cast<std::size_t>(at - known.begin()) + 1;
  }
  index(place, known.size() + 1);
  if (is_reading()) value = place == 0 ? nullptr : known[place - 1];
}

}  // namespace unspool
