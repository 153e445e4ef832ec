"""Training of persona adapters (RoCIT and DPO), and their export to GGUF."""
