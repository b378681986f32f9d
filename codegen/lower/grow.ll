; Make room for so many words on a tape, whose slot is address, capacity, top: 0, or `code` where there is no memory.

define internal i64 @irad_grow(ptr %slot, i64 %need, i64 %code) noinline {
entry:
  %pc = getelementptr i64, ptr %slot, i64 1
  %cap = load i64, ptr %pc
  %twice = shl i64 %cap, 1
  %more = icmp ugt i64 %need, %twice
  %a = select i1 %more, i64 %need, i64 %twice
  %small = icmp ult i64 %a, 512
  %b = select i1 %small, i64 512, i64 %a
  %bytes = shl i64 %b, 3
  %old = load ptr, ptr %slot
  %new = call ptr @realloc(ptr %old, i64 %bytes)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %out, label %ok
ok:
  store ptr %new, ptr %slot
  store i64 %b, ptr %pc
  ret i64 0
out:
  ret i64 %code
}
declare ptr @realloc(ptr, i64)
