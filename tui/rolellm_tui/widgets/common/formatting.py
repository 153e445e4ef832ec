"""Counts and times in words."""

from datetime import datetime


def counted(count: int, noun: str, plural: str = "") -> str:
    """“1 message”, “2,000 messages”. The plural defaults to the noun with an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {plural or f'{noun}s'}"


def relative_time(moment: str, now: datetime) -> str:
    """A moment relative to `now`, in the time zone of `now`: “today 12:30”, “3 May 2024”.

    Args:
        moment: a time in ISO 8601 format with a time zone, as in the transcript.
        now: the current time with a time zone.
    """
    time = datetime.fromisoformat(moment).astimezone(now.tzinfo)
    clock = f"{time:%H:%M}"
    days = (now.date() - time.date()).days
    if days == 0:
        return f"today {clock}"
    if days == 1:
        return f"yesterday {clock}"
    if 1 < days < 7:
        return f"{_DAYS[time.weekday()]} {clock}"
    date = f"{time.day} {_MONTHS[time.month - 1]}"
    return f"{date} {clock}" if time.year == now.year else f"{date} {time.year}"


def local_now() -> datetime:
    """The present time in the local time zone."""
    return datetime.now().astimezone()


# Not by strftime: the words around them are English in every locale.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
