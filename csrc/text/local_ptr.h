// A pointer to another part of the same stream. In a copy it is null until the owner links it, so a
// forgotten link never refers to the other stream.
#pragma once

namespace unspool {

template <typename T>
class LocalPtr {
 public:
  LocalPtr() = default;
  LocalPtr(T* part) : part_(part) {}
  // Not the other's part: it belongs to another stream.
  LocalPtr(const LocalPtr&) {}
  LocalPtr& operator=(const LocalPtr& other) {
    // An assignment to itself keeps the link.
    if (this != &other) part_ = nullptr;
    return *this;
  }
  LocalPtr& operator=(T* part) {
    part_ = part;
    return *this;
  }
  ~LocalPtr() = default;

  operator T*() const { return part_; }
  T* operator->() const { return part_; }

 private:
  T* part_ = nullptr;
};

}  // namespace unspool
