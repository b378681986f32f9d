; irad_poll() -> 0 or INTERRUPTED (cost.py), for a module whose kernels call it. On Linux: elsewhere the clock has another number.
; After INTERRUPTED the exception (class, value, traceback) waits in the variable irad_signal.

@next = internal global i64 0
@irad_signal = global [3 x ptr] zeroinitializer
define internal i64 @irad_poll() {
  %time = alloca [2 x i64]
  %e = call i32 @clock_gettime(i32 1, ptr %time)
  %s = load i64, ptr %time
  %p = getelementptr i64, ptr %time, i64 1
  %ns = load i64, ptr %p
  %s_ns = mul i64 %s, 1000000000
  %now = add i64 %s_ns, %ns
  %due = load atomic i64, ptr @next monotonic, align 8
  %wait = icmp slt i64 %now, %due
  br i1 %wait, label %fine, label %look
look:
  %later = add i64 %now, 30000000
  store atomic i64 %later, ptr @next monotonic, align 8
  %state = call i32 @PyGILState_Ensure()
  %signal = call i32 @PyErr_CheckSignals()
  %raised = icmp ne i32 %signal, 0
  br i1 %raised, label %keep, label %release
keep:
  %v = getelementptr ptr, ptr @irad_signal, i64 1
  %tb = getelementptr ptr, ptr @irad_signal, i64 2
  call void @PyErr_Fetch(ptr @irad_signal, ptr %v, ptr %tb)
  call void @PyGILState_Release(i32 %state)
  ret i64 -1
release:
  call void @PyGILState_Release(i32 %state)
  br label %fine
fine:
  ret i64 0
}
declare i32 @clock_gettime(i32, ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
