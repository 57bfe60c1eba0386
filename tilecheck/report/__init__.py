"""What was asked, as items; what came out, as text and JSON."""
