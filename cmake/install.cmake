# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` lays down besides the program: the library with its header, pkg-config file and
# CMake package, man pages, shell completion, examples. No installed file holds a folder of the build or
# an absolute prefix, so that the whole may be moved. Components are the packages of packages.cmake.
include(CMakePackageConfigHelpers)

install(TARGETS isotome_program COMPONENT program)
install(TARGETS isotome-bench COMPONENT bench OPTIONAL)
install(TARGETS isotome EXPORT IsotomeTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
	LIBRARY COMPONENT library NAMELINK_COMPONENT development)
foreach(level ${LEVELS})
	install(TARGETS isotome_${level} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${level}
		COMPONENT library NAMELINK_SKIP)
endforeach()
if(TARGET isotome_mpi)
	install(TARGETS isotome_mpi COMPONENT mpi)
endif()
if(TARGET isotome_cuda)
	install(TARGETS isotome_cuda COMPONENT cuda)
	install(TARGETS isotome_bench_cuda COMPONENT cuda OPTIONAL)
endif()
if(TARGET isotome_nccl)
	install(TARGETS isotome_nccl COMPONENT cuda)
endif()
install(DIRECTORY include/ TYPE INCLUDE COMPONENT development)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/isotome COMPONENT program)

# ---- find_package(Isotome) ----
set(PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Isotome)
configure_package_config_file(cmake/IsotomeConfig.cmake.in ${CMAKE_BINARY_DIR}/package/IsotomeConfig.cmake
	INSTALL_DESTINATION ${PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/IsotomeConfigVersion.cmake
	COMPATIBILITY SameMinorVersion)	# before 1.0; docs/abi.md
install(FILES ${CMAKE_BINARY_DIR}/package/IsotomeConfig.cmake
	${CMAKE_BINARY_DIR}/package/IsotomeConfigVersion.cmake DESTINATION ${PACKAGE_DIR} COMPONENT development)
install(EXPORT IsotomeTargets NAMESPACE Isotome:: DESTINATION ${PACKAGE_DIR} COMPONENT development)

# ---- pkg-config: folders relative to the .pc file itself, unless they were given as absolute ones ----
file(RELATIVE_PATH PC_TO_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p/.)
string(REGEX REPLACE "/$" "" PC_TO_PREFIX ${PC_TO_PREFIX})
foreach(which LIBDIR INCLUDEDIR)
	if(IS_ABSOLUTE "${CMAKE_INSTALL_${which}}")
		set(PC_${which} "${CMAKE_INSTALL_${which}}")
	else()
		set(PC_${which} "\${prefix}/${CMAKE_INSTALL_${which}}")
	endif()
endforeach()
configure_file(cmake/isotome.pc.in package/isotome.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/package/isotome.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
	COMPONENT development)

# ---- completion in shells, and man pages, which the program writes itself where it can be run ----
install(FILES completion/isotome.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
	RENAME isotome COMPONENT program)
install(FILES completion/_isotome DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program)
install(FILES completion/isotome.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
	COMPONENT program)
find_program(BASH bash)
if(ISO_BENCH_BUILT)
	set(BENCH isotome-bench)
endif()
if(BASH AND NOT CMAKE_CROSSCOMPILING AND NOT ISO_SANITIZE)
	add_custom_command(OUTPUT man/isotome.1 VERBATIM
		COMMAND ${BASH} ${CMAKE_SOURCE_DIR}/scripts/man.sh $<TARGET_FILE:isotome_program> ${CMAKE_BINARY_DIR}/man
		DEPENDS isotome_program ${BENCH} scripts/man.sh COMMENT "Writing the man pages")
	add_custom_target(man ALL DEPENDS man/isotome.1)
	install(DIRECTORY ${CMAKE_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program OPTIONAL
		FILES_MATCHING PATTERN *.1 REGEX "/isotome-(bench|reproduce)" EXCLUDE)
	install(DIRECTORY ${CMAKE_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT bench OPTIONAL
		FILES_MATCHING REGEX "/isotome-(bench|reproduce).*\\.1$")
endif()
