// A test is a function; a failed check prints where and what, and the program exits with 1.
#pragma once

#include <iostream>

namespace unspool::test {

inline int failures = 0;

template <typename A, typename B>
void equal(const A& a, const B& b, const char* text, const char* file, int line) {
  if (a == b) return;
  ++failures;
  std::cerr << file << ":" << line << ": " << text << "\n  left:  " << a << "\n  right: " << b
            << "\n";
}

template <typename A>
void at_most(const A& value, const A& most, const char* text, const char* file, int line) {
  if (value <= most) return;
  ++failures;
  std::cerr << file << ":" << line << ": " << text << "\n  is:      " << value
            << "\n  at most: " << most << "\n";
}

inline void is_true(bool value, const char* text, const char* file, int line) {
  if (value) return;
  ++failures;
  std::cerr << file << ":" << line << ": " << text << "\n";
}

}  // namespace unspool::test

#define CHECK(condition) ::unspool::test::is_true((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(a, b) ::unspool::test::equal((a), (b), #a " == " #b, __FILE__, __LINE__)
#define CHECK_AT_MOST(a, b) ::unspool::test::at_most((a), (b), #a, __FILE__, __LINE__)
#define TEST_RESULT() (::unspool::test::failures == 0 ? 0 : 1)
