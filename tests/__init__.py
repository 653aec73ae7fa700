"""Tests: flows/ has one file a promise; the other folders mirror the code."""
