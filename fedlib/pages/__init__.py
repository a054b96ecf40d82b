"""Pages for a projector: a page per paper, of live trainings and explorers, served by Voila (make app)."""
