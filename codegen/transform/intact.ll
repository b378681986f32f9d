; 0 if the bytes `from` to `to` hold the pattern of poison.ll, else 1.

define internal i64 @irad_intact(ptr %p, i64 %from, i64 %to) noinline {
entry:
  br label %loop
loop:
  %k = phi i64 [ %from, %entry ], [ %k1, %same ]
  %more = icmp slt i64 %k, %to
  br i1 %more, label %look, label %done
look:
  %odd = trunc i64 %k to i1
  %b = select i1 %odd, i8 127, i8 -5
  %q = getelementptr i8, ptr %p, i64 %k
  %x = load i8, ptr %q
  %equal = icmp eq i8 %x, %b
  br i1 %equal, label %same, label %changed
same:
  %k1 = add i64 %k, 1
  br label %loop
changed:
  ret i64 1
done:
  ret i64 0
}
