"""Fed-DeepONet: C. Moya, G. Lin, Algorithms 15 (2022) 325."""
