"""What is erased with an account: upper floors register here, since ``accounts`` knows nothing of them."""

from collections.abc import Callable
from uuid import UUID

EraseStep = Callable[[UUID], bool]

_steps: list[EraseStep] = []


def on_account_erasure(step: EraseStep) -> None:
    """Call ``step`` with an owner's id when the account is erased; it says whether nothing of it is left.

    A step is called again until it says so, and may be called beside itself. It commits lot by lot.
    """
    _steps.append(step)


def erase_what_belongs_to(owner_id: UUID) -> bool:
    """Run the steps, and say whether all have finished; behind one that has not, none is run."""
    return all(step(owner_id) for step in _steps)
