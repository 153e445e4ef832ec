"""When something was, as people say it."""

from datetime import datetime


def told(moment: str, now: datetime) -> str:
    """A moment in the words of somebody who looks back from `now`, in the time zone of `now`.

    Args:
        moment: ISO 8601 with its time zone, as the transcript has it.
        now: with its time zone.
    """
    then = datetime.fromisoformat(moment).astimezone(now.tzinfo)
    clock = f"{then:%H:%M}"
    days = (now.date() - then.date()).days
    if days == 0:
        return f"today {clock}"
    if days == 1:
        return f"yesterday {clock}"
    if 1 < days < 7:
        return f"{_DAYS[then.weekday()]} {clock}"
    date = f"{then.day} {_MONTHS[then.month - 1]}"
    return f"{date} {clock}" if then.year == now.year else f"{date} {then.year}"


def today() -> datetime:
    """Now, where the person is."""
    return datetime.now().astimezone()


# Not by strftime: the words around them are English in every locale.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
