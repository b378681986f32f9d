; malloc, realloc and free within memory that the caller gives: for code that may not ask the system for any. The first block that
; is large enough is taken; blocks that are free and beside each other become one when they are looked at. A block is its size
; with this head (a multiple of 16), whether it is taken, and its content. The heap of a thread: where it starts, and where it ends.

@irad_heap = thread_local(initialexec) global [2 x i64] zeroinitializer

define void @irad_heap_begin(ptr %start, i64 %size) {
  %whole = and i64 %size, -16
  %from = ptrtoint ptr %start to i64
  %to = add i64 %from, %whole
  store i64 %from, ptr @irad_heap
  %pe = getelementptr i64, ptr @irad_heap, i64 1
  %some = icmp uge i64 %whole, 32
  %end = select i1 %some, i64 %to, i64 %from
  store i64 %end, ptr %pe
  br i1 %some, label %first, label %done
first:
  store i64 %whole, ptr %start
  %pt = getelementptr i64, ptr %start, i64 1
  store i64 0, ptr %pt
  br label %done
done:
  ret void
}

; Bytes of the block at `at`, which is free, with those after it that are.
define internal i64 @joined(i64 %at) {
entry:
  %p = inttoptr i64 %at to ptr
  %first = load i64, ptr %p
  %pe = getelementptr i64, ptr @irad_heap, i64 1
  %end = load i64, ptr %pe
  br label %look
look:
  %size = phi i64 [ %first, %entry ], [ %more, %free ]
  %next = add i64 %at, %size
  %last = icmp uge i64 %next, %end
  br i1 %last, label %done, label %there
there:
  %q = inttoptr i64 %next to ptr
  %qt = getelementptr i64, ptr %q, i64 1
  %taken = load i64, ptr %qt
  %isfree = icmp eq i64 %taken, 0
  br i1 %isfree, label %free, label %done
free:
  %its = load i64, ptr %q
  %more = add i64 %size, %its
  br label %look
done:
  store i64 %size, ptr %p
  ret i64 %size
}

; Take `need` bytes of a block that has `size`; what is left over is a block of its own.
define internal void @cut(i64 %at, i64 %size, i64 %need) {
  %p = inttoptr i64 %at to ptr
  %pt = getelementptr i64, ptr %p, i64 1
  store i64 1, ptr %pt
  %rest = sub i64 %size, %need
  %enough = icmp uge i64 %rest, 32
  br i1 %enough, label %split, label %done
split:
  store i64 %need, ptr %p
  %next = add i64 %at, %need
  %q = inttoptr i64 %next to ptr
  store i64 %rest, ptr %q
  %qt = getelementptr i64, ptr %q, i64 1
  store i64 0, ptr %qt
  br label %done
done:
  ret void
}

; Bytes of a block for so many of content; all bits set if that is too many.
define internal i64 @block(i64 %n) {
  %large = icmp ugt i64 %n, 281474976710656
  %a = add i64 %n, 31
  %b = and i64 %a, -16
  %c = select i1 %large, i64 -1, i64 %b
  ret i64 %c
}

define i64 @malloc(i64 %n) {
entry:
  %need = call i64 @block(i64 %n)
  %start = load i64, ptr @irad_heap
  %pe = getelementptr i64, ptr @irad_heap, i64 1
  %end = load i64, ptr %pe
  br label %look
look:
  %at = phi i64 [ %start, %entry ], [ %after, %on ]
  %over = icmp uge i64 %at, %end
  br i1 %over, label %none, label %there
there:
  %p = inttoptr i64 %at to ptr
  %pt = getelementptr i64, ptr %p, i64 1
  %taken = load i64, ptr %pt
  %isfree = icmp eq i64 %taken, 0
  br i1 %isfree, label %free, label %used
free:
  %size = call i64 @joined(i64 %at)
  %fits = icmp uge i64 %size, %need
  br i1 %fits, label %take, label %on
used:
  %its = load i64, ptr %p
  br label %on
on:
  %step = phi i64 [ %its, %used ], [ %size, %free ]
  %after = add i64 %at, %step
  br label %look
take:
  call void @cut(i64 %at, i64 %size, i64 %need)
  %content = add i64 %at, 16
  ret i64 %content
none:
  ret i64 0
}

define void @free(i64 %content) {
  %nothing = icmp eq i64 %content, 0
  br i1 %nothing, label %done, label %give
give:
  %at = sub i64 %content, 8
  %pt = inttoptr i64 %at to ptr
  store i64 0, ptr %pt
  br label %done
done:
  ret void
}

define ptr @realloc(ptr %old, i64 %n) {
  %nothing = icmp eq ptr %old, null
  br i1 %nothing, label %new, label %there
new:
  %fresh = call i64 @malloc(i64 %n)
  %q = inttoptr i64 %fresh to ptr
  ret ptr %q
there:
  %content = ptrtoint ptr %old to i64
  %at = sub i64 %content, 16
  %p = inttoptr i64 %at to ptr
  %before = load i64, ptr %p
  %need = call i64 @block(i64 %n)
  %size = call i64 @joined(i64 %at)
  %fits = icmp uge i64 %size, %need
  br i1 %fits, label %here, label %move
here:
  call void @cut(i64 %at, i64 %size, i64 %need)
  ret ptr %old
move:
  call void @cut(i64 %at, i64 %size, i64 %before)
  %other = call i64 @malloc(i64 %n)
  %failed = icmp eq i64 %other, 0
  br i1 %failed, label %none, label %copy
copy:
  %to = inttoptr i64 %other to ptr
  %bytes = sub i64 %before, 16
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %to, ptr align 16 %old, i64 %bytes, i1 false)
  call void @free(i64 %content)
  ret ptr %to
none:
  ret ptr null
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
