"""Golden files: what the program makes of fixed inputs, recorded once and compared byte for byte."""
