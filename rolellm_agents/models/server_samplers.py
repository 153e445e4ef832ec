"""Samplers with llama.cpp's names, which OpenAI's API does not define and many servers read."""

SERVER_SAMPLERS = frozenset(
    (
        *("top_k", "min_p", "typical_p", "top_n_sigma", "repeat_penalty", "repeat_last_n"),
        *("xtc_probability", "xtc_threshold", "dynatemp_range", "dynatemp_exponent"),
        *("dry_multiplier", "dry_base", "dry_allowed_length"),
    )
)
