"""Pages for people, with Django templates: complete without JavaScript, live with it (static/live.js)."""
