"""The site: pages that move without a kernel (make site)."""
