# SPDX-License-Identifier: Apache-2.0
#
# vjp/lib/libvjp_torch.so, for vjp.torch. Needs the headers of a torch wheel of 2.10 or newer, not its
# libraries; without them it is left out. One build serves torch 2.10 and newer.
set(VJP_TORCH_DIR "" CACHE PATH "The folder of the Python package torch; empty: that of this Python")
set(torch_dir ${VJP_TORCH_DIR})
if(NOT torch_dir)
  execute_process(OUTPUT_VARIABLE torch_dir OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND ${Python_EXECUTABLE} -c "import importlib.util as u, os
spec = u.find_spec('torch')
print(os.path.dirname(spec.origin) if spec else '')")
endif()
if(NOT EXISTS ${torch_dir}/include/torch/csrc/stable/c/shim.h)
  if(VJP_TORCH_DIR)
    message(FATAL_ERROR "VJP_TORCH_DIR: ${VJP_TORCH_DIR} is not the folder of torch 2.10 or newer")
  endif()
  message(STATUS "vjp.torch is left out: no torch of 2.10 or newer (VJP_TORCH_DIR)")
  return()
endif()
enable_language(CXX)

# A library of this name must be among the dependencies, for torch loads its own out of sight of
# others. At run time that one is found, already loaded.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/torch_cpu.c "")
add_library(torch_cpu SHARED ${CMAKE_CURRENT_BINARY_DIR}/torch_cpu.c)

file(GLOB sources CONFIGURE_DEPENDS src/torch/*.cpp)
add_library(vjp_torch SHARED ${sources})
set_target_properties(vjp_torch PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON
  CXX_VISIBILITY_PRESET hidden BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN")
target_include_directories(vjp_torch SYSTEM PRIVATE ${torch_dir}/include)
target_compile_options(vjp_torch PRIVATE -Wall -Wextra $<$<BOOL:${VJP_WERROR}>:-Werror>)
target_link_libraries(vjp_torch PRIVATE vjp::vjp -Wl,--no-as-needed torch_cpu ${CMAKE_DL_LIBS})
target_link_options(vjp_torch PRIVATE -Wl,-z,nodelete) # PyTorch keeps the kernels' addresses

install(TARGETS vjp_torch LIBRARY DESTINATION vjp/lib)
