"""`rolellm doctor`: check the installation and calibrate the engine."""
