"""Live boards over WebSocket: workers announce what is watched, web processes forward it (docs/adr/0025)."""
