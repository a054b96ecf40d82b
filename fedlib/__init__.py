"""A thin, fast library for federated scientific machine learning; see README.md for the map."""
