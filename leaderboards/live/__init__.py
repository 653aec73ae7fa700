"""Live boards over WebSocket."""
