"""The one exception of all checks: which law a run broke, and how."""


class BrokenError(Exception):
    """A law does not hold; `law` is its short name, the same for every run that breaks it."""

    def __init__(self, law: str, what: str) -> None:
        super().__init__(f"{law}: {what}")
        self.law = law
        self.what = what

    def __reduce__(self) -> tuple[type["BrokenError"], tuple[str, str]]:
        """Travel between processes."""
        return BrokenError, (self.law, self.what)


def must(holds: bool, law: str, what: str) -> None:  # noqa: FBT001 - the condition is the argument
    """Raise BrokenError unless a law holds."""
    if not holds:
        raise BrokenError(law, what)
