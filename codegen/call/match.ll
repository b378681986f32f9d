; The operations of the call's machine (machine.ll) that take arguments apart, read captured state and check both.
;
; In words of a kernel's arguments they put addresses of data, in cells the values of numbers.

%array = type { i64, ptr, ptr, i32, ptr, ptr, ptr, ptr, i32 } ; NumPy's: references, class, data, rank, extents, strides, base, dtype, flags
%dtype = type { i64, ptr, ptr, i8, i8, i8, i8, i32 } ; references, class, class of numbers, kind, letter, byte order, flags, number

@PyArray_Type = external global i8
@PyFloat_Type = external global i8
@PyFunction_Type = external global i8
@PyLong_Type = external global i8
declare void @PyArray_ScalarAsCtype(ptr, ptr)
declare ptr @PyCell_Get(ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare i32 @PyDict_Next(ptr, ptr, ptr, ptr)
declare i64 @PyDict_Size(ptr)
declare void @PyErr_Clear()
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyFunction_GetClosure(ptr)
declare ptr @PyFunction_GetCode(ptr)
declare ptr @PyFunction_GetGlobals(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare i64 @PyList_Size(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_GetItem(ptr, ptr)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare i64 @PyObject_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i64 @PyTuple_Size(ptr)
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)
declare i64 @found(ptr, ptr)
declare i64 @keep(ptr, ptr)
declare ptr @type_of(ptr)

define i64 @op_argument(ptr %c, ptr %x, ptr %p, i64 %n) {
  %q = getelementptr ptr, ptr %c, i64 2
  %args = load ptr, ptr %q
  %a = getelementptr ptr, ptr %args, i64 %n
  %o = load ptr, ptr %a
  %s = call i64 @keep(ptr %c, ptr %o)
  ret i64 %s
}

; The object p itself.
define i64 @op_object(ptr %c, ptr %x, ptr %p, i64 %n) {
  %s = call i64 @keep(ptr %c, ptr %p)
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

; The word at p[3] has, of the bits p[4], the number p[0], which is that of a good state; or p[1]() is p[2], which is True.
define i64 @op_state(ptr %c, ptr %x, ptr %p, i64 %n) {
  %wp = getelementptr i64, ptr %p, i64 3
  %w = load ptr, ptr %wp
  %word = load i64, ptr %w
  %bp = getelementptr i64, ptr %p, i64 4
  %bits = load i64, ptr %bp
  %t = and i64 %word, %bits
  %good = load i64, ptr %p
  %same = icmp eq i64 %t, %good
  br i1 %same, label %yes, label %ask
ask:
  %fp = getelementptr i64, ptr %p, i64 1
  %f = load ptr, ptr %fp
  %o = call ptr @PyObject_CallNoArgs(ptr %f)
  %failed = icmp eq ptr %o, null
  br i1 %failed, label %error, label %answer
error:
  call void @PyErr_Clear()
  ret i64 1
answer:
  call void @Py_DecRef(ptr %o)
  %tp = getelementptr i64, ptr %p, i64 2
  %true = load ptr, ptr %tp
  %held = icmp eq ptr %o, %true
  br i1 %held, label %yes, label %no
yes:
  ret i64 0
no:
  ret i64 1
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

; The module of function x has none of the n globals whose names are in p.
define i64 @op_no_globals(ptr %c, ptr %x, ptr %p, i64 %n) {
begin:
  %globals = call ptr @PyFunction_GetGlobals(ptr %x)
  br label %loop
loop:
  %k = phi i64 [0, %begin], [%next, %absent]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %ask, label %yes
ask:
  %np = getelementptr i64, ptr %p, i64 %k
  %word = load i64, ptr %np
  %name = inttoptr i64 %word to ptr
  %o = call ptr @PyDict_GetItemWithError(ptr %globals, ptr %name)
  %there = icmp ne ptr %o, null
  br i1 %there, label %no, label %absent
absent:
  %next = add i64 %k, 1
  br label %loop
yes:
  ret i64 0
no:
  ret i64 1
}

; An array as p says (descriptor, type number, rank, flags, extents, of which those that are -1 may be any); its data into word n.
define i64 @op_array(ptr %c, ptr %x, ptr %p, i64 %n) {
  %t = call ptr @type_of(ptr %x)
  %is = icmp eq ptr %t, @PyArray_Type
  br i1 %is, label %dtype, label %no
dtype:
  %dp = getelementptr %array, ptr %x, i32 0, i32 7
  %d = load ptr, ptr %dp
  %wanted = load ptr, ptr %p
  %identical = icmp eq ptr %d, %wanted
  br i1 %identical, label %layout, label %alike
alike:
  %np = getelementptr %dtype, ptr %d, i32 0, i32 7
  %number = load i32, ptr %np
  %p1 = getelementptr i64, ptr %p, i64 1
  %number64 = sext i32 %number to i64
  %wanted_number = load i64, ptr %p1
  %bp = getelementptr %dtype, ptr %d, i32 0, i32 5
  %order = load i8, ptr %bp
  %wbp = getelementptr %dtype, ptr %wanted, i32 0, i32 5
  %wanted_order = load i8, ptr %wbp
  %e0 = icmp eq i64 %number64, %wanted_number
  %e1 = icmp eq i8 %order, %wanted_order
  %e = and i1 %e0, %e1
  br i1 %e, label %layout, label %no
layout:
  %rp = getelementptr %array, ptr %x, i32 0, i32 3
  %rank = load i32, ptr %rp
  %rank64 = sext i32 %rank to i64
  %p2 = getelementptr i64, ptr %p, i64 2
  %wanted_rank = load i64, ptr %p2
  %fp = getelementptr %array, ptr %x, i32 0, i32 8
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
  %sp = getelementptr %array, ptr %x, i32 0, i32 4
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
  %equal = icmp eq i64 %ext, %want
  %any = icmp eq i64 %want, -1
  %same = or i1 %equal, %any
  br i1 %same, label %next, label %no
next:
  br label %loop
yes:
  %ap = getelementptr %array, ptr %x, i32 0, i32 2
  %data = load ptr, ptr %ap
  %q = getelementptr ptr, ptr %c, i64 %n
  store ptr %data, ptr %q
  ret i64 0
no:
  ret i64 1
}

; The extent of array x along axis p[0] is p[1] to p[2]; it goes into word n.
define i64 @op_extent(ptr %c, ptr %x, ptr %p, i64 %n) {
  %e = call i64 @extent(ptr %x, ptr %p)
  %p1 = getelementptr i64, ptr %p, i64 1
  %low = load i64, ptr %p1
  %p2 = getelementptr i64, ptr %p, i64 2
  %high = load i64, ptr %p2
  %below = icmp slt i64 %e, %low
  %above = icmp sgt i64 %e, %high
  %outside = or i1 %below, %above
  %q = getelementptr i64, ptr %c, i64 %n
  store i64 %e, ptr %q
  %s = zext i1 %outside to i64
  ret i64 %s
}

; The extent of array x along axis p[0] is the one in word n.
define i64 @op_same_extent(ptr %c, ptr %x, ptr %p, i64 %n) {
  %e = call i64 @extent(ptr %x, ptr %p)
  %q = getelementptr i64, ptr %c, i64 %n
  %wanted = load i64, ptr %q
  %differs = icmp ne i64 %e, %wanted
  %s = zext i1 %differs to i64
  ret i64 %s
}

define internal i64 @extent(ptr %x, ptr %p) {
  %axis = load i64, ptr %p
  %sp = getelementptr %array, ptr %x, i32 0, i32 4
  %dims = load ptr, ptr %sp
  %ep = getelementptr i64, ptr %dims, i64 %axis
  %e = load i64, ptr %ep
  ret i64 %e
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

; The bytes p[0] to p[1] around data x lie apart from the bytes p[2] to p[3] around data y; or they lie between each other:
; elements of p[5] bytes of x and of p[6] bytes of y, all of them at steps that are multiples of p[4], if that is not 0.
define i64 @op_apart(ptr %c, ptr %x, ptr %p, i64 %n) {
entry:
  %q = getelementptr ptr, ptr %c, i64 %n
  %y = load ptr, ptr %q
  %low = load i64, ptr %p
  %p1 = getelementptr i64, ptr %p, i64 1
  %high = load i64, ptr %p1
  %p2 = getelementptr i64, ptr %p, i64 2
  %other_low = load i64, ptr %p2
  %p3 = getelementptr i64, ptr %p, i64 3
  %other_high = load i64, ptr %p3
  %first = getelementptr i8, ptr %x, i64 %low
  %end = getelementptr i8, ptr %x, i64 %high
  %other_first = getelementptr i8, ptr %y, i64 %other_low
  %other_end = getelementptr i8, ptr %y, i64 %other_high
  %a = icmp ult ptr %first, %other_end
  %b = icmp ult ptr %other_first, %end
  %overlap = and i1 %a, %b
  %p4 = getelementptr i64, ptr %p, i64 4
  %step = load i64, ptr %p4
  %steps = icmp ne i64 %step, 0
  %look = and i1 %overlap, %steps
  br i1 %look, label %between, label %end_
between:
  %p5 = getelementptr i64, ptr %p, i64 5
  %size = load i64, ptr %p5
  %p6 = getelementptr i64, ptr %p, i64 6
  %other_size = load i64, ptr %p6
  %at = ptrtoint ptr %x to i64
  %other_at = ptrtoint ptr %y to i64
  %far = sub i64 %other_at, %at
  %rem = srem i64 %far, %step
  %below = icmp slt i64 %rem, 0
  %wrapped = add i64 %rem, %step
  %behind = select i1 %below, i64 %wrapped, i64 %rem
  %left = sub i64 %step, %behind
  %c1 = icmp slt i64 %behind, %size
  %c2 = icmp slt i64 %left, %other_size
  %meet = or i1 %c1, %c2
  br label %end_
end_:
  %result = phi i1 [ %overlap, %entry ], [ %meet, %between ]
  %s = zext i1 %result to i64
  ret i64 %s
}

; An array with strides p[0..]; its rank is known to be n.
define i64 @op_strides(ptr %c, ptr %x, ptr %p, i64 %n) {
entry:
  %sp = getelementptr %array, ptr %x, i32 0, i32 5
  %strides = load ptr, ptr %sp
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %stride, label %yes
stride:
  %ep = getelementptr i64, ptr %strides, i64 %k
  %e = load i64, ptr %ep
  %wp = getelementptr i64, ptr %p, i64 %k
  %w = load i64, ptr %wp
  %k1 = add i64 %k, 1
  %same = icmp eq i64 %e, %w
  br i1 %same, label %next, label %no
next:
  br label %loop
yes:
  ret i64 0
no:
  ret i64 1
}

define i64 @op_tuple(ptr %c, ptr %x, ptr %p, i64 %n) {
entry:
  %t = call ptr @type_of(ptr %x)
  %is = icmp eq ptr %t, %p
  br i1 %is, label %size, label %no
size:
  %len = call i64 @PyTuple_Size(ptr %x)
  %same = icmp eq i64 %len, %n
  br i1 %same, label %loop, label %no
loop:
  %k = phi i64 [ 0, %size ], [ %k1, %item ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %item, label %yes
item:
  %o = call ptr @PyTuple_GetItem(ptr %x, i64 %k)
  %s = call i64 @keep(ptr %c, ptr %o)
  %k1 = add i64 %k, 1
  br label %loop
yes:
  ret i64 0
no:
  ret i64 1
}

define i64 @op_list(ptr %c, ptr %x, ptr %p, i64 %n) {
entry:
  %t = call ptr @type_of(ptr %x)
  %is = icmp eq ptr %t, %p
  br i1 %is, label %size, label %no
size:
  %len = call i64 @PyList_Size(ptr %x)
  %same = icmp eq i64 %len, %n
  br i1 %same, label %loop, label %no
loop:
  %k = phi i64 [ 0, %size ], [ %k1, %item ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %item, label %yes
item:
  %o = call ptr @PyList_GetItem(ptr %x, i64 %k)
  %s = call i64 @keep(ptr %c, ptr %o)
  %k1 = add i64 %k, 1
  br label %loop
yes:
  ret i64 0
no:
  ret i64 1
}
