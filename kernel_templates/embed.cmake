# Run as a script:
#   cmake -DOUTPUT=x.cpp -DNAME=kFiles -DFOLDER=/path -DFILES="cuda/simt/kernel.cu;..." -P embed.cmake
# Writes a C++ file with every file as an array of characters, so that nothing needs escaping:
#   extern const SourceFile kFiles[]; extern const std::size_t kFilesCount;
set(content "#include \"kernel_templates/source.h\"\n\n#include <cstddef>\n\nnamespace tunedgemm::internal {\nnamespace {\n")
set(table "")
list(LENGTH FILES count)
math(EXPR last "${count} - 1")
foreach(index RANGE ${last})
  list(GET FILES ${index} name)
  file(READ "${FOLDER}/${name}" hex HEX)
  string(LENGTH "${hex}" hex_length)
  math(EXPR length "${hex_length} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND content "const char file_${index}[] = {${bytes}'\\0'};\n")
  string(APPEND table "    {\"${name}\", {file_${index}, ${length}}},\n")
endforeach()
string(APPEND content "}  // namespace\n\nextern const SourceFile ${NAME}[];\nextern const std::size_t ${NAME}Count;\n")
string(APPEND content "const SourceFile ${NAME}[] = {\n${table}};\nconst std::size_t ${NAME}Count = ${count};\n\n}  // namespace tunedgemm\n")
file(WRITE "${OUTPUT}" "${content}")
