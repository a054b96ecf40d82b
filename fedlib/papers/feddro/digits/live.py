"""Notebook 10b live: what is stored of four ways to train, and five clients' shifted digits to watch a training on."""
