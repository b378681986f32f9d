; C's fmod, exact: long division on the mantissas, 11 bits a step.

declare double @llvm.fabs.f64(double)
declare double @llvm.copysign.f64(double, double)
declare i64 @llvm.ctlz.i64(i64, i1)
define internal { i64, i64 } @irad.decompose(double %x) {
  %bits = bitcast double %x to i64
  %field = lshr i64 %bits, 52
  %low = and i64 %bits, 4503599627370495
  %isnormal = icmp ne i64 %field, 0
  %zeros = call i64 @llvm.ctlz.i64(i64 %low, i1 false)
  %shift = sub i64 %zeros, 11
  %up = shl i64 %low, %shift
  %down = sub i64 1, %shift
  %full = or i64 %low, 4503599627370496
  %m = select i1 %isnormal, i64 %full, i64 %up
  %e = select i1 %isnormal, i64 %field, i64 %down
  %partial = insertvalue { i64, i64 } undef, i64 %m, 0
  %result = insertvalue { i64, i64 } %partial, i64 %e, 1
  ret { i64, i64 } %result
}
define internal double @irad.fmod(double %x, double %y) noinline cold {
entry:
  %ax = call double @llvm.fabs.f64(double %x)
  %ay = call double @llvm.fabs.f64(double %y)
  %finite = fcmp olt double %ax, 0x7FF0000000000000
  %positive = fcmp ogt double %ay, 0.0
  %defined = and i1 %finite, %positive
  br i1 %defined, label %sized, label %undefined
undefined:
  ret double 0x7FF8000000000000
sized:
  %larger = fcmp oge double %ax, %ay
  br i1 %larger, label %divide, label %same
same:
  ret double %x
divide:
  %dx = call { i64, i64 } @irad.decompose(double %ax)
  %dy = call { i64, i64 } @irad.decompose(double %ay)
  %mx = extractvalue { i64, i64 } %dx, 0
  %ex = extractvalue { i64, i64 } %dx, 1
  %my = extractvalue { i64, i64 } %dy, 0
  %ey = extractvalue { i64, i64 } %dy, 1
  %count = sub i64 %ex, %ey
  %first = urem i64 %mx, %my
  br label %step
step:
  %left = phi i64 [ %count, %divide ], [ %less, %more ]
  %m = phi i64 [ %first, %divide ], [ %remainder, %more ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %out, label %more
more:
  %few = icmp ult i64 %left, 11
  %bits = select i1 %few, i64 %left, i64 11
  %shifted = shl i64 %m, %bits
  %remainder = urem i64 %shifted, %my
  %less = sub i64 %left, %bits
  br label %step
out:
  %value = uitofp i64 %m to double
  %up = icmp sgt i64 %ey, 52
  %far = sub i64 %ey, 52
  %farbits = shl i64 %far, 52
  %large = bitcast i64 %farbits to double
  %near = add i64 %ey, 963
  %nearbits = shl i64 %near, 52
  %small = bitcast i64 %nearbits to double
  %scale = select i1 %up, double %large, double %small
  %rescale = select i1 %up, double 1.0, double 0x0080000000000000
  %once = fmul double %value, %scale
  %size = fmul double %once, %rescale
  %z = call double @llvm.copysign.f64(double %size, double %x)
  ret double %z
}
