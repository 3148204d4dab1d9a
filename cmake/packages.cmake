# SPDX-License-Identifier: BSD-3-Clause
# Debian packages by `cpack -G DEB`, one for each component of install.cmake:
#     libisotome0.2     the library, with its levels for newer processors where there are some
#     libisotome-dev    headers, isotome.pc, the CMake package
#     isotome           the program, man pages, completion, examples
#     isotome-bench     the program of `isotome bench` and `isotome reproduce`, where it is built (ISO_BENCH)
#     isotome-mpi       libisotome_mpi.so, where MPI was found
#     isotome-cuda      libisotome_cuda.so and others of CUDA, where nvcc was found
# scripts/package.sh makes those that are given away. What else a package needs is found by dpkg-shlibdeps.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME isotome)
set(CPACK_PACKAGE_VENDOR "Isotome developers")
set(ISO_CONTACT "Isotome developers <isotome@localhost>" CACHE STRING "who answers for the Debian packages: NAME <ADDRESS>")
set(CPACK_PACKAGE_CONTACT "${ISO_CONTACT}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
	WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL library development program)
if(ISO_BENCH_BUILT)
	list(APPEND CPACK_COMPONENTS_ALL bench)
endif()
if(TARGET isotome_mpi)
	list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
if(TARGET isotome_cuda)
	list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})
set(SAME "(= ${PROJECT_VERSION})")
foreach(component LIBRARY MPI CUDA)	# the loader then learns of new libraries
	set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/triggers)
endforeach()

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libisotome${ISO_SOVERSION})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
file(WRITE ${CMAKE_BINARY_DIR}/package/shlibs	# what packages of other people's programs will need
	"libisotome ${ISO_SOVERSION} libisotome${ISO_SOVERSION} (>= ${PROJECT_VERSION})\n")
list(APPEND CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/package/shlibs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "isotome-mpi, isotome-cuda")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "tomography: PET and optoacoustic reconstruction, the library
Operators, corrections, simulations and reconstructions for list-mode PET,
dual-head PET, two-strip J-PET and optoacoustic tomography, behind a C
interface.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libisotome-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libisotome${ISO_SOVERSION} ${SAME}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "tomography: PET and optoacoustic reconstruction, development files
Headers, pkg-config file and CMake package of libisotome.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME isotome)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libisotome${ISO_SOVERSION} ${SAME}")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "tomography: PET and optoacoustic reconstruction, the program
The command isotome simulates scans, reconstructs, filters, measures and
shows images of list-mode PET, dual-head PET, two-strip J-PET and
optoacoustic tomography. `isotome demo` is a run of each kind.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS isotome-bench)
set(CPACK_DEBIAN_BENCH_PACKAGE_NAME isotome-bench)
set(CPACK_DEBIAN_BENCH_PACKAGE_DEPENDS "isotome ${SAME}")
set(CPACK_COMPONENT_BENCH_DESCRIPTION "tomography: PET and optoacoustic reconstruction, benchmarks
The commands `isotome bench`, which measures how fast Isotome and the machine
are, and `isotome reproduce`, which repeats the experiments of papers.")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME isotome-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "libisotome${ISO_SOVERSION} ${SAME}")
set(CPACK_COMPONENT_MPI_DESCRIPTION "tomography: PET and optoacoustic reconstruction, several processes
What libisotome opens where mpirun started it.")
# NVIDIA's own packages bring the runtime and cuFFT, or its installer does, which no package tells of: nothing of NVIDIA's
# is a must, also where dpkg-shlibdeps would find it. packaging/finish.cmake adds what else is needed.
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME isotome-cuda)
set(CPACK_DEBIAN_CUDA_PACKAGE_SECTION non-free/libs)
set(CPACK_DEBIAN_CUDA_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "libisotome${ISO_SOVERSION} ${SAME}")
set(CUDA_SUFFIX ${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR})
set(CPACK_DEBIAN_CUDA_PACKAGE_RECOMMENDS "cuda-cudart-${CUDA_SUFFIX}, libcufft-${CUDA_SUFFIX}")
set(CPACK_ISO_NVIDIA cuda-cudart-${CUDA_SUFFIX} libcufft-${CUDA_SUFFIX} libnccl2)
if(TARGET isotome_nccl)
	set(CPACK_DEBIAN_CUDA_PACKAGE_SUGGESTS "isotome-mpi, libnccl2")
endif()
set(CPACK_COMPONENT_CUDA_DESCRIPTION "tomography: PET and optoacoustic reconstruction, CUDA devices
What libisotome opens on the first use of a CUDA device.")

# licence, changes, packed man pages
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/packaging/finish.cmake)
set(CPACK_ISO_SOURCE ${CMAKE_SOURCE_DIR})
include(CPack)
