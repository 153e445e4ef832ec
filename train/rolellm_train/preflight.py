"""What a recipe is refused for before any hour is spent on it."""
from typing import Any
from rolellm_train.recipe import Recipe
def check(recipe: Recipe, model: Any) -> None:
    """Stub."""
