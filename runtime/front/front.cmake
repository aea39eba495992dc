# Libraries that programs preload. They are loaded into every process that such a program starts, so
# they need nothing but the C library, and open libtunedgemm, which lies beside them, when the first
# product is asked for. The Python package, which is linked to the static library, has a copy.
set(front_library tunedgemm)
if(NOT BUILD_SHARED_LIBS)
  set(front_library tunedgemm_of_fronts)
  add_library(tunedgemm_of_fronts MODULE $<TARGET_OBJECTS:tunedgemm_kernels> $<TARGET_OBJECTS:tunedgemm_cache>
              $<TARGET_OBJECTS:tunedgemm_tuner> $<TARGET_OBJECTS:tunedgemm_runtime>)
  target_link_libraries(tunedgemm_of_fronts PRIVATE tunedgemm_log tunedgemm_sqlite Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(tunedgemm_of_fronts PRIVATE
                      -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/package/exports.map)
  set_target_properties(tunedgemm_of_fronts PROPERTIES OUTPUT_NAME tunedgemm
                        SUFFIX .so.${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE CXX)
endif()
function(tunedgemm_front name)
  add_library(tunedgemm_${name} MODULE front/front.cpp front/next_function.cpp ${ARGN}
              ${PROJECT_SOURCE_DIR}/kernel_templates/base/environment.cpp)
  target_include_directories(tunedgemm_${name} PRIVATE ${PROJECT_SOURCE_DIR}
                             ${CMAKE_CURRENT_SOURCE_DIR}/include)
  # Preloaded libraries have their thread-local variables at constant offsets.
  target_compile_options(tunedgemm_${name} PRIVATE -ftls-model=initial-exec)
  # Preloaded libraries have their thread-local variables at constant offsets.
  target_compile_options(tunedgemm_${name} PRIVATE -ftls-model=initial-exec)
  target_link_libraries(tunedgemm_${name} PRIVATE tunedgemm_warnings ${CMAKE_DL_LIBS})
  set(exports ${CMAKE_CURRENT_SOURCE_DIR}/front/${name}.map)
  target_link_options(tunedgemm_${name} PRIVATE -static-libstdc++ -static-libgcc -Wl,-Bsymbolic
                      -Wl,--version-script=${exports})
  set_target_properties(tunedgemm_${name} PROPERTIES LINK_DEPENDS ${exports} BUILD_RPATH_USE_ORIGIN ON
                        BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
  add_dependencies(tunedgemm_${name} ${front_library})
  if(BUILD_SHARED_LIBS)
    install(TARGETS tunedgemm_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
  endif()
endfunction()

tunedgemm_front(cublas front/cublas.cpp front/gpus.cpp cuda/driver.cpp
                ${PROJECT_SOURCE_DIR}/kernel_templates/base/process_fork.cpp)
tunedgemm_front(blas front/cblas.cpp)
