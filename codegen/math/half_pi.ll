; x = n pi/2 + r, |r| <= pi/4: r and the quadrant n, right to an ulp of r for every finite x, r NaN otherwise.
; Payne and Hanek, Radian reduction for trigonometric functions, 1983.
; 
; The table has 64 zero bits, then 1344 bits of 2/pi. With x = m 2**e, its bits from index e - 2 on matter (those before it give
; multiples of 4): three words w of them times m, modulo 2**192, are the quadrant (2 bits) and the fraction (190 bits). Rounding the
; quadrant to the nearest leaves a signed fraction f; r = f pi/2 with f in two doubles.

declare double @llvm.fma.f64(double, double, double)
@irad.two_over_pi = private unnamed_addr constant [22 x i64] [i64 0, i64 11743562013128004905, i64 18169587780923219392, i64 15808362127397457985, i64 18325537948574664033, i64 13196794004601950944, i64 452944820249399836, i64 18311050168422213438, i64 16754012890938950788, i64 16833452818741296705, i64 4148332274289687028, i64 11278244420634880059, i64 2303758334597371919, i64 17235013589178936607, i64 7869616827067468215, i64 5712322887342352941, i64 8441921394348257659, i64 4397547296490951402, i64 7780917995555872008, i64 6197850593633725355, i64 17352294737506481693, i64 12241788059513133832]
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare i128 @llvm.ctlz.i128(i128, i1)
define internal { double, i64 } @irad.half_pi(double %x) noinline cold {
  %bits = bitcast double %x to i64
  %shifted = lshr i64 %bits, 52
  %field = and i64 %shifted, 2047
  %low = and i64 %bits, 4503599627370495
  %m = or i64 %low, 4503599627370496
  %finite = icmp ne i64 %field, 2047
  %at = sub i64 %field, 1013
  %index = select i1 %finite, i64 %at, i64 0
  %word = lshr i64 %index, 6
  %shift = and i64 %index, 63
  %p0 = getelementptr i64, ptr @irad.two_over_pi, i64 %word
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %p3 = getelementptr i64, ptr %p0, i64 3
  %t0 = load i64, ptr %p0
  %t1 = load i64, ptr %p1
  %t2 = load i64, ptr %p2
  %t3 = load i64, ptr %p3
  %w0 = call i64 @llvm.fshl.i64(i64 %t0, i64 %t1, i64 %shift)
  %w1 = call i64 @llvm.fshl.i64(i64 %t1, i64 %t2, i64 %shift)
  %w2 = call i64 @llvm.fshl.i64(i64 %t2, i64 %t3, i64 %shift)
  %wide = zext i64 %m to i128
  %u1 = zext i64 %w1 to i128
  %u2 = zext i64 %w2 to i128
  %product2 = mul i128 %wide, %u2
  %carry2 = lshr i128 %product2, 64
  %plain1 = mul i128 %wide, %u1
  %product1 = add i128 %plain1, %carry2
  %carried1 = lshr i128 %product1, 64
  %carry1 = trunc i128 %carried1 to i64
  %plain0 = mul i64 %m, %w0
  %r0 = add i64 %plain0, %carry1
  %r1 = trunc i128 %product1 to i64
  %r2 = trunc i128 %product2 to i64
  %rounded = add i64 %r0, 2305843009213693952
  %quadrant = lshr i64 %rounded, 62
  %f0 = call i64 @llvm.fshl.i64(i64 %r0, i64 %r1, i64 2)
  %f1 = call i64 @llvm.fshl.i64(i64 %r1, i64 %r2, i64 2)
  %f0wide = zext i64 %f0 to i128
  %f1wide = zext i64 %f1 to i128
  %f0up = shl i128 %f0wide, 64
  %f = or i128 %f0up, %f1wide
  %negative = icmp slt i128 %f, 0
  %minus = sub i128 0, %f
  %size = select i1 %negative, i128 %minus, i128 %f
  %zeros = call i128 @llvm.ctlz.i128(i128 %size, i1 false)
  %normal = shl i128 %size, %zeros
  %upper = lshr i128 %normal, 75
  %high = trunc i128 %upper to i64
  %next = lshr i128 %normal, 11
  %rest = trunc i128 %next to i64
  %a = uitofp i64 %high to double
  %bscaled = uitofp i64 %rest to double
  %b = fmul double %bscaled, 0x3BF0000000000000
  %main = fmul double %a, 0x3FF921FB54442D18
  %mainminus = fneg double %main
  %error = call double @llvm.fma.f64(double %a, double 0x3FF921FB54442D18, double %mainminus)
  %tail = call double @llvm.fma.f64(double %a, double 0x3C91A62633145C07, double %error)
  %tails = call double @llvm.fma.f64(double %b, double 0x3FF921FB54442D18, double %tail)
  %sum = fadd double %main, %tails
  %z = trunc i128 %zeros to i64
  %power = sub i64 970, %z
  %powerbits = shl i64 %power, 52
  %scale = bitcast i64 %powerbits to double
  %magnitude = fmul double %sum, %scale
  %below = icmp slt i64 %bits, 0
  %flip = xor i1 %below, %negative
  %flipped = fneg double %magnitude
  %signed = select i1 %flip, double %flipped, double %magnitude
  %r = select i1 %finite, double %signed, double 0x7FF8000000000000
  %minusquadrant = sub i64 0, %quadrant
  %q = select i1 %below, i64 %minusquadrant, i64 %quadrant
  %partial = insertvalue { double, i64 } undef, double %r, 0
  %result = insertvalue { double, i64 } %partial, i64 %q, 1
  ret { double, i64 } %result
}
