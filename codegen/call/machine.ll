; The call: from a Python call to a kernel and back without Python code. Compiled once per process.
;
; A call runs the program of a specialisation (irad.codegen.call.machine builds it): a list of instructions of four words, the
; address of an operation of this module first. An operation is a function `i64 op(c, x, p, n)`: `c` the frame of the call, `x` the
; content of the frame's word that the instruction names, `p` an address and `n` a number from the instruction. It gives 0 (go on),
; 1 (a miss: the call is not one this program is for; the next program is tried), 2 (a Python exception is set) or 3 (done).
;
; Frame, in words: 0 next free frame, 1 end of the registers, 2 arguments of the call, 3 the function called, then what the
; program lays out: the kernel's arguments, cells of scalars, registers. A register holds a reference of its own. Frames are in a
; free list of the program, which the GIL guards. Program: 0 positional arguments, 1 keyword arguments, 2 their names, 3 free
; frames, 4 callable that adds a frame to them, 5 first register, then the instructions.

declare void @PyErr_Clear()
declare ptr @PyList_GetItem(ptr, i64)
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyTuple_Size(ptr)
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; METH_FASTCALL|KEYWORDS. self: (list of one table, function).
define ptr @irad_call(ptr %self, ptr %args, i64 %n, ptr %names) {
  %cell = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %fn = call ptr @PyTuple_GetItem(ptr %self, i64 1)
  %r = call ptr @dispatch(ptr %cell, ptr %fn, ptr %args, i64 %n, ptr %names)
  ret ptr %r
}

; The same with the list and the function as the first two arguments.
define ptr @irad_invoke(ptr %self, ptr %args, i64 %n, ptr %names) {
  %cell = load ptr, ptr %args
  %second = getelementptr ptr, ptr %args, i64 1
  %fn = load ptr, ptr %second
  %rest = getelementptr ptr, ptr %args, i64 2
  %m = sub i64 %n, 2
  %r = call ptr @dispatch(ptr %cell, ptr %fn, ptr %rest, i64 %m, ptr %names)
  ret ptr %r
}

; A table: (slow path, owners, address of a program...). It is kept alive, with the code, while one of its programs runs.
define ptr @dispatch(ptr %cell, ptr %fn, ptr %args, i64 %n, ptr %names) {
entry:
  %table = call ptr @PyList_GetItem(ptr %cell, i64 0)
  call void @Py_IncRef(ptr %table)
  %size = call i64 @PyTuple_Size(ptr %table)
  br label %loop
loop:
  %k = phi i64 [ 2, %entry ], [ %k1, %next ]
  %more = icmp slt i64 %k, %size
  br i1 %more, label %try, label %slow
try:
  %item = call ptr @PyTuple_GetItem(ptr %table, i64 %k)
  %program = call ptr @PyLong_AsVoidPtr(ptr %item)
  %r = call ptr @run(ptr %program, ptr %fn, ptr %args, i64 %n, ptr %names)
  %missed = icmp eq ptr %r, inttoptr (i64 1 to ptr)
  %k1 = add i64 %k, 1
  br i1 %missed, label %next, label %end
next:
  br label %loop
slow:
  %callable = call ptr @PyTuple_GetItem(ptr %table, i64 0)
  %s = call ptr @slow(ptr %callable, ptr %fn, ptr %args, i64 %n, ptr %names)
  br label %end
end:
  %result = phi ptr [ %r, %try ], [ %s, %slow ]
  call void @Py_DecRef(ptr %table)
  ret ptr %result
}

; callable(function, *args, **kwargs)
define ptr @slow(ptr %callable, ptr %fn, ptr %args, i64 %n, ptr %names) {
entry:
  %keyworded = icmp ne ptr %names, null
  br i1 %keyworded, label %named, label %copy
named:
  %kw = call i64 @PyTuple_Size(ptr %names)
  br label %copy
copy:
  %extra = phi i64 [ 0, %entry ], [ %kw, %named ]
  %total = add i64 %n, %extra
  %room = add i64 %total, 1
  %bytes = shl i64 %total, 3
  %all = alloca ptr, i64 %room
  store ptr %fn, ptr %all
  %tail = getelementptr ptr, ptr %all, i64 1
  call void @llvm.memcpy.p0.p0.i64(ptr %tail, ptr %args, i64 %bytes, i1 false)
  %positional = add i64 %n, 1
  %r = call ptr @PyObject_Vectorcall(ptr %callable, ptr %all, i64 %positional, ptr %names)
  ret ptr %r
}

define internal i64 @fits(ptr %program, i64 %n, ptr %names) {
entry:
  %want = load i64, ptr %program
  %p1 = getelementptr i64, ptr %program, i64 1
  %want_kw = load i64, ptr %p1
  %same = icmp eq i64 %n, %want
  br i1 %same, label %keywords, label %no
keywords:
  %plain = icmp eq ptr %names, null
  br i1 %plain, label %none, label %count
none:
  %wants_none = icmp eq i64 %want_kw, 0
  br i1 %wants_none, label %yes, label %no
count:
  %kw = call i64 @PyTuple_Size(ptr %names)
  %equal = icmp eq i64 %kw, %want_kw
  br i1 %equal, label %start, label %no
start:
  %p2 = getelementptr ptr, ptr %program, i64 2
  %list = load ptr, ptr %p2
  br label %loop
loop:
  %k = phi i64 [ 0, %start ], [ %k1, %same_name ]
  %more = icmp slt i64 %k, %kw
  br i1 %more, label %name, label %yes
name:
  %given = call ptr @PyTuple_GetItem(ptr %names, i64 %k)
  %q = getelementptr ptr, ptr %list, i64 %k
  %wanted = load ptr, ptr %q
  %k1 = add i64 %k, 1
  %is = icmp eq ptr %given, %wanted
  br i1 %is, label %same_name, label %no
same_name:
  br label %loop
yes:
  ret i64 1
no:
  ret i64 0
}

; A free frame, or null with an exception set. Another thread may take the one that was made, so this looks again.
define internal ptr @frame(ptr %program) {
entry:
  %p = getelementptr ptr, ptr %program, i64 3
  %p4 = getelementptr ptr, ptr %program, i64 4
  br label %look
look:
  %c = load ptr, ptr %p
  %none = icmp eq ptr %c, null
  br i1 %none, label %make, label %take
make:
  %maker = load ptr, ptr %p4
  %made = call ptr @PyObject_CallNoArgs(ptr %maker)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %no, label %made_one
made_one:
  call void @Py_DecRef(ptr %made)
  br label %look
take:
  %next = load ptr, ptr %c
  store ptr %next, ptr %p
  ret ptr %c
no:
  ret ptr null
}

; Put a frame on the free list. Called with the GIL held, as the next one: nothing comes between its steps.
define i64 @irad_add_frame(ptr %program, ptr %c) {
  %p = getelementptr ptr, ptr %program, i64 3
  %head = load ptr, ptr %p
  store ptr %head, ptr %c
  store ptr %c, ptr %p
  ret i64 0
}

; Take the whole free list: its first frame.
define i64 @irad_take_frames(ptr %program) {
  %p = getelementptr ptr, ptr %program, i64 3
  %head = load i64, ptr %p
  store i64 0, ptr %p
  ret i64 %head
}

; The result, null with an exception set, or 1 for a miss.
define internal ptr @run(ptr %program, ptr %fn, ptr %args, i64 %n, ptr %names) {
entry:
  %ok = call i64 @fits(ptr %program, i64 %n, ptr %names)
  %fit = icmp ne i64 %ok, 0
  br i1 %fit, label %start, label %no
no:
  ret ptr inttoptr (i64 1 to ptr)
start:
  %c = call ptr @frame(ptr %program)
  %failed = icmp eq ptr %c, null
  br i1 %failed, label %bad, label %go
bad:
  ret ptr null
go:
  %p5 = getelementptr i64, ptr %program, i64 5
  %first = load i64, ptr %p5
  %base = getelementptr ptr, ptr %c, i64 %first
  %c1 = getelementptr ptr, ptr %c, i64 1
  store ptr %base, ptr %c1
  %c2 = getelementptr ptr, ptr %c, i64 2
  store ptr %args, ptr %c2
  %c3 = getelementptr ptr, ptr %c, i64 3
  store ptr %fn, ptr %c3
  %code = getelementptr i64, ptr %program, i64 6
  br label %loop
loop:
  %i = phi ptr [ %code, %go ], [ %i4, %loop ]
  %op = load ptr, ptr %i
  %i1 = getelementptr i64, ptr %i, i64 1
  %a = load i64, ptr %i1
  %xp = getelementptr ptr, ptr %c, i64 %a
  %x = load ptr, ptr %xp
  %i2 = getelementptr i64, ptr %i, i64 2
  %p = load ptr, ptr %i2
  %i3 = getelementptr i64, ptr %i, i64 3
  %m = load i64, ptr %i3
  %status = call i64 %op(ptr %c, ptr %x, ptr %p, i64 %m)
  %i4 = getelementptr i64, ptr %i, i64 4
  %on = icmp eq i64 %status, 0
  br i1 %on, label %loop, label %end
end:
  %missed = icmp eq i64 %status, 1
  %other = select i1 %missed, ptr inttoptr (i64 1 to ptr), ptr null
  %done = icmp eq i64 %status, 3
  br i1 %done, label %result, label %unwind
result:
  %r = call ptr @take(ptr %c)
  br label %unwind
unwind:
  %out = phi ptr [ %other, %end ], [ %r, %result ]
  br label %drop
drop:
  %top = load ptr, ptr %c1
  %empty = icmp eq ptr %top, %base
  br i1 %empty, label %back, label %one
one:
  %o = call ptr @take(ptr %c)
  call void @Py_DecRef(ptr %o)
  br label %drop
back:
  %p3 = getelementptr ptr, ptr %program, i64 3
  %head = load ptr, ptr %p3
  store ptr %head, ptr %c
  store ptr %c, ptr %p3
  ret ptr %out
}

; Take the last register's reference.
define internal ptr @take(ptr %c) {
  %t = getelementptr ptr, ptr %c, i64 1
  %top = load ptr, ptr %t
  %last = getelementptr ptr, ptr %top, i64 -1
  store ptr %last, ptr %t
  %o = load ptr, ptr %last
  ret ptr %o
}

; A new reference into the next register; null is a failure.
define internal i64 @put(ptr %c, ptr %o) {
  %failed = icmp eq ptr %o, null
  br i1 %failed, label %no, label %ok
no:
  ret i64 2
ok:
  %t = getelementptr ptr, ptr %c, i64 1
  %top = load ptr, ptr %t
  store ptr %o, ptr %top
  %next = getelementptr ptr, ptr %top, i64 1
  store ptr %next, ptr %t
  ret i64 0
}

; A borrowed reference into the next register.
define internal i64 @keep(ptr %c, ptr %o) {
  call void @Py_IncRef(ptr %o)
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
}

; A new reference into the next register; where there is none, the program does not fit.
define internal i64 @found(ptr %c, ptr %o) {
  %failed = icmp eq ptr %o, null
  br i1 %failed, label %no, label %ok
no:
  call void @PyErr_Clear()
  ret i64 1
ok:
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
}

define internal ptr @type_of(ptr %o) {
  %p = getelementptr i8, ptr %o, i64 8
  %t = load ptr, ptr %p
  ret ptr %t
}
