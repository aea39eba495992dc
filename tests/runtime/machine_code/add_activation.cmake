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
replace(problem/activation.h "  kReluSquared = 8,\n" "  kReluSquared = 8,\n  kSoftsign = 9,\n")
replace(problem/activation.h "rows[9]" "rows[10]")
replace(problem/activation.h "  }};\n" "      {Activation::kSoftsign, \"softsign\", true, 1, 1, 4, 40},\n  }};\n")
foreach(file cuda/common/activation.cuh cuda/reference/activation.cuh)
  replace(${file} "    case Activation::kReluSquared:" "    case Activation::kSoftsign:
      return x / (1 + (x < 0 ? -x : x));\n    case Activation::kReluSquared:")
endforeach()
