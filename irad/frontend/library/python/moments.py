"""datetime.now() and what has passed since: microseconds, as plain Python that is read. Their texts are made when they are shown."""

import datetime
import time

FIELDS = ("year", "month", "day", "hour", "minute", "second", "microsecond")


def field(at, name):
    """A field of a moment. Asked when the program runs."""
    raise NotImplementedError


def text(at, how):
    """The text of a moment in a format of strftime, or of a time that has passed: made when it is shown."""
    raise NotImplementedError


class Passed:
    """The timedelta between two moments."""

    def __init__(self, span):
        self.span = span

    def shown_class(self):
        return datetime.timedelta

    def total_seconds(self):
        """Seconds, as a float."""
        return self.span / 10**6

    @property
    def days(self):
        return self.span // 86_400_000_000

    @property
    def seconds(self):
        return self.span % 86_400_000_000 // 10**6

    @property
    def microseconds(self):
        return self.span % 10**6

    def __str__(self):
        return text(self.span, "passed")


class Moment:
    """A datetime without a zone: microseconds since 1970."""

    def __init__(self, at):
        self.at = at

    def shown_class(self):
        return datetime.datetime

    def __getattr__(self, name):
        if name in FIELDS:
            return field(self.at, name)
        raise AttributeError(f"'datetime.datetime' object has no attribute '{name}' in compiled code")

    def timestamp(self):
        """Seconds since 1970."""
        return self.at / 10**6

    def strftime(self, format):
        """The text in a format."""
        return text(self.at, "at" + format)

    def __format__(self, format):
        return self.strftime(format) if format else str(self)

    def isoformat(self, sep="T", timespec="auto"):
        """The text of ISO 8601."""
        return text(self.at, "iso" + sep + timespec)

    def ctime(self):
        """The text as C gives it."""
        return self.strftime("%a %b %e %H:%M:%S %Y")

    def __str__(self):
        return self.isoformat(" ")

    def __sub__(self, other):
        return Passed(self.at - other.at) if isinstance(other, Moment) else NotImplemented


def now(tz=None):
    """datetime.now()."""
    if tz is not None:
        raise NotImplementedError
    return Moment(time.time_ns() // 1000)
