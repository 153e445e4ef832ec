"""Files and ports: YAML and TOML that people write, atomic writes, listening sockets."""
