"""The LLVM text of the call: from a Python call to a kernel and back without Python code. Compiled once per process.

A call runs the program of a specialisation (irad.codegen.entry builds it): a list of instructions of four words, the
address of an operation of this module first. An operation is a function `i64 op(c, x, p, n)`: `c` the frame of the call, `x` the
content of the frame's word that the instruction names, `p` an address and `n` a number from the instruction. It gives NEXT,
MISS (the call is not one this program is for; the next program is tried), FAIL (a Python exception is set) or DONE.

Frame, in words: 0 next free frame, 1 end of the registers, 2 arguments of the call, 3 the function called, then what the
program lays out: the kernel's arguments, cells of scalars, registers. A register holds a reference of its own. Frames are in a
free list of the program, which the GIL guards. Program: 0 positional arguments, 1 keyword arguments, 2 their names, 3 free
frames, 4 callable that adds a frame to them, 5 first register, then the instructions.
"""

from __future__ import annotations

NEXT, MISS, FAIL, DONE = 0, 1, 2, 3

# Offsets in NumPy's array object (part of its binary interface; irad.codegen.entry probes them) and in its descriptor.
DATA, NDIM, DIMS, DESCR, FLAGS = 16, 24, 32, 56, 64
BYTE_ORDER, TYPE_NUMBER = 26, 28

CALL = """
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

; A free frame, or null with an exception set.
define internal ptr @frame(ptr %program) {
  %p = getelementptr ptr, ptr %program, i64 3
  %free = load ptr, ptr %p
  %none = icmp eq ptr %free, null
  br i1 %none, label %make, label %take
make:
  %p4 = getelementptr ptr, ptr %program, i64 4
  %maker = load ptr, ptr %p4
  %made = call ptr @PyObject_CallNoArgs(ptr %maker)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %no, label %made_one
made_one:
  call void @Py_DecRef(ptr %made)
  %fresh = load ptr, ptr %p
  br label %take
take:
  %c = phi ptr [ %free, %0 ], [ %fresh, %made_one ]
  %next = load ptr, ptr %c
  store ptr %next, ptr %p
  ret ptr %c
no:
  ret ptr null
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
"""

MATCH = """
define i64 @op_argument(ptr %c, ptr %x, ptr %p, i64 %n) {
  %q = getelementptr ptr, ptr %c, i64 2
  %args = load ptr, ptr %q
  %a = getelementptr ptr, ptr %args, i64 %n
  %o = load ptr, ptr %a
  %s = call i64 @keep(ptr %c, ptr %o)
  ret i64 %s
}

define i64 @op_function(ptr %c, ptr %x, ptr %p, i64 %n) {
  %q = getelementptr ptr, ptr %c, i64 3
  %o = load ptr, ptr %q
  %s = call i64 @keep(ptr %c, ptr %o)
  ret i64 %s
}

; The n values of a dict of class p[0] whose keys are p[1..], in this order.
define i64 @op_dict(ptr %c, ptr %x, ptr %p, i64 %n) {
  %at = alloca i64
  %kp = alloca ptr
  %vp = alloca ptr
  store i64 0, ptr %at
  %class = load ptr, ptr %p
  %t = call ptr @type_of(ptr %x)
  %is = icmp eq ptr %t, %class
  br i1 %is, label %size, label %no
size:
  %len = call i64 @PyDict_Size(ptr %x)
  %same = icmp eq i64 %len, %n
  br i1 %same, label %loop, label %no
loop:
  %k = phi i64 [ 0, %size ], [ %k1, %value ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %next, label %yes
next:
  %got = call i32 @PyDict_Next(ptr %x, ptr %at, ptr %kp, ptr %vp)
  %k1 = add i64 %k, 1
  %q = getelementptr ptr, ptr %p, i64 %k1
  %wanted = load ptr, ptr %q
  %key = load ptr, ptr %kp
  %equal = icmp eq ptr %key, %wanted
  br i1 %equal, label %value, label %no
value:
  %v = load ptr, ptr %vp
  %s = call i64 @keep(ptr %c, ptr %v)
  br label %loop
yes:
  ret i64 0
no:
  ret i64 1
}

define i64 @op_is(ptr %c, ptr %x, ptr %p, i64 %n) {
  %differs = icmp ne ptr %x, %p
  %s = zext i1 %differs to i64
  ret i64 %s
}

; The very object of frame word n.
define i64 @op_same(ptr %c, ptr %x, ptr %p, i64 %n) {
  %q = getelementptr ptr, ptr %c, i64 %n
  %o = load ptr, ptr %q
  %differs = icmp ne ptr %x, %o
  %s = zext i1 %differs to i64
  ret i64 %s
}

; Same class, and equal.
define i64 @op_equal(ptr %c, ptr %x, ptr %p, i64 %n) {
  %is = icmp eq ptr %x, %p
  br i1 %is, label %yes, label %class
class:
  %t = call ptr @type_of(ptr %x)
  %u = call ptr @type_of(ptr %p)
  %alike = icmp eq ptr %t, %u
  br i1 %alike, label %compare, label %no
compare:
  %r = call i32 @PyObject_RichCompareBool(ptr %x, ptr %p, i32 2)
  %equal = icmp eq i32 %r, 1
  br i1 %equal, label %yes, label %unequal
unequal:
  call void @PyErr_Clear()
  br label %no
yes:
  ret i64 0
no:
  ret i64 1
}

define i64 @op_class(ptr %c, ptr %x, ptr %p, i64 %n) {
  %t = call ptr @type_of(ptr %x)
  %differs = icmp ne ptr %t, %p
  %s = zext i1 %differs to i64
  ret i64 %s
}

; A function of code p.
define i64 @op_code(ptr %c, ptr %x, ptr %p, i64 %n) {
  %t = call ptr @type_of(ptr %x)
  %is = icmp eq ptr %t, @PyFunction_Type
  br i1 %is, label %function, label %no
function:
  %code = call ptr @PyFunction_GetCode(ptr %x)
  %differs = icmp ne ptr %code, %p
  %s = zext i1 %differs to i64
  ret i64 %s
no:
  ret i64 1
}

; A container of class p and length n.
define i64 @op_length(ptr %c, ptr %x, ptr %p, i64 %n) {
  %t = call ptr @type_of(ptr %x)
  %is = icmp eq ptr %t, %p
  br i1 %is, label %size, label %no
size:
  %len = call i64 @PyObject_Size(ptr %x)
  %same = icmp eq i64 %len, %n
  br i1 %same, label %yes, label %no
yes:
  ret i64 0
no:
  call void @PyErr_Clear()
  ret i64 1
}

define i64 @op_attribute(ptr %c, ptr %x, ptr %p, i64 %n) {
  %o = call ptr @PyObject_GetAttr(ptr %x, ptr %p)
  %s = call i64 @found(ptr %c, ptr %o)
  ret i64 %s
}

define i64 @op_item(ptr %c, ptr %x, ptr %p, i64 %n) {
  %o = call ptr @PyObject_GetItem(ptr %x, ptr %p)
  %s = call i64 @found(ptr %c, ptr %o)
  ret i64 %s
}

; What cell n of function x (of a known code) holds.
define i64 @op_cell(ptr %c, ptr %x, ptr %p, i64 %n) {
  %closure = call ptr @PyFunction_GetClosure(ptr %x)
  %cell = call ptr @PyTuple_GetItem(ptr %closure, i64 %n)
  %o = call ptr @PyCell_Get(ptr %cell)
  %s = call i64 @found(ptr %c, ptr %o)
  ret i64 %s
}

; Global p of function x.
define i64 @op_global(ptr %c, ptr %x, ptr %p, i64 %n) {
  %globals = call ptr @PyFunction_GetGlobals(ptr %x)
  %o = call ptr @PyDict_GetItemWithError(ptr %globals, ptr %p)
  call void @Py_IncRef(ptr %o)
  %s = call i64 @found(ptr %c, ptr %o)
  ret i64 %s
}

; An array as p says (descriptor, type number, rank, flags, extents); its data into word n.
define i64 @op_array(ptr %c, ptr %x, ptr %p, i64 %n) {
  %t = call ptr @type_of(ptr %x)
  %is = icmp eq ptr %t, @PyArray_Type
  br i1 %is, label %dtype, label %no
dtype:
  %dp = getelementptr i8, ptr %x, i64 {DESCR}
  %d = load ptr, ptr %dp
  %wanted = load ptr, ptr %p
  %identical = icmp eq ptr %d, %wanted
  br i1 %identical, label %layout, label %alike
alike:
  %np = getelementptr i8, ptr %d, i64 {TYPE_NUMBER}
  %number = load i32, ptr %np
  %p1 = getelementptr i64, ptr %p, i64 1
  %number64 = sext i32 %number to i64
  %wanted_number = load i64, ptr %p1
  %bp = getelementptr i8, ptr %d, i64 {BYTE_ORDER}
  %order = load i8, ptr %bp
  %wbp = getelementptr i8, ptr %wanted, i64 {BYTE_ORDER}
  %wanted_order = load i8, ptr %wbp
  %e0 = icmp eq i64 %number64, %wanted_number
  %e1 = icmp eq i8 %order, %wanted_order
  %e = and i1 %e0, %e1
  br i1 %e, label %layout, label %no
layout:
  %rp = getelementptr i8, ptr %x, i64 {NDIM}
  %rank = load i32, ptr %rp
  %rank64 = sext i32 %rank to i64
  %p2 = getelementptr i64, ptr %p, i64 2
  %wanted_rank = load i64, ptr %p2
  %fp = getelementptr i8, ptr %x, i64 {FLAGS}
  %flags = load i32, ptr %fp
  %flags64 = zext i32 %flags to i64
  %p3 = getelementptr i64, ptr %p, i64 3
  %wanted_flags = load i64, ptr %p3
  %has = and i64 %flags64, %wanted_flags
  %l0 = icmp eq i64 %rank64, %wanted_rank
  %l1 = icmp eq i64 %has, %wanted_flags
  %l = and i1 %l0, %l1
  br i1 %l, label %shape, label %no
shape:
  %sp = getelementptr i8, ptr %x, i64 {DIMS}
  %dims = load ptr, ptr %sp
  %want_dims = getelementptr i64, ptr %p, i64 4
  br label %loop
loop:
  %k = phi i64 [ 0, %shape ], [ %k1, %next ]
  %more = icmp slt i64 %k, %rank64
  br i1 %more, label %extent, label %yes
extent:
  %ep = getelementptr i64, ptr %dims, i64 %k
  %ext = load i64, ptr %ep
  %wp = getelementptr i64, ptr %want_dims, i64 %k
  %want = load i64, ptr %wp
  %k1 = add i64 %k, 1
  %same = icmp eq i64 %ext, %want
  br i1 %same, label %next, label %no
next:
  br label %loop
yes:
  %ap = getelementptr i8, ptr %x, i64 {DATA}
  %data = load ptr, ptr %ap
  %q = getelementptr ptr, ptr %c, i64 %n
  store ptr %data, ptr %q
  ret i64 0
no:
  ret i64 1
}

; A Python float into word n.
define i64 @op_float(ptr %c, ptr %x, ptr %p, i64 %n) {
  %t = call ptr @type_of(ptr %x)
  %is = icmp eq ptr %t, @PyFloat_Type
  br i1 %is, label %yes, label %no
yes:
  %v = call double @PyFloat_AsDouble(ptr %x)
  %q = getelementptr double, ptr %c, i64 %n
  store double %v, ptr %q
  ret i64 0
no:
  ret i64 1
}

; A Python int of 64 bits (with p: of 32) into word n.
define i64 @op_int(ptr %c, ptr %x, ptr %p, i64 %n) {
  %over = alloca i32
  %t = call ptr @type_of(ptr %x)
  %is = icmp eq ptr %t, @PyLong_Type
  br i1 %is, label %value, label %no
value:
  %v = call i64 @PyLong_AsLongLongAndOverflow(ptr %x, ptr %over)
  %o = load i32, ptr %over
  %in64 = icmp eq i32 %o, 0
  %low = trunc i64 %v to i32
  %back = sext i32 %low to i64
  %in32 = icmp eq i64 %back, %v
  %any = icmp eq ptr %p, null
  %small = or i1 %any, %in32
  %ok = and i1 %in64, %small
  br i1 %ok, label %yes, label %no
yes:
  %q = getelementptr i64, ptr %c, i64 %n
  store i64 %v, ptr %q
  ret i64 0
no:
  ret i64 1
}

; A NumPy scalar of class p into word n.
define i64 @op_scalar(ptr %c, ptr %x, ptr %p, i64 %n) {
  %t = call ptr @type_of(ptr %x)
  %is = icmp eq ptr %t, %p
  br i1 %is, label %yes, label %no
yes:
  %q = getelementptr i64, ptr %c, i64 %n
  call void @PyArray_ScalarAsCtype(ptr %x, ptr %q)
  ret i64 0
no:
  ret i64 1
}

; x and word n are addresses of p[0] and p[1] bytes: they must not overlap.
define i64 @op_apart(ptr %c, ptr %x, ptr %p, i64 %n) {
  %q = getelementptr ptr, ptr %c, i64 %n
  %y = load ptr, ptr %q
  %size = load i64, ptr %p
  %p1 = getelementptr i64, ptr %p, i64 1
  %other = load i64, ptr %p1
  %end = getelementptr i8, ptr %x, i64 %size
  %other_end = getelementptr i8, ptr %y, i64 %other
  %a = icmp ult ptr %x, %other_end
  %b = icmp ult ptr %y, %end
  %overlap = and i1 %a, %b
  %s = zext i1 %overlap to i64
  ret i64 %s
}
"""

BUILD = """
; A new array as p says (descriptor, rank, extents); its data into word n.
define i64 @op_new(ptr %c, ptr %x, ptr %p, i64 %n) {
  %d = load ptr, ptr %p
  call void @Py_IncRef(ptr %d)
  %p1 = getelementptr i64, ptr %p, i64 1
  %rank64 = load i64, ptr %p1
  %rank = trunc i64 %rank64 to i32
  %dims = getelementptr i64, ptr %p, i64 2
  %o = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %d, i32 %rank, ptr %dims, ptr null, ptr null, i32 0, ptr null)
  %failed = icmp eq ptr %o, null
  br i1 %failed, label %no, label %ok
ok:
  %ap = getelementptr i8, ptr %o, i64 {DATA}
  %data = load ptr, ptr %ap
  %q = getelementptr ptr, ptr %c, i64 %n
  store ptr %data, ptr %q
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
no:
  ret i64 2
}

; Run kernel p on the arguments from word n on; x(status, error record) raises where it gives a status other than 0.
define i64 @op_kernel(ptr %c, ptr %x, ptr %p, i64 %n) {
  %argv = getelementptr ptr, ptr %c, i64 %n
  %status = call i64 %p(ptr %argv)
  %s = call i64 @outcome(ptr %argv, ptr %x, i64 %status)
  ret i64 %s
}

; The same, other threads running meanwhile.
define i64 @op_long_kernel(ptr %c, ptr %x, ptr %p, i64 %n) {
  %argv = getelementptr ptr, ptr %c, i64 %n
  %thread = call ptr @PyEval_SaveThread()
  %status = call i64 %p(ptr %argv)
  call void @PyEval_RestoreThread(ptr %thread)
  %s = call i64 @outcome(ptr %argv, ptr %x, i64 %status)
  ret i64 %s
}

define internal i64 @outcome(ptr %argv, ptr %raiser, i64 %status) {
  %fine = icmp eq i64 %status, 0
  br i1 %fine, label %yes, label %no
yes:
  ret i64 0
no:
  %q = getelementptr ptr, ptr %argv, i64 -1
  %error = load ptr, ptr %q
  %r = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %raiser, ptr @status_and_address, i64 %status, ptr %error)
  ret i64 2
}
@status_and_address = private constant [3 x i8] c"LL\\00"

; Copy p bytes from word n to x.
define i64 @op_copy(ptr %c, ptr %x, ptr %p, i64 %n) {
  %q = getelementptr ptr, ptr %c, i64 %n
  %from = load ptr, ptr %q
  %bytes = ptrtoint ptr %p to i64
  call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %from, i64 %bytes, i1 false)
  ret i64 0
}

define i64 @op_again(ptr %c, ptr %x, ptr %p, i64 %n) {
  %s = call i64 @keep(ptr %c, ptr %x)
  ret i64 %s
}

define i64 @op_constant(ptr %c, ptr %x, ptr %p, i64 %n) {
  %s = call i64 @keep(ptr %c, ptr %p)
  ret i64 %s
}

define i64 @op_python_float(ptr %c, ptr %x, ptr %p, i64 %n) {
  %q = getelementptr double, ptr %c, i64 %n
  %v = load double, ptr %q
  %o = call ptr @PyFloat_FromDouble(double %v)
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
}

define i64 @op_python_int(ptr %c, ptr %x, ptr %p, i64 %n) {
  %q = getelementptr i64, ptr %c, i64 %n
  %v = load i64, ptr %q
  %o = call ptr @PyLong_FromLongLong(i64 %v)
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
}

define i64 @op_python_bool(ptr %c, ptr %x, ptr %p, i64 %n) {
  %q = getelementptr i64, ptr %c, i64 %n
  %b = load i8, ptr %q
  %v = zext i8 %b to i64
  %o = call ptr @PyBool_FromLong(i64 %v)
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
}

; A NumPy scalar of descriptor p from word n.
define i64 @op_numpy_scalar(ptr %c, ptr %x, ptr %p, i64 %n) {
  %q = getelementptr i64, ptr %c, i64 %n
  %o = call ptr @PyArray_Scalar(ptr %q, ptr %p, ptr null)
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
}

; A tuple of the last n registers, in their place.
define i64 @op_make_tuple(ptr %c, ptr %x, ptr %p, i64 %n) {
entry:
  %o = call ptr @PyTuple_New(i64 %n)
  %failed = icmp eq ptr %o, null
  br i1 %failed, label %no, label %loop
loop:
  %k = phi i64 [ %n, %entry ], [ %k1, %item ]
  %more = icmp sgt i64 %k, 0
  br i1 %more, label %item, label %done
item:
  %k1 = sub i64 %k, 1
  %v = call ptr @take(ptr %c)
  %e = call i32 @PyTuple_SetItem(ptr %o, i64 %k1, ptr %v)
  br label %loop
done:
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
no:
  ret i64 2
}

define i64 @op_make_list(ptr %c, ptr %x, ptr %p, i64 %n) {
entry:
  %o = call ptr @PyList_New(i64 %n)
  %failed = icmp eq ptr %o, null
  br i1 %failed, label %no, label %loop
loop:
  %k = phi i64 [ %n, %entry ], [ %k1, %item ]
  %more = icmp sgt i64 %k, 0
  br i1 %more, label %item, label %done
item:
  %k1 = sub i64 %k, 1
  %v = call ptr @take(ptr %c)
  %e = call i32 @PyList_SetItem(ptr %o, i64 %k1, ptr %v)
  br label %loop
done:
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
no:
  ret i64 2
}

; A dict of keys p[0..] and the last n registers, in their place.
define i64 @op_make_dict(ptr %c, ptr %x, ptr %p, i64 %n) {
entry:
  %o = call ptr @PyDict_New()
  %failed = icmp eq ptr %o, null
  br i1 %failed, label %no, label %start
start:
  %t = getelementptr ptr, ptr %c, i64 1
  %top = load ptr, ptr %t
  %back = sub i64 0, %n
  %first = getelementptr ptr, ptr %top, i64 %back
  br label %loop
loop:
  %k = phi i64 [ 0, %start ], [ %k1, %item ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %item, label %drop
item:
  %kp = getelementptr ptr, ptr %p, i64 %k
  %key = load ptr, ptr %kp
  %vp = getelementptr ptr, ptr %first, i64 %k
  %v = load ptr, ptr %vp
  %e = call i32 @PyDict_SetItem(ptr %o, ptr %key, ptr %v)
  %k1 = add i64 %k, 1
  br label %loop
drop:
  %d = phi i64 [ %d1, %one ], [ %n, %loop ]
  %any = icmp sgt i64 %d, 0
  br i1 %any, label %one, label %done
one:
  %d1 = sub i64 %d, 1
  %last = call ptr @take(ptr %c)
  call void @Py_DecRef(ptr %last)
  br label %drop
done:
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
no:
  ret i64 2
}

; p(last register), in its place.
define i64 @op_python(ptr %c, ptr %x, ptr %p, i64 %n) {
  %v = call ptr @take(ptr %c)
  %o = call ptr @PyObject_CallOneArg(ptr %p, ptr %v)
  call void @Py_DecRef(ptr %v)
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
}

; A copy of array x.
define i64 @op_array_copy(ptr %c, ptr %x, ptr %p, i64 %n) {
  %o = call ptr @PyArray_NewCopy(ptr %x, i32 0)
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
}

define i64 @op_return(ptr %c, ptr %x, ptr %p, i64 %n) {
  ret i64 3
}
"""


def _sequence(kind: str) -> str:
    """The n items of a tuple or list of class p."""
    return f"""
define i64 @op_{kind.lower()}(ptr %c, ptr %x, ptr %p, i64 %n) {{
entry:
  %t = call ptr @type_of(ptr %x)
  %is = icmp eq ptr %t, %p
  br i1 %is, label %size, label %no
size:
  %len = call i64 @Py{kind}_Size(ptr %x)
  %same = icmp eq i64 %len, %n
  br i1 %same, label %loop, label %no
loop:
  %k = phi i64 [ 0, %size ], [ %k1, %item ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %item, label %yes
item:
  %o = call ptr @Py{kind}_GetItem(ptr %x, i64 %k)
  %s = call i64 @keep(ptr %c, ptr %o)
  %k1 = add i64 %k, 1
  br label %loop
yes:
  ret i64 0
no:
  ret i64 1
}}
"""


PYTHON = {
    "Py_IncRef": "void (ptr)", "Py_DecRef": "void (ptr)", "PyTuple_Size": "i64 (ptr)", "PyTuple_GetItem": "ptr (ptr, i64)",
    "PyTuple_New": "ptr (i64)", "PyTuple_SetItem": "i32 (ptr, i64, ptr)", "PyList_Size": "i64 (ptr)",
    "PyList_GetItem": "ptr (ptr, i64)", "PyList_New": "ptr (i64)", "PyList_SetItem": "i32 (ptr, i64, ptr)",
    "PyDict_New": "ptr ()", "PyDict_Size": "i64 (ptr)", "PyDict_Next": "i32 (ptr, ptr, ptr, ptr)",
    "PyDict_SetItem": "i32 (ptr, ptr, ptr)", "PyDict_GetItemWithError": "ptr (ptr, ptr)",
    "PyLong_AsVoidPtr": "ptr (ptr)", "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)", "PyLong_FromLongLong": "ptr (i64)",
    "PyFloat_AsDouble": "double (ptr)", "PyFloat_FromDouble": "ptr (double)", "PyBool_FromLong": "ptr (i64)",
    "PyFunction_GetCode": "ptr (ptr)", "PyFunction_GetClosure": "ptr (ptr)", "PyFunction_GetGlobals": "ptr (ptr)",
    "PyCell_Get": "ptr (ptr)", "PyObject_RichCompareBool": "i32 (ptr, ptr, i32)", "PyObject_Size": "i64 (ptr)",
    "PyObject_GetAttr": "ptr (ptr, ptr)", "PyObject_GetItem": "ptr (ptr, ptr)", "PyObject_CallNoArgs": "ptr (ptr)",
    "PyObject_CallOneArg": "ptr (ptr, ptr)", "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyObject_CallFunction": "ptr (ptr, ptr, ...)", "PyErr_Clear": "void ()", "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)",
}  # fmt: skip

# Functions of NumPy's table with their place in it (the same in NumPy 1 and 2).
NUMPY = {
    "PyArray_Scalar": (60, "ptr (ptr, ptr, ptr)"),
    "PyArray_ScalarAsCtype": (62, "void (ptr, ptr)"),
    "PyArray_NewCopy": (85, "ptr (ptr, i32)"),
    "PyArray_NewFromDescr": (94, "ptr (ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)"),
}
TYPES = ("PyFloat_Type", "PyLong_Type", "PyFunction_Type", "PyArray_Type")


def text() -> str:
    """The module."""
    offsets = {"DATA": DATA, "NDIM": NDIM, "DIMS": DIMS, "DESCR": DESCR, "FLAGS": FLAGS}
    offsets |= {"BYTE_ORDER": BYTE_ORDER, "TYPE_NUMBER": TYPE_NUMBER}
    body = CALL + MATCH + BUILD + _sequence("Tuple") + _sequence("List")
    for name, at in offsets.items():
        body = body.replace(f"{{{name}}}", str(at))
    signatures = {**PYTHON, **{f: s for f, (_, s) in NUMPY.items()}}
    declared = [f"declare {s.replace(' (', f' @{f}(', 1)}" for f, s in signatures.items()]
    declared += [f"@{t} = external global i8" for t in TYPES]
    return "\n".join([body, *declared, "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)", ""])
