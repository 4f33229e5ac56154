# cmake -DFILES=... -DDIGEST=file -P digest.cmake: a header that is another one if the contents of the files are.
set(text "")
foreach(file ${FILES})
  file(SHA256 ${file} digest)
  string(APPEND text "// ${digest}\n")
endforeach()
file(WRITE ${DIGEST} "${text}")
