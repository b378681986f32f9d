"""The queues of the module `queue` for one thread: what is put in and taken out, without locks, as plain Python that is read."""

import heapq
import queue
from collections import deque

CLASSES: dict = {}


def _stands_for(cls):
    def register(own):
        CLASSES[cls] = own
        return own

    return register


@_stands_for(queue.Queue)
class Queue(queue.Queue):
    """queue.Queue. Where the real one would wait for another thread, RuntimeError: nothing else runs."""

    def __init__(self, maxsize=0):
        self.maxsize = maxsize
        self.queue = self._made()

    def _made(self):
        return deque()

    def _put(self, item):
        self.queue.append(item)

    def _get(self):
        return self.queue.popleft()

    def qsize(self):
        """How many items there are."""
        return len(self.queue)

    def empty(self):
        """Are there none?"""
        return len(self.queue) == 0

    def full(self):
        """Is there no room for another one?"""
        return 0 < self.maxsize <= len(self.queue)

    def put(self, item, block=True, timeout=None):
        """Add an item."""
        if self.full():
            if block and timeout is None:
                raise RuntimeError("put() into a full queue waits for ever")
            raise queue.Full
        self._put(item)

    def get(self, block=True, timeout=None):
        """Take an item out."""
        if self.empty():
            if block and timeout is None:
                raise RuntimeError("get() from an empty queue waits for ever")
            raise queue.Empty
        return self._get()

    def put_nowait(self, item):
        """Add an item, or raise queue.Full."""
        self.put(item, False)

    def get_nowait(self):
        """Take an item out, or raise queue.Empty."""
        return self.get(False)

    def task_done(self):
        """Nobody waits."""

    def join(self):
        """Nobody waits."""


@_stands_for(queue.LifoQueue)
class LifoQueue(Queue):
    """queue.LifoQueue: the last item comes first."""

    def _made(self):
        return []

    def _get(self):
        return self.queue.pop()


@_stands_for(queue.PriorityQueue)
class PriorityQueue(Queue):
    """queue.PriorityQueue: the smallest item comes first."""

    def _made(self):
        return []

    def _put(self, item):
        heapq.heappush(self.queue, item)

    def _get(self):
        return heapq.heappop(self.queue)


@_stands_for(queue.SimpleQueue)
class SimpleQueue(Queue):
    """queue.SimpleQueue."""
