// The accumulators of a wgmma instruction, for every width n. An asm statement must name each
// operand. NAMES_n are the names of the n / 2 accumulators, numbered from %3 on. ACCUMULATORS_n(c)
// are the accumulators d with their constraint c.
#pragma once

#define NAMES_16 "%3, %4, %5, %6, %7, %8, %9, %10"
#define NAMES_24 \
  NAMES_16       \
  ", "           \
  "%11, %12, %13, %14"
#define NAMES_32 \
  NAMES_24       \
  ", "           \
  "%15, %16, %17, %18"
#define NAMES_40 \
  NAMES_32       \
  ", "           \
  "%19, %20, %21, %22"
#define NAMES_48 \
  NAMES_40       \
  ", "           \
  "%23, %24, %25, %26"
#define NAMES_56 \
  NAMES_48       \
  ", "           \
  "%27, %28, %29, %30"
#define NAMES_64 \
  NAMES_56       \
  ", "           \
  "%31, %32, %33, %34"
#define NAMES_72 \
  NAMES_64       \
  ", "           \
  "%35, %36, %37, %38"
#define NAMES_80 \
  NAMES_72       \
  ", "           \
  "%39, %40, %41, %42"
#define NAMES_88 \
  NAMES_80       \
  ", "           \
  "%43, %44, %45, %46"
#define NAMES_96 \
  NAMES_88       \
  ", "           \
  "%47, %48, %49, %50"
#define NAMES_104 \
  NAMES_96        \
  ", "            \
  "%51, %52, %53, %54"
#define NAMES_112 \
  NAMES_104       \
  ", "            \
  "%55, %56, %57, %58"
#define NAMES_120 \
  NAMES_112       \
  ", "            \
  "%59, %60, %61, %62"
#define NAMES_128 \
  NAMES_120       \
  ", "            \
  "%63, %64, %65, %66"
#define NAMES_136 \
  NAMES_128       \
  ", "            \
  "%67, %68, %69, %70"
#define NAMES_144 \
  NAMES_136       \
  ", "            \
  "%71, %72, %73, %74"
#define NAMES_152 \
  NAMES_144       \
  ", "            \
  "%75, %76, %77, %78"
#define NAMES_160 \
  NAMES_152       \
  ", "            \
  "%79, %80, %81, %82"
#define NAMES_168 \
  NAMES_160       \
  ", "            \
  "%83, %84, %85, %86"
#define NAMES_176 \
  NAMES_168       \
  ", "            \
  "%87, %88, %89, %90"
#define NAMES_184 \
  NAMES_176       \
  ", "            \
  "%91, %92, %93, %94"
#define NAMES_192 \
  NAMES_184       \
  ", "            \
  "%95, %96, %97, %98"
#define NAMES_200 \
  NAMES_192       \
  ", "            \
  "%99, %100, %101, %102"
#define NAMES_208 \
  NAMES_200       \
  ", "            \
  "%103, %104, %105, %106"
#define NAMES_216 \
  NAMES_208       \
  ", "            \
  "%107, %108, %109, %110"
#define NAMES_224 \
  NAMES_216       \
  ", "            \
  "%111, %112, %113, %114"
#define NAMES_232 \
  NAMES_224       \
  ", "            \
  "%115, %116, %117, %118"
#define NAMES_240 \
  NAMES_232       \
  ", "            \
  "%119, %120, %121, %122"
#define NAMES_248 \
  NAMES_240       \
  ", "            \
  "%123, %124, %125, %126"
#define NAMES_256 \
  NAMES_248       \
  ", "            \
  "%127, %128, %129, %130"

#define ACCUMULATORS_16(c) FOUR(c, 0), FOUR(c, 4)
#define ACCUMULATORS_24(c) ACCUMULATORS_16(c), FOUR(c, 8)
#define ACCUMULATORS_32(c) ACCUMULATORS_24(c), FOUR(c, 12)
#define ACCUMULATORS_40(c) ACCUMULATORS_32(c), FOUR(c, 16)
#define ACCUMULATORS_48(c) ACCUMULATORS_40(c), FOUR(c, 20)
#define ACCUMULATORS_56(c) ACCUMULATORS_48(c), FOUR(c, 24)
#define ACCUMULATORS_64(c) ACCUMULATORS_56(c), FOUR(c, 28)
#define ACCUMULATORS_72(c) ACCUMULATORS_64(c), FOUR(c, 32)
#define ACCUMULATORS_80(c) ACCUMULATORS_72(c), FOUR(c, 36)
#define ACCUMULATORS_88(c) ACCUMULATORS_80(c), FOUR(c, 40)
#define ACCUMULATORS_96(c) ACCUMULATORS_88(c), FOUR(c, 44)
#define ACCUMULATORS_104(c) ACCUMULATORS_96(c), FOUR(c, 48)
#define ACCUMULATORS_112(c) ACCUMULATORS_104(c), FOUR(c, 52)
#define ACCUMULATORS_120(c) ACCUMULATORS_112(c), FOUR(c, 56)
#define ACCUMULATORS_128(c) ACCUMULATORS_120(c), FOUR(c, 60)
#define ACCUMULATORS_136(c) ACCUMULATORS_128(c), FOUR(c, 64)
#define ACCUMULATORS_144(c) ACCUMULATORS_136(c), FOUR(c, 68)
#define ACCUMULATORS_152(c) ACCUMULATORS_144(c), FOUR(c, 72)
#define ACCUMULATORS_160(c) ACCUMULATORS_152(c), FOUR(c, 76)
#define ACCUMULATORS_168(c) ACCUMULATORS_160(c), FOUR(c, 80)
#define ACCUMULATORS_176(c) ACCUMULATORS_168(c), FOUR(c, 84)
#define ACCUMULATORS_184(c) ACCUMULATORS_176(c), FOUR(c, 88)
#define ACCUMULATORS_192(c) ACCUMULATORS_184(c), FOUR(c, 92)
#define ACCUMULATORS_200(c) ACCUMULATORS_192(c), FOUR(c, 96)
#define ACCUMULATORS_208(c) ACCUMULATORS_200(c), FOUR(c, 100)
#define ACCUMULATORS_216(c) ACCUMULATORS_208(c), FOUR(c, 104)
#define ACCUMULATORS_224(c) ACCUMULATORS_216(c), FOUR(c, 108)
#define ACCUMULATORS_232(c) ACCUMULATORS_224(c), FOUR(c, 112)
#define ACCUMULATORS_240(c) ACCUMULATORS_232(c), FOUR(c, 116)
#define ACCUMULATORS_248(c) ACCUMULATORS_240(c), FOUR(c, 120)
#define ACCUMULATORS_256(c) ACCUMULATORS_248(c), FOUR(c, 124)
#define FOUR(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])

#define PASTE(a, b) a##b
#define NAMES_OF(n) PASTE(NAMES_, n)
#define ACCUMULATORS_OF(n) PASTE(ACCUMULATORS_, n)
#define TEXT_OF(n) #n
#define DIGITS_OF(n) TEXT_OF(n)
// NOT_OF swaps 0 and 1.
#define NOT_0 1
#define NOT_1 0
#define NOT_OF(bit) PASTE(NOT_, bit)
