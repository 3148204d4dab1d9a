# SPDX-License-Identifier: BSD-3-Clause
# The library once more for each level of x86-64 with wider vectors, in glibc-hwcaps/LEVEL beside it. The loader
# of glibc 2.33 and later takes the best one that the processor knows, for whatever it finds by an RPATH. Results
# are the same to the bit (iso_fma).
set(LEVELS "")
if(ISO_LEVELS AND ISO_NATIVE)
	message(FATAL_ERROR "ISO_LEVELS is for builds with ISO_NATIVE=OFF")
endif()
if(ISO_LEVELS AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
	set(LEVELS x86-64-v3) # v4 was no faster: bench/packaged.py
endif()
foreach(level ${LEVELS})
	iso_objects(isotome_objects_${level} OBJECT ${level})
	target_compile_options(isotome_objects_${level} PRIVATE $<$<COMPILE_LANGUAGE:C>:-march=${level}>)
	iso_public(isotome_${level} isotome_objects_${level})
	set_target_properties(isotome_${level} PROPERTIES OUTPUT_NAME isotome
		LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/glibc-hwcaps/${level})
	add_dependencies(isotome isotome_${level})
endforeach()
