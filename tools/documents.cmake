# Shell completions and, if help2man is there, manual pages of the programs.
set(documents ${CMAKE_CURRENT_BINARY_DIR}/documents)
file(MAKE_DIRECTORY ${documents})
set(generated)

# tunedgemm_document(FILE DESTINATION COMMAND...) installs what the command prints.
function(tunedgemm_document file destination)
  add_custom_command(OUTPUT ${documents}/${file} COMMAND ${ARGN} > ${documents}/${file}
                     DEPENDS tune-all tunedgemm-command VERBATIM)
  install(FILES ${documents}/${file} DESTINATION ${destination} COMPONENT programs)
  set(generated ${generated} ${documents}/${file} PARENT_SCOPE)
endfunction()

# Debian's zsh reads /usr/share/zsh/vendor-completions and /usr/local/share/zsh/site-functions.
set(zsh_folder site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(zsh_folder vendor-completions)
endif()
foreach(program tune-all tunedgemm)
  set(target ${program})
  if(program STREQUAL "tunedgemm")
    set(target tunedgemm-command)
  endif()
  tunedgemm_document(${program} ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
                     ${target} --completion bash)
  tunedgemm_document(_${program} ${CMAKE_INSTALL_DATADIR}/zsh/${zsh_folder}
                     ${target} --completion zsh)
  tunedgemm_document(${program}.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
                     ${target} --completion fish)
endforeach()

find_program(HELP2MAN help2man)
mark_as_advanced(HELP2MAN)
if(HELP2MAN)
  set(manual_page ${CMAKE_CURRENT_SOURCE_DIR}/ci/manual_page.sh)
  tunedgemm_document(tune-all.1 ${CMAKE_INSTALL_MANDIR}/man1 ${manual_page} $<TARGET_FILE:tune-all>)
  tunedgemm_document(tunedgemm.1 ${CMAKE_INSTALL_MANDIR}/man1
                     ${manual_page} $<TARGET_FILE:tunedgemm-command>)
  foreach(verb best explain trials missing show report top bench sweep ladder order record run doctor diff export merge forget gc verify)
    tunedgemm_document(tunedgemm-${verb}.1 ${CMAKE_INSTALL_MANDIR}/man1
                       ${manual_page} $<TARGET_FILE:tunedgemm-command> ${verb})
  endforeach()
endif()
add_custom_target(tunedgemm_documents ALL DEPENDS ${generated})
