"""From positions to rows (field, cell, weight): where sources act, and what receivers record."""
