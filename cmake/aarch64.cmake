# Cross-compile for 64-bit Arm and run the results under qemu.
# VJP_SYSROOT is the folder into which scripts/aarch64_sysroot.sh unpacked the tests' libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu
  -E LD_LIBRARY_PATH=${VJP_SYSROOT}/usr/lib/aarch64-linux-gnu)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES VJP_SYSROOT)
set(CMAKE_FIND_ROOT_PATH ${VJP_SYSROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY BOTH) # the compiler's own libgomp lies outside
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
