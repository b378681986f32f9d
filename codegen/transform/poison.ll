; Fill n bytes with a pattern that no result has by chance: POISON of memory_check.py in each two bytes, from an even address on.

define internal void @irad_poison(ptr %p, i64 %n) noinline {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
  %odd = trunc i64 %k to i1
  %b = select i1 %odd, i8 127, i8 -5
  %q = getelementptr i8, ptr %p, i64 %k
  store i8 %b, ptr %q
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
