"""x"""
from typing import Any
def write_loss_curve(file: Any, items: Any) -> None:
    """Stub."""
