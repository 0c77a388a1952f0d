# The tag of C++ exceptions, which a C++ runtime for WebAssembly defines.
	.globl __cpp_exception
	.tagtype __cpp_exception i32
__cpp_exception:
