"""Speed benchmarks. They are no part of the wheel; `rolellm bench` runs them from a checkout."""
