"""What scores are held against: small classes, listed in settings.

SCORE_CHECKS judge at the door (token, pace, timing, replay), STAMP_CHECKS with history on the way to the boards (jump,
outlier, cohort, top, replay), LOG_CHECKS what shows over many attempts only (tempo, clockwork, devices: see habits.py).
The model is asked by `rejudge`, where one was trained.
"""
