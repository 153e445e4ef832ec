"""Training: RoCIT and DPO as runs that resume."""
