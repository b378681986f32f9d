; The operations of the call's machine (machine.ll) that run the kernel and make what is returned.

%array = type { i64, ptr, ptr, i32, ptr, ptr, ptr, ptr, i32 } ; NumPy's: references, class, data, rank, extents, strides, base, dtype, flags
%dtype = type { i64, ptr, ptr, i8, i8, i8, i8, i32 } ; references, class, class of numbers, kind, letter, byte order, flags, number

@PyArray_Type = external global i8
declare i32 @PyArray_CopyObject(ptr, ptr)
declare ptr @PyArray_NewCopy(ptr, i32)
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare ptr @PyArray_Scalar(ptr, ptr, ptr)
declare ptr @PyBool_FromLong(i64)
declare ptr @PyDict_New()
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyEval_SaveThread()
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyList_New(i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare i32 @PyObject_GenericSetAttr(ptr, ptr, ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)
declare i64 @keep(ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @put(ptr, ptr)
declare ptr @take(ptr)

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
  %ap = getelementptr %array, ptr %o, i32 0, i32 2
  %data = load ptr, ptr %ap
  %q = getelementptr ptr, ptr %c, i64 %n
  store ptr %data, ptr %q
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
no:
  ret i64 2
}

; Run kernel p on the arguments from word n on; x(status, their address) raises where it gives a status other than 0.
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
  %r = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %raiser, ptr @status_and_address, i64 %status, ptr %argv)
  ret i64 2
}
@status_and_address = private constant [3 x i8] c"LL\00"

; Copy p bytes from word n to x.
define i64 @op_copy(ptr %c, ptr %x, ptr %p, i64 %n) {
  %q = getelementptr ptr, ptr %c, i64 %n
  %from = load ptr, ptr %q
  %bytes = ptrtoint ptr %p to i64
  call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %from, i64 %bytes, i1 false)
  ret i64 0
}

; Array x becomes a copy of the array in word n.
define i64 @op_store(ptr %c, ptr %x, ptr %p, i64 %n) {
  %q = getelementptr ptr, ptr %c, i64 %n
  %from = load ptr, ptr %q
  %r = call i32 @PyArray_CopyObject(ptr %x, ptr %from)
  %failed = icmp slt i32 %r, 0
  %s = select i1 %failed, i64 2, i64 0
  ret i64 %s
}

; x.p = the object in word n, as object.__setattr__ assigns it.
define i64 @op_set_attribute(ptr %c, ptr %x, ptr %p, i64 %n) {
  %q = getelementptr ptr, ptr %c, i64 %n
  %v = load ptr, ptr %q
  %r = call i32 @PyObject_GenericSetAttr(ptr %x, ptr %p, ptr %v)
  %failed = icmp slt i32 %r, 0
  %s = select i1 %failed, i64 2, i64 0
  ret i64 %s
}

; An extent into word n: p[0] and p[1] products of a word and a number, which follow; 0 if that is negative.
define i64 @op_size(ptr %c, ptr %x, ptr %p, i64 %n) {
begin:
  %const = load i64, ptr %p
  %p1 = getelementptr i64, ptr %p, i64 1
  %count = load i64, ptr %p1
  %terms = getelementptr i64, ptr %p, i64 2
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %next, %term ]
  %sum = phi i64 [ %const, %begin ], [ %more, %term ]
  %again = icmp slt i64 %k, %count
  br i1 %again, label %term, label %end
term:
  %at = shl i64 %k, 1
  %wp = getelementptr i64, ptr %terms, i64 %at
  %word = load i64, ptr %wp
  %fp = getelementptr i64, ptr %wp, i64 1
  %factor = load i64, ptr %fp
  %vp = getelementptr i64, ptr %c, i64 %word
  %v = load i64, ptr %vp
  %product = mul i64 %v, %factor
  %more = add i64 %sum, %product
  %next = add i64 %k, 1
  br label %loop
end:
  %negative = icmp slt i64 %sum, 0
  %size = select i1 %negative, i64 0, i64 %sum
  %q = getelementptr i64, ptr %c, i64 %n
  store i64 %size, ptr %q
  ret i64 0
}

; A new array as p says (descriptor, rank, word) of the extents from word n on; its data into that word.
define i64 @op_new_sized(ptr %c, ptr %x, ptr %p, i64 %n) {
  %d = load ptr, ptr %p
  call void @Py_IncRef(ptr %d)
  %p1 = getelementptr i64, ptr %p, i64 1
  %rank64 = load i64, ptr %p1
  %rank = trunc i64 %rank64 to i32
  %dims = getelementptr i64, ptr %c, i64 %n
  %o = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %d, i32 %rank, ptr %dims, ptr null, ptr null, i32 0, ptr null)
  %failed = icmp eq ptr %o, null
  br i1 %failed, label %no, label %ok
ok:
  %ap = getelementptr %array, ptr %o, i32 0, i32 2
  %data = load ptr, ptr %ap
  %p2 = getelementptr i64, ptr %p, i64 2
  %word = load i64, ptr %p2
  %q = getelementptr ptr, ptr %c, i64 %word
  store ptr %data, ptr %q
  %s = call i64 @put(ptr %c, ptr %o)
  ret i64 %s
no:
  ret i64 2
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
  %o = call ptr @PyTuple_New(i64 %n)
  %s = call i64 @filled(ptr %c, ptr %o, ptr @PyTuple_SetItem, i64 %n)
  ret i64 %s
}

define i64 @op_make_list(ptr %c, ptr %x, ptr %p, i64 %n) {
  %o = call ptr @PyList_New(i64 %n)
  %s = call i64 @filled(ptr %c, ptr %o, ptr @PyList_SetItem, i64 %n)
  ret i64 %s
}

define internal i64 @filled(ptr %c, ptr %o, ptr %set, i64 %n) {
entry:
  %failed = icmp eq ptr %o, null
  br i1 %failed, label %no, label %loop
loop:
  %k = phi i64 [ %n, %entry ], [ %k1, %item ]
  %more = icmp sgt i64 %k, 0
  br i1 %more, label %item, label %done
item:
  %k1 = sub i64 %k, 1
  %v = call ptr @take(ptr %c)
  %e = call i32 %set(ptr %o, i64 %k1, ptr %v)
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

; The data of array x into word n.
define i64 @op_data(ptr %c, ptr %x, ptr %p, i64 %n) {
  %ap = getelementptr %array, ptr %x, i32 0, i32 2
  %data = load ptr, ptr %ap
  %q = getelementptr ptr, ptr %c, i64 %n
  store ptr %data, ptr %q
  ret i64 0
}
