"""PostgreSQL and Valkey from wheels, and the supervisor behind `make up`. Nothing in here knows Django."""
