# The Python module `unspool._core`.
if(CMAKE_CROSSCOMPILING)  # with the headers of an interpreter that does not run here
  find_package(Python 3.10 REQUIRED COMPONENTS Development.Module)
  find_program(UNSPOOL_HOST_PYTHON NAMES python3 python REQUIRED NO_CMAKE_FIND_ROOT_PATH)
else()
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
  set(UNSPOOL_HOST_PYTHON ${Python_EXECUTABLE})
endif()
if(NOT DEFINED CMAKE_INTERPROCEDURAL_OPTIMIZATION)  # pybind11 would turn it on; our sources are joined already
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION OFF)
endif()
find_package(pybind11 CONFIG REQUIRED)
# Each run of pip has pybind11 in another temporary folder. The copy keeps its path, and its time until its content
# changes, so that `pip install -e .` after `pip install .` compiles nothing.
set(headers ${PROJECT_BINARY_DIR}/pybind11)
file(GLOB_RECURSE names RELATIVE ${pybind11_INCLUDE_DIR} ${pybind11_INCLUDE_DIR}/pybind11/*.h)
foreach(name ${names})
  configure_file(${pybind11_INCLUDE_DIR}/${name} ${headers}/${name} COPYONLY)
endforeach()
set_target_properties(pybind11::pybind11_headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${headers})

# The documentation of the stub, for run time.
set(docs ${PROJECT_BINARY_DIR}/bindings/docs.inc)
set(stub ${PROJECT_SOURCE_DIR}/python/unspool/_core.pyi)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bindings)
add_custom_command(OUTPUT ${docs}
  COMMAND ${UNSPOOL_HOST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/bindings/make_docs.py ${stub} ${docs}
  DEPENDS ${stub} bindings/make_docs.py VERBATIM)

file(GLOB sources CONFIGURE_DEPENDS bindings/*.cpp)
pybind11_add_module(_core ${sources} ${docs})
set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_include_directories(_core PRIVATE ${PROJECT_BINARY_DIR}/bindings)
target_link_libraries(_core PRIVATE unspool_core)
target_link_options(_core PRIVATE ${link_hardened})
target_compile_definitions(_core PRIVATE UNSPOOL_VERSION="${SKBUILD_PROJECT_VERSION}")
if(UNSPOOL_SANITIZE)  # optimising these templates takes half of the time of such a build
  set(level -O0)
elseif(NOT MSVC)
  set(level $<$<CONFIG:Release>:-O2>)
endif()
target_compile_options(_core PRIVATE ${for_all} ${level})
unspool_join(_core 12)  # two sources: work for two processors at the end of a build
install(TARGETS _core LIBRARY DESTINATION unspool)
# What is compiled into the module and has no distribution of its own, for scanners (PEP 770).
if(DEFINED SKBUILD_METADATA_DIR)
  configure_file(sbom.cdx.json.in ${PROJECT_BINARY_DIR}/unspool.cdx.json @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/unspool.cdx.json DESTINATION ${SKBUILD_METADATA_DIR}/sboms)
endif()
