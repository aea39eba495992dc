# Run as a script: cmake -DFOLDER=kernel_templates -DFILES="cuda/simt/kernel.cu;..." -DGROWN=/path -P add_activation.cmake
# Copies the kernels' files and adds an activation to the copy, following CONTRIBUTING.md.
function(replace file old new)
  file(READ ${GROWN}/${file} text)
  string(FIND "${text}" "${old}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "${file} has no \"${old}\"")
  endif()
  string(REPLACE "${old}" "${new}" text "${text}")
  file(WRITE ${GROWN}/${file} "${text}")
endfunction()

foreach(file ${FILES})
  configure_file(${FOLDER}/${file} ${GROWN}/${file} COPYONLY)
endforeach()
file(READ ${GROWN}/problem/activation.h text)
string(REGEX MATCH "rows\\[([0-9]+)\\]" rows "${text}")
set(number ${CMAKE_MATCH_1})  # the next one, since they begin with 0
math(EXPR more "${number} + 1")
string(REGEX MATCH "  kReluSquared = [0-9]+,\n" last "${text}")
replace(problem/activation.h "${last}" "${last}  kSoftsign = ${number},\n")
replace(problem/activation.h "${rows}" "rows[${more}]")
replace(problem/activation.h "  }};\n" "      {Activation::kSoftsign, \"softsign\", true, 1, 1, 4, 40},\n  }};\n")
foreach(file cuda/common/activation.cuh cuda/reference/activation.cuh)
  replace(${file} "    case Activation::kReluSquared:" "    case Activation::kSoftsign:
      return x / (1 + (x < 0 ? -x : x));\n    case Activation::kReluSquared:")
endforeach()
