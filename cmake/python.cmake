# SPDX-License-Identifier: BSD-3-Clause
# What goes into the Python wheels. Wheels hold no links: each library is one file, under the name that the
# loader asks for.
#
# Component `python`, pyproject.toml:
#     isotome/lib/libisotome.so.0.2           and in lib/glibc-hwcaps/LEVEL for newer processors
#     isotome/lib/libisotome_front.so         where there are levels: see below
#     isotome/lib/libisotome_mpi.so           and others, where they are built
#     isotome/bin/isotome                     the program, with isotome-bench beside it
# Component `python_cuda` (`cuda` is the Debian package), python/cuda13/pyproject.toml:
#     isotome_cuda13/lib/libisotome_cuda.so   and libisotome_bench_cuda.so
set(WHEEL isotome isotome_program isotome-bench)

set_target_properties(isotome PROPERTIES VERSION ${ISO_SOVERSION} INSTALL_RPATH "$ORIGIN/../../isotome_cuda13/lib")
install(TARGETS isotome LIBRARY DESTINATION isotome/lib COMPONENT python NAMELINK_SKIP)
foreach(level ${LEVELS})
	set_target_properties(isotome_${level} PROPERTIES VERSION ${ISO_SOVERSION}
		INSTALL_RPATH "$ORIGIN/../../../../isotome_cuda13/lib")
	install(TARGETS isotome_${level} LIBRARY DESTINATION isotome/lib/glibc-hwcaps/${level} COMPONENT python
		NAMELINK_SKIP)
endforeach()
if(LEVELS)	# nothing but the need of the library, for ctypes, which opens a file and not the best for the processor
	file(WRITE ${CMAKE_BINARY_DIR}/front.c "")
	add_library(isotome_front SHARED ${CMAKE_BINARY_DIR}/front.c)
	target_link_options(isotome_front PRIVATE -Wl,--no-as-needed)
	target_link_libraries(isotome_front PRIVATE isotome)
	set_target_properties(isotome_front PROPERTIES INSTALL_RPATH "$ORIGIN")
	install(TARGETS isotome_front LIBRARY DESTINATION isotome/lib COMPONENT python)
	list(APPEND WHEEL isotome_front)
endif()
foreach(name isotome_mpi isotome_nccl isotome_cuda isotome_bench_cuda)
	if(TARGET ${name})
		install(TARGETS ${name} LIBRARY DESTINATION isotome/lib COMPONENT python)
		list(APPEND WHEEL ${name})
	endif()
endforeach()
set_target_properties(isotome_program isotome-bench PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS isotome_program isotome-bench RUNTIME DESTINATION isotome/bin COMPONENT python)

if(TARGET isotome_cuda)	# the runtime and cuFFT: in NVIDIA's wheels, in conda's environment, else as the loader finds them
	set_target_properties(isotome_cuda isotome_bench_cuda PROPERTIES INSTALL_RPATH
		"$ORIGIN;$ORIGIN/../../nvidia/cu13/lib;$ORIGIN/../../../..;/usr/local/cuda/lib64")
	install(TARGETS isotome_cuda isotome_bench_cuda LIBRARY DESTINATION isotome_cuda13/lib COMPONENT python_cuda)
endif()
add_custom_target(isotome_wheel DEPENDS ${WHEEL})
