// A function that is always inlined: the compiler does not count how often a token runs it.
#pragma once

#if defined(__GNUC__)
#define UNSPOOL_INLINED [[gnu::always_inline]] inline
#else
#define UNSPOOL_INLINED inline
#endif
