// Owns one object, as std::unique_ptr does, and can be copied: the copy owns an object of its own.
#pragma once

#include <memory>
#include <utility>

namespace unspool {

/// A class that others derive from has `std::unique_ptr<T> clone() const`.
template <typename T>
class ClonedPtr : public std::unique_ptr<T> {
 public:
  using std::unique_ptr<T>::unique_ptr;
  ClonedPtr(std::unique_ptr<T> object) : std::unique_ptr<T>(std::move(object)) {}
  ClonedPtr(const ClonedPtr& other) : std::unique_ptr<T>(other ? copy_of(*other) : nullptr) {}
  ClonedPtr(ClonedPtr&&) noexcept = default;
  ClonedPtr& operator=(const ClonedPtr& other) { return *this = ClonedPtr(other); }
  ClonedPtr& operator=(ClonedPtr&&) noexcept = default;
  ~ClonedPtr() = default;

 private:
  static std::unique_ptr<T> copy_of(const T& object) {
    if constexpr (requires { object.clone(); }) {
      return object.clone();
    } else {
      return std::make_unique<T>(object);
    }
  }
};

}  // namespace unspool
