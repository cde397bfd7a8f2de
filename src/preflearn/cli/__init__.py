"""The command line: ``preflearn rank`` and what goes with it.

In reading order: ``main`` (exit codes), ``options``, ``commands`` and ``more_commands`` (options and help; these import
nothing heavy), ``targets`` (what may be written), ``sources`` (files in), then one module a command: ``ranking``,
``fitting`` (with ``training`` and ``search`` for least squares), ``predicting``, ``evaluating``, ``comparing``,
``inspecting``, ``suggesting``, ``converting``, ``checkup``, ``demonstration``; ``tables``, ``console`` and ``words``
(what a person reads).
"""
