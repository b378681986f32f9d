; As grow.ll, where the memory has a bound: the next step up, twice as much, is not taken where there is only room for what is needed.

define internal i64 @irad_grow(ptr %slot, i64 %need, i64 %code) noinline {
entry:
  %pc = getelementptr i64, ptr %slot, i64 1
  %cap = load i64, ptr %pc
  %twice = shl i64 %cap, 1
  %more = icmp ugt i64 %need, %twice
  %a = select i1 %more, i64 %need, i64 %twice
  %small = icmp ult i64 %a, 64
  %b = select i1 %small, i64 64, i64 %a
  %bytes = shl i64 %b, 3
  %old = load ptr, ptr %slot
  %new = call ptr @realloc(ptr %old, i64 %bytes)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %less, label %ok
less:
  %least = shl i64 %need, 3
  %again = call ptr @realloc(ptr %old, i64 %least)
  %full = icmp eq ptr %again, null
  br i1 %full, label %out, label %ok
ok:
  %words = phi i64 [ %b, %entry ], [ %need, %less ]
  %memory = phi ptr [ %new, %entry ], [ %again, %less ]
  store ptr %memory, ptr %slot
  store i64 %words, ptr %pc
  ret i64 0
out:
  ret i64 %code
}
declare ptr @realloc(ptr, i64)
