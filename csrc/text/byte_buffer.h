// Bytes that are appended in pieces of known size, without the zeros that std::string::resize
// writes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace unspool {

class ByteBuffer {
 public:
  /// Appends `size` bytes, which the caller writes. `kRoom` more may be written after them.
  char* extend(std::size_t size) {
    if (capacity_ - size_ < size + kRoom) grow(size + kRoom);
    char* const begin = bytes_.get() + size_;
    size_ += size;
    return begin;
  }
  static constexpr std::size_t kRoom = 16;

  void append(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(extend(bytes.size()), bytes.data(), bytes.size());
  }
  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  std::string_view view() const { return {bytes_.get(), size_}; }

  /// Frees memory of which little was used.
  void shrink(std::size_t kept) {
    if (capacity_ <= kept || capacity_ <= 4 * size_) return;
    bytes_.reset();
    capacity_ = size_ = 0;
  }

 private:
  void grow(std::size_t size) {
    const std::size_t capacity = std::max(2 * capacity_, size_ + size);
    std::unique_ptr<char[]> larger(new char[capacity]);
    if (size_ > 0) std::memcpy(larger.get(), bytes_.get(), size_);
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

}  // namespace unspool
