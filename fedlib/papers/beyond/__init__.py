"""Beyond the papers: questions that they leave open, on their own problems."""
