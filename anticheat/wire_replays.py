"""What comes in and goes out about replays."""

from typing import Annotated

from msgspec import Meta

from config.wire import Incoming, Instant, Outgoing


class ReplayQuery(Incoming):
    signature: Annotated[str, Meta(max_length=200, description="Of an address that was given out")] | None = None


class ReplayState(Outgoing):
    """`state`: none, kept, waiting, verified, wrong or unverified. `upload`: where it may be sent to, without more."""

    state: str
    sha256: str | None
    size: int | None
    uploaded_at: Instant | None
    largest: int
    types: list[str]
    upload: str | None
    upload_expires_at: Instant | None
