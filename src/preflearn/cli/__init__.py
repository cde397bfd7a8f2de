"""The command line: ``preflearn rank`` and what goes with it.

In reading order: ``main`` (exit codes), ``app`` (the list of commands), then one module a command, its options and help
beside its work: ``rank``, ``fit``, ``predict``, ``evaluate``, ``inspect``, ``suggest``, ``compare``, ``convert``,
``doctor``, ``demo``. These are imported for ``preflearn --help`` and import nothing heavy outside their functions.

What they share: ``options``, ``sources`` (files in), ``targets`` (what may be written), ``console``, ``failures`` and
``dialect`` (what a person reads); and, imported when they are needed, ``fit_least_squares``, ``model_answers`` (of
``predict``), ``metric_lines`` and ``held_out_comparisons`` (of ``evaluate`` and ``compare``), ``comparison_files`` (of
``convert``).
"""
