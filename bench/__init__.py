"""The benchmark suite: everything measured side by side in one run, so that ratios mean something."""
