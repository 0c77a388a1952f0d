// Like std::unique_ptr, but copyable: a copy owns its own object.
//
// A stream is copied for forks and rollback, so all of its parts are copyable values. This is the
// pointer for parts that most streams do not have, or whose class is known only at run time.
#pragma once

#include <memory>
#include <utility>

namespace unspool {

/// A polymorphic class has `std::unique_ptr<T> clone() const`.
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
