# SPDX-License-Identifier: BSD-3-Clause
# Run by cpack on the files of all Debian packages, before they are packed: adds the licence and the changes to each,
# and packs man pages, as Debian wants them; finds what the CUDA half needs that is not NVIDIA's.
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)	# or SOURCE_DATE_EPOCH
file(READ ${CPACK_ISO_SOURCE}/LICENSE licence)
string(REGEX MATCH "Copyright [^\n]*" holder "${licence}")
string(REGEX REPLACE "^Copyright (\\(c\\) )?" "" holder "${holder}")
string(FIND "${licence}" "Redistribution" begin)
string(SUBSTRING "${licence}" ${begin} -1 terms)
string(STRIP "${terms}" terms)
string(REPLACE "\n" "\n " terms "${terms}")
string(REPLACE "\n \n" "\n .\n" terms "${terms}")

foreach(component ${CPACK_COMPONENTS_ALL})
	string(TOUPPER ${component} upper)
	set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
	set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
	set(doc ${root}/usr/share/doc/${package})
	file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: isotome

Files: *
Copyright: ${holder}
License: BSD-3-Clause
 ${terms}
")
	file(WRITE ${doc}/changelog "isotome (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}: CHANGELOG.md of the source tells what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
	file(GLOB pages ${root}/usr/share/man/man1/*.1)
	execute_process(COMMAND gzip -9n ${doc}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
	file(GLOB packed ${doc}/* ${root}/usr/share/man/man1/*)
	foreach(file ${packed})
		file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
	endforeach()
endforeach()

if(EXISTS ${CPACK_TEMPORARY_DIRECTORY}/cuda)
	set(root ${CPACK_TEMPORARY_DIRECTORY}/cuda)
	file(GLOB_RECURSE libraries ${root}/*.so)
	list(TRANSFORM CPACK_ISO_NVIDIA PREPEND -x OUTPUT_VARIABLE but)
	file(WRITE ${CPACK_TEMPORARY_DIRECTORY}/debian/control "")
	execute_process(COMMAND dpkg-shlibdeps --ignore-missing-info -l${CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS} ${but} -O
		${libraries} WORKING_DIRECTORY ${CPACK_TEMPORARY_DIRECTORY} OUTPUT_VARIABLE needed ERROR_VARIABLE said
		RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
	if(status)
		message(FATAL_ERROR "dpkg-shlibdeps: ${said}")
	endif()
	file(REMOVE_RECURSE ${CPACK_TEMPORARY_DIRECTORY}/debian)
	string(REGEX REPLACE "^.*Depends=" "" needed "${needed}")
	string(APPEND CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS ", ${needed}")
endif()
