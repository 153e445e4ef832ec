"""The bundled cast: data only, one YAML file a persona, by language."""
