# Three Debian packages, one for each component of the installation:
#
#   cmake --workflow --preset deb        build/deb/*.deb
#
#   library      libtunedgemm0      the shared library
#   development  libtunedgemm-dev   headers, and the files for CMake and pkg-config
#   programs     tunedgemm-tools    tune-all, tunedgemm, and the scripts that plot their results
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL library development)
if(TUNEDGEMM_TOOLS)
  list(APPEND CPACK_COMPONENTS_ALL programs)
endif()
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtunedgemm${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtunedgemm-dev)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME tunedgemm-tools)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION science)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
    "The shared library. It compiles matrix multiplication kernels for a shape at
run time, checks and times them, and keeps the fastest one in an SQLite file.
It opens the CUDA driver and NVRTC at run time, and uses the CPU without them.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "Headers for C and C++, and the files by which CMake and pkg-config find the
library.")
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION
    "The programs tune-all, which fills a cache with the fastest kernels for a list
of shapes, and tunedgemm, which shows, explains, exports and measures them.")

# The programs contain the library. Kernels for the CPU need a compiler where they run.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "g++ | c++-compiler")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libtunedgemm${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS "g++ | c++-compiler, libtunedgemm${PROJECT_VERSION_MAJOR}, python3-matplotlib")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGE_CONTACT "libtunedgemm maintainers <maintainers@tunedgemm.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
foreach(component IN ITEMS LIBRARY DEVELOPMENT PROGRAMS)
  string(TOLOWER ${component} name)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
          DESTINATION share/doc/${CPACK_DEBIAN_${component}_PACKAGE_NAME} RENAME copyright
          COMPONENT ${name} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
