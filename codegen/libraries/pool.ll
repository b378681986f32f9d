; The pool of threads, see pool.py. For x86-64 on Linux: elsewhere the number of the futex call and the pause are others.

@pid = internal global i32 0
@lock = internal global i32 0
@workers = internal global i32 0
@gate = internal global i32 0
@generation = internal global i32 0
@next = internal global i64 0
@task = internal global ptr null
@frame = internal global ptr null
@trips = internal global i64 0
@chunk = internal global i64 0
@places = internal global i32 0

define i64 @irad_parallel(ptr %task, ptr %frame, i64 %trips, i64 %chunk, i64 %threads) {
entry:
  %one = icmp sle i64 %threads, 1
  %few = icmp sle i64 %trips, %chunk
  %alone = or i1 %one, %few
  br i1 %alone, label %serial, label %try
try:
  %mine = call i32 @owned()
  %other = icmp eq i32 %mine, 0
  br i1 %other, label %serial, label %take
take:
  %pair = cmpxchg ptr @lock, i32 0, i32 1 acquire monotonic
  %taken = extractvalue { i32, i1 } %pair, 1
  br i1 %taken, label %job, label %serial
serial:
  call void %task(ptr %frame, i64 0, i64 %trips)
  br label %done
job:
  %threads32 = trunc i64 %threads to i32
  %helpers = sub i32 %threads32, 1
  call void @start(i32 %helpers)
  store ptr %task, ptr @task
  store ptr %frame, ptr @frame
  store i64 %trips, ptr @trips
  store i64 %chunk, ptr @chunk
  store i32 %helpers, ptr @places
  store atomic i64 0, ptr @next monotonic, align 8
  store atomic i32 1073741824, ptr @gate release, align 4
  %g = atomicrmw add ptr @generation, i32 1 seq_cst
  %w = call i64 (i64, ...) @syscall(i64 202, ptr @generation, i32 129, i32 %helpers, ptr null, ptr null, i32 0)
  call void @work()
  %closed = atomicrmw and ptr @gate, i32 1073741823 seq_cst
  br label %check
check:
  %left = load atomic i32, ptr @gate acquire, align 4
  %empty = icmp eq i32 %left, 0
  br i1 %empty, label %free, label %wait
wait:
  call void @await(ptr @gate, i32 %left)
  br label %check
free:
  store atomic i32 0, ptr @lock release, align 4
  br label %done
done:
  ret i64 0
}

; Is the pool this process's? After a fork it is made so: the locks that the child has inherited are nobody's.
define internal i32 @owned() {
entry:
  %p = call i32 @getpid()
  %owner = load atomic i32, ptr @pid acquire, align 4
  %same = icmp eq i32 %owner, %p
  br i1 %same, label %yes, label %reset
reset:
  %pair = cmpxchg ptr @pid, i32 %owner, i32 -1 acquire monotonic
  %won = extractvalue { i32, i1 } %pair, 1
  %busy = icmp eq i32 %owner, -1
  %lost = xor i1 %won, true
  %later = or i1 %busy, %lost
  br i1 %later, label %no, label %clear
clear:
  store i32 0, ptr @workers
  store atomic i32 0, ptr @gate monotonic, align 4
  store atomic i32 0, ptr @lock monotonic, align 4
  store atomic i32 %p, ptr @pid release, align 4
  br label %yes
yes:
  ret i32 1
no:
  ret i32 0
}

; Start workers until there are n, as far as the system lets us; they block all signals, which are the main thread's to handle.
define internal void @start(i32 %n) {
entry:
  %have = load i32, ptr @workers
  %enough = icmp sge i32 %have, %n
  br i1 %enough, label %end, label %mask
mask:
  %all = alloca [16 x i64], align 16
  %old = alloca [16 x i64], align 16
  %thread = alloca i64
  call i32 @sigfillset(ptr %all)
  call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)
  %seen = load atomic i32, ptr @generation monotonic, align 4
  %seen64 = zext i32 %seen to i64
  %arg = inttoptr i64 %seen64 to ptr
  br label %next
next:
  %k = phi i32 [ %have, %mask ], [ %k1, %started ]
  %more = icmp slt i32 %k, %n
  br i1 %more, label %make, label %restore
make:
  %e = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr %arg)
  %fine = icmp eq i32 %e, 0
  br i1 %fine, label %started, label %restore
started:
  %t = load i64, ptr %thread
  call i32 @pthread_detach(i64 %t)
  %k1 = add i32 %k, 1
  store i32 %k1, ptr @workers
  br label %next
restore:
  call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  br label %end
end:
  ret void
}

define internal ptr @worker(ptr %arg) {
entry:
  %first64 = ptrtoint ptr %arg to i64
  %first = trunc i64 %first64 to i32
  br label %idle
idle:
  %seen = phi i32 [ %first, %entry ], [ %now, %leave ], [ %now, %enter ], [ %now, %full ]
  call void @await(ptr @generation, i32 %seen)
  %now = load atomic i32, ptr @generation acquire, align 4
  br label %enter
enter:
  %g = load atomic i32, ptr @gate acquire, align 4
  %open = icmp uge i32 %g, 1073741824
  br i1 %open, label %full, label %idle
full:
  %inside = and i32 %g, 1073741823
  %places = load i32, ptr @places
  %room = icmp slt i32 %inside, %places
  br i1 %room, label %knock, label %idle
knock:
  %g1 = add i32 %g, 1
  %pair = cmpxchg ptr @gate, i32 %g, i32 %g1 seq_cst monotonic
  %in = extractvalue { i32, i1 } %pair, 1
  br i1 %in, label %help, label %enter
help:
  call void @work()
  %before = atomicrmw sub ptr @gate, i32 1 seq_cst
  %last = icmp eq i32 %before, 1
  br i1 %last, label %wake, label %leave
wake:
  %w = call i64 (i64, ...) @syscall(i64 202, ptr @gate, i32 129, i32 1, ptr null, ptr null, i32 0)
  br label %leave
leave:
  br label %idle
}

; Return when the word is no longer the value: spin for a while, then sleep.
define internal void @await(ptr %word, i32 %value) {
entry:
  br label %look
look:
  %turn = phi i32 [ 0, %entry ], [ %turn1, %spin ], [ 4000, %sleep ]
  %now = load atomic i32, ptr %word acquire, align 4
  %same = icmp eq i32 %now, %value
  br i1 %same, label %wait, label %done
wait:
  %patient = icmp slt i32 %turn, 4000
  br i1 %patient, label %spin, label %sleep
spin:
  %turn1 = add i32 %turn, 1
  call void @llvm.x86.sse2.pause()
  br label %look
sleep:
  %s = call i64 (i64, ...) @syscall(i64 202, ptr %word, i32 128, i32 %value, ptr null, ptr null, i32 0)
  br label %look
done:
  ret void
}

; Take chunks until none is left.
define internal void @work() {
entry:
  %task = load ptr, ptr @task
  %frame = load ptr, ptr @frame
  %trips = load i64, ptr @trips
  %chunk = load i64, ptr @chunk
  br label %next
next:
  %at = atomicrmw add ptr @next, i64 %chunk monotonic
  %more = icmp slt i64 %at, %trips
  br i1 %more, label %run, label %end
run:
  %stop = add i64 %at, %chunk
  %over = icmp slt i64 %stop, %trips
  %to = select i1 %over, i64 %stop, i64 %trips
  call void %task(ptr %frame, i64 %at, i64 %to)
  br label %next
end:
  ret void
}

declare i32 @getpid()
declare i64 @syscall(i64, ...)
declare i32 @sigfillset(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare void @llvm.x86.sse2.pause()
