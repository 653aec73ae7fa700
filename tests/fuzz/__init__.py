"""`make fuzz`: a million odd requests over every route and the admin, and no failure of ours among the answers.

Each case is drawn from the seed and its own number, so one case can be sent again alone:
`python -m tests.fuzz --seed 7 --case 1234`.
"""
