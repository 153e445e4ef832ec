"""The parts of the screens; each handles one piece of data."""
