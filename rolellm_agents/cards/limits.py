"""How large strangers' files may be: everything is bounded before it is built."""

CARD_BYTES = 64 * 2**20
"""Of one card's JSON, after base64 and inflation."""
FILE_BYTES = 512 * 2**20
"""Of a file on disk."""
ARCHIVE_ENTRIES = 5_000
ARCHIVE_BYTES = 1_024 * 2**20
"""Of all that an archive holds, unpacked."""
ARCHIVE_RATIO = 200
"""How many times its packed size a large member may have: more is a bomb."""
SMALL = 10 * 2**20
"""A member of this size or less is no bomb, however well it is packed."""
DEPTH = 40
"""Of nested lists and objects."""
