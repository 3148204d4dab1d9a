# SPDX-License-Identifier: BSD-3-Clause
# TEST_DATA: a copy of tests/data in the build tree, with its archives of reference vectors unpacked. CONTRIBUTING.md
# says how to look into one and how to change it.
set(TEST_DATA ${CMAKE_BINARY_DIR}/tests/data)
file(GLOB_RECURSE SAMPLES CONFIGURE_DEPENDS tests/data/*)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SAMPLES})
file(COPY tests/data/ DESTINATION ${TEST_DATA} PATTERN *.zip EXCLUDE)
foreach(archive ${SAMPLES})
	get_filename_component(folder ${archive} NAME_WE)
	if(archive MATCHES "\\.zip$" AND ${archive} IS_NEWER_THAN ${TEST_DATA}/${folder}.unpacked)
		file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${TEST_DATA})
		file(TOUCH ${TEST_DATA}/${folder}.unpacked)
	endif()
endforeach()
