"""What an API key may do."""

from enum import StrEnum


class Scope(StrEnum):
    SUBMIT = "submit"
    READ = "read"
    MANAGE = "manage"
    MODERATE = "moderate"

    @classmethod
    def choices(cls) -> list[tuple[str, str]]:
        return [(scope.value, scope.value) for scope in cls]

    @classmethod
    def parse(cls, text: str) -> list["Scope"]:
        """Scopes from `submit,read`, in their own order, or ValueError with a sentence."""
        asked = {word.strip() for word in text.split(",") if word.strip()}
        unknown = sorted(asked - {scope.value for scope in cls})
        if unknown or not asked:
            raise ValueError(f"Scopes are {', '.join(cls)}; {', '.join(unknown) or 'nothing'} is not one of them.")
        return [scope for scope in cls if scope in asked]
