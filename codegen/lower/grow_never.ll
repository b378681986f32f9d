; In the place of grow.ll where each tape has all the memory that it can need.

define internal i64 @irad_grow(ptr %slot, i64 %need, i64 %code) noinline {
  ret i64 %code
}
