"""Speed benchmarks, which are not part of the wheel; `rolellm bench` runs them from a checkout."""
