"""The command line: ``preflearn demo``, ``fit``, ``predict`` and ``evaluate``.

In reading order: ``main`` (exit codes), ``commands`` (options and help; imports nothing heavy), ``sources`` (files in),
``training``, ``predicting``, ``evaluating`` and ``demonstration`` (one command each), ``search`` (cross-validation for
models without their own), ``console`` and ``words`` (what a person reads).
"""
